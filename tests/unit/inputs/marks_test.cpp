// Poison, gaps and red zones; recorded files. Each check has a damage it finds and an honest twin.
#include "inputs/codec.hpp"
#include "inputs/poison.hpp"
#include "inputs/recipe.hpp"
#include "tensors.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace {

using namespace ako;
using inputs::Sentinel;
using model::Dtype;
using test::tensor_of;

std::vector<std::byte> poisoned(const model::ResolvedTensor& tensor, Sentinel sentinel) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
  inputs::poison(bytes, tensor.dtype, sentinel);
  return bytes;
}

TEST(Poison, FoundInEveryTypeAndGoneWhenWritten) {
  for (const Dtype dtype : model::all_dtypes()) {
    const auto tensor = tensor_of(dtype, {3, 7001});
    for (const Sentinel sentinel : {Sentinel::first, Sentinel::second}) {
      auto bytes = poisoned(tensor, sentinel);
      auto found = inputs::find_poison(bytes, tensor, sentinel);
      EXPECT_EQ(found.count, tensor.elements) << to_string(dtype);
      EXPECT_EQ(found.first, 0);
      EXPECT_EQ(found.last, tensor.elements - 1);
      const auto other = sentinel == Sentinel::first ? Sentinel::second : Sentinel::first;
      EXPECT_EQ(inputs::find_poison(bytes, tensor, other).count, 0) << to_string(dtype);
      for (std::int64_t i = 0; i < tensor.elements; ++i) {
        if (i != 9000 && i != 9002) inputs::store_code(dtype, bytes, i, 1);
      }
      found = inputs::find_poison(bytes, tensor, sentinel);
      EXPECT_EQ(found.count, 2) << to_string(dtype);
      EXPECT_EQ(found.first, 9000);
      EXPECT_EQ(found.last, 9002);
    }
    if (inputs::poison_is_decisive(dtype)) {
      const auto code = inputs::poison_code(dtype, Sentinel::first);
      EXPECT_TRUE(std::isnan(inputs::decode(dtype, code)));
      EXPECT_NE(inputs::encode(dtype, std::nan("")), code); // what arithmetic makes is another NaN
    }
  }
}

TEST(Poison, AValueEqualToOneSentinelIsNotUnwritten) {
  const auto tensor = tensor_of(Dtype::int8, {4});
  auto one = poisoned(tensor, Sentinel::first), two = poisoned(tensor, Sentinel::second);
  const auto lawful = inputs::poison_code(Dtype::int8, Sentinel::first);
  for (const std::int64_t i : {0, 1, 3}) { // a kernel that answers with the sentinel's value
    inputs::store_code(Dtype::int8, one, i, lawful);
    inputs::store_code(Dtype::int8, two, i, lawful);
  }
  EXPECT_EQ(inputs::find_poison(one, tensor, Sentinel::first).count, 4);
  const auto found = inputs::confirm_poison(one, two, tensor);
  EXPECT_EQ(found.count, 1); // element 2 alone was never written
  EXPECT_EQ(found.first, 2);
}

TEST(Poison, StridedTensorsHaveGapsThatMustStay) {
  const auto tensor = tensor_of(Dtype::float32, {4, 5}, {8, 1});
  auto bytes = poisoned(tensor, Sentinel::first);
  for (std::int64_t row = 0; row < 4; ++row)
    for (std::int64_t c = 0; c < 5; ++c) inputs::store(Dtype::float32, bytes, row * 8 + c, 1.5);
  auto found = inputs::find_poison(bytes, tensor, Sentinel::first);
  EXPECT_EQ(found.count, 0);
  EXPECT_EQ(found.gap_damage, 0); // honest: gaps untouched
  inputs::store(Dtype::float32, bytes, 8 + 6, 1.5);
  found = inputs::find_poison(bytes, tensor, Sentinel::first);
  EXPECT_EQ(found.gap_damage, 1);
}

