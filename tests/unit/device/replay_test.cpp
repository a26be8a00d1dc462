// What a captured call launches, as values; their launch; images in a library's file.
#include "device/kernels.hpp"
#include "device/replay.hpp"
#include "device/sampler.hpp"
#include "scripted.hpp"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::device {
namespace {

Node kernel(const std::string& name) {
  Node node;
  node.name = name;
  node.grid = {7, 2, 1};
  node.block = {256, 1, 1};
  node.cluster = {2, 1, 1};
  node.shared_bytes = 60000;
  node.parameters = {std::string("\x00\xff\x10", 3), std::string(8, 'x')};
  return node;
}

TEST(Nodes, ComeBackFromJsonAsTheyWere) {
  Node set, copy;
  set.kind = Node::Kind::set;
  set.to = 0x7f0000000000;
  set.bytes = 4096;
  set.value = 0xa5;
  copy.kind = Node::Kind::copy;
  copy.to = 1ull << 60;
  copy.from = 77;
  copy.bytes = 12;
  const std::vector<Node> nodes{kernel("scale"), set, copy};
  const auto back = nodes_from_json(to_json(nodes));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, nodes);
}

TEST(Nodes, WhatNoCaptureGivesIsRefused) {
  EXPECT_FALSE(nodes_from_json(base::Json::object()));
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, base::Json>>{{"kind", "host"},
                                                       {"grid", {1, 2}},
                                                       {"grid", {-1, 1, 1}},
                                                       {"block", {1ull << 40, 1, 1}},
                                                       {"parameters", {"0g"}},
                                                       {"parameters", {"123"}},
                                                       {"parameters", {std::string(70000, '0')}},
                                                       {"name", 7}}) {
    auto json = to_json({kernel("scale")});
    json[0][key] = value;
    EXPECT_FALSE(nodes_from_json(json)) << key << " " << value;
  }
}

/// A file with one section .nv_fatbin of these bytes.
std::string library_with(const std::string& fatbins) {
  std::string names("\0.shstrtab\0.nv_fatbin\0", 22);
  std::string file(64, '\0');
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  };
  file.replace(0, 4,
               "\x7f"
               "ELF");
  const std::uint64_t names_at = 64, bytes_at = 96, table = bytes_at + fatbins.size();
  put(40, table);
  put(58, std::uint16_t{64});
  put(60, std::uint16_t{3});
  put(62, std::uint16_t{1});
  file += names + std::string(bytes_at - names_at - names.size(), '\0') + fatbins +
          std::string(3 * 64, '\0');
  const auto section = [&](std::uint64_t index, std::uint32_t name, std::uint64_t at,
                           std::uint64_t size) {
    put(table + index * 64, name);
    put(table + index * 64 + 24, at);
    put(table + index * 64 + 32, size);
  };
  section(1, 1, names_at, names.size());
  section(2, 11, bytes_at, fatbins.size());
  return file;
}

std::string fatbin(std::uint64_t bytes) {
  std::string text(16 + bytes, 'c');
  const std::uint32_t magic = 0xba55ed50;
  const std::uint16_t version = 1, header = 16;
  std::memcpy(text.data(), &magic, 4);
  std::memcpy(text.data() + 4, &version, 2);
  std::memcpy(text.data() + 6, &header, 2);
  std::memcpy(text.data() + 8, &bytes, 8);
  return text;
}

TEST(Images, EachFatbinOfTheSectionIsOne) {
  const auto library = library_with(fatbin(40) + fatbin(24) + std::string(8, '\0') + fatbin(8));
  const auto images = images_of(library);
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(images[0].size(), 56u);
  EXPECT_EQ(images[2].size(), 24u);
  EXPECT_TRUE(images_of("").empty());
  EXPECT_TRUE(images_of(std::string(4096, '\xff')).empty());
  EXPECT_TRUE(images_of(library_with("")).empty());
}

TEST(Images, ADamagedFileIsReadToItsEndAtMost) {
  const auto library = library_with(fatbin(40) + fatbin(24));
  for (std::size_t size = 0; size < library.size(); size += 3)
    EXPECT_LE(images_of(std::string_view(library).substr(0, size)).size(), 2u);
  for (std::size_t at = 0; at < library.size(); ++at) {
    auto damaged = library;
    damaged[at] = '\xff';
    EXPECT_LE(images_of(damaged).size(), 3u);
  }
}

/// A call that sets, copies and launches ako's own painter; the driver is scripted.
struct Painted {
  const Gpu* gpu = nullptr;
  const Kernels* kernels = nullptr;
};
Painted s_painted;

int paint(void* const* tensors, const std::int64_t*, const double*, void* stream) {
  const auto at = reinterpret_cast<std::uint64_t>(tensors[0]);
  const auto& api = s_painted.gpu->api();
  auto* into = static_cast<abi::Stream>(stream);
  const bool done = api.set_bytes(at, 1, 64, into) == 0 &&
                    s_painted.kernels->launch("ako_paint", PaintParams{at, 32, 0x0505050505050505},
                                              3, 32, into) &&
                    api.copy_within(at + 64, at + 16, 32, into) == 0;
  return done ? 0 : 1;
}

TEST(Replay, LaunchesWhatACallCaptured) {
  const fakes::ScriptedGpu scripted;
  const auto gpu = Gpu::open(fakes::ScriptedGpu::k_uuid);
  ASSERT_TRUE(gpu) << gpu.error().text();
  const auto kernels = Kernels::load(*gpu, "image");
  ASSERT_TRUE(kernels);
  s_painted = {&*gpu, &*kernels};
  auto sampler = Sampler::make(*gpu);
  ASSERT_TRUE(sampler);
  std::string memory(96, '\0');
  void* const tensors[] = {memory.data()};
  const auto captured = (*sampler)->capture_once(paint, tensors, nullptr, nullptr);
  ASSERT_TRUE(captured) << captured.error().text();
  EXPECT_EQ(captured->code, 0);
  ASSERT_EQ(captured->nodes.size(), 3u);
  EXPECT_EQ(captured->nodes[1].name, "ako_paint");
  EXPECT_EQ(captured->nodes[1].grid[0], 3u);
  EXPECT_EQ(memory, std::string(96, '\0')) << "capturing runs nothing";

  const auto library = library_with(fatbin(40));
  const auto replayer = Replayer::load(*gpu, library);
  ASSERT_TRUE(replayer) << replayer.error().text();
  const auto sent = nodes_from_json(to_json(captured->nodes));
  ASSERT_TRUE(sent);
  ASSERT_TRUE(replayer->launch(*sent, (*sampler)->stream()));
  ASSERT_EQ(gpu->api().stream_wait((*sampler)->stream()), 0);
  EXPECT_EQ(memory,
            std::string(32, 5) + std::string(32, 1) + std::string(16, 5) + std::string(16, 1));
  auto other = *sent;
  other[1].name = "another";
  const auto refused = replayer->launch(other, (*sampler)->stream());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), testing::HasSubstr("another is in no image"));
}

TEST(Replay, ALibraryWithoutImagesIsNone) {
  const fakes::ScriptedGpu scripted;
  const auto gpu = Gpu::open(fakes::ScriptedGpu::k_uuid);
  ASSERT_TRUE(gpu);
  EXPECT_FALSE(Replayer::load(*gpu, "no library"));
}

} // namespace
} // namespace ako::device