TEST(RedZone, DamageIsFoundAndAShiftedCopyToo) {
  std::vector<std::byte> zone(256);
  inputs::paint_red_zone(zone, 4096, 77);
  EXPECT_EQ(inputs::check_red_zone(zone, 4096, 77).bytes, 0);
  EXPECT_GT(inputs::check_red_zone(zone, 4097, 77).bytes, 200);
  EXPECT_GT(inputs::check_red_zone(zone, 4096, 78).bytes, 200);
  zone[17] ^= std::byte{1};
  zone[40] ^= std::byte{128};
  const auto damage = inputs::check_red_zone(zone, 4096, 77);
  EXPECT_EQ(damage.bytes, 2);
  EXPECT_EQ(damage.first, 17);
  EXPECT_EQ(damage.last, 40);
}

std::vector<std::byte> npy(const std::string& header, const std::vector<std::byte>& data,
                           int version = 1) {
  std::string text = header;
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + text.size() + 1) % 64) text += ' ';
  text += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) file += static_cast<char>(text.size() >> (8 * i));
  file += text;
  std::vector<std::byte> out(file.size() + data.size());
  std::memcpy(out.data(), file.data(), file.size());
  std::memcpy(out.data() + file.size(), data.data(), data.size());
  return out;
}

TEST(Recorded, ReadsNpyAndRaw) {
  const auto tensor = tensor_of(Dtype::float32, {2, 3});
  std::vector<std::byte> data(24);
  for (int i = 0; i < 6; ++i) inputs::store(Dtype::float32, data, i, i + 0.5);
  for (int version = 1; version <= 3; ++version) {
    const auto file =
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, version);
    model::FillSpec spec;
    spec.kind = model::Fill::recorded;
    inputs::FillSources sources;
    sources.recorded = file;
    std::vector<std::byte> out(24);
    const auto status = inputs::fill(out, tensor, spec, inputs::Recipe::plain, {}, sources);
    ASSERT_TRUE(status) << status.error().text();
    EXPECT_EQ(out, data);
  }
  EXPECT_TRUE(inputs::recorded_data(data, "raw.bin", tensor));
  const auto bf16 = tensor_of(Dtype::bfloat16, {2, 6});
  EXPECT_TRUE(inputs::recorded_data(
      npy("{\"shape\": (2,6), \"descr\": '|V2', \"fortran_order\": False}", data), "v", bf16));
}

TEST(Recorded, WhatDoesNotFitIsNamed) {
  const auto tensor = tensor_of(Dtype::float32, {2, 3});
  const std::vector<std::byte> data(24);
  const std::pair<const char*, const char*> cases[] = {
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", "type differs"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "type differs"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "row-major"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", "shape differs"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", "cannot be read"},
      {"{'descr': '<f4', 'fortran_order': False, }", "misses a key"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,3)}", "repeated"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3), }", "cannot be read"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", "unknown"}};
  for (const auto& [header, message] : cases) {
    const auto got = inputs::recorded_data(npy(header, data), "a.npy", tensor);
    ASSERT_FALSE(got) << header;
    EXPECT_NE(got.error().message.find(message), std::string::npos) << got.error().text();
    EXPECT_EQ(got.error().where, "a.npy");
  }
  const std::vector<std::byte> short_data(20);
  EXPECT_FALSE(inputs::recorded_data(short_data, "raw", tensor));
}

TEST(Recorded, AnyDamageToAFileIsAnErrorOrTheSameSize) {
  const auto tensor = tensor_of(Dtype::float32, {2, 3});
  const auto good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                        std::vector<std::byte>(24));
  std::mt19937 random(1);
  int refused = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    auto file = good;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      file[random() % file.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) file.resize(random() % file.size());
    const auto got = inputs::recorded_data(file, "fuzz", tensor);
    if (got) {
      EXPECT_EQ(got->size(), 24u);
    } else ++refused;
  }
  EXPECT_GT(refused, 10000);
}

} // namespace
