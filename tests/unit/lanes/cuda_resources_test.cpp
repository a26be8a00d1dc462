// Reading ptxas' report and device images, damaged ones too.
#include "cuda_bench.hpp"
#include "lanes/cuda/resources.hpp"

#include <random>

namespace ako::test {
namespace {

using lanes::cuda::parse_ptxas;
using lanes::cuda::read_images;

constexpr const char* k_report =
    "ptxas info    : 0 bytes gmem, 24 bytes cmem[4]\n"
    "ptxas info    : Compiling entry function '_Z5scaleILi8EEvPKfPf' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z5scaleILi8EEvPKfPf\n"
    "    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 2 barriers, 40 bytes cumulative stack size, 128 "
    "bytes "
    "smem, 400 bytes cmem[0]\n"
    "ptxas info    : Compile time = 3.1 ms\n"
    "ptxas info    : Compiling entry function 'plain' for 'sm_80'\n"
    "ptxas info    : Function properties for plain\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 12 registers, used 0 barriers, 380 bytes cmem[0]\n"
    "ptxas info    : Function properties for _Z6helperf\n"
    "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";

TEST(CudaResources, ReadsPtxasWords) {
  const auto kernels = parse_ptxas(k_report);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "scale<8>");
  EXPECT_EQ(kernels[0].architecture, "sm_90a");
  EXPECT_EQ(kernels[0].registers, 255);
  EXPECT_EQ(kernels[0].barriers, 2);
  EXPECT_EQ(kernels[0].shared_bytes, 128);
  EXPECT_EQ(kernels[0].stack_bytes, 40);
  EXPECT_EQ(kernels[0].spill_store_bytes, 36);
  EXPECT_EQ(kernels[0].spill_load_bytes, 44);
  EXPECT_EQ(kernels[0].constant_bytes, 400);
  EXPECT_EQ(kernels[1].name, "plain");
  EXPECT_EQ(kernels[1].shared_bytes, 0);
  EXPECT_EQ(kernels[1].stack_bytes, 0); // the helper's frame is not the kernel's
  EXPECT_TRUE(parse_ptxas("").empty());
  EXPECT_TRUE(parse_ptxas("ptxas info    : Used 99999999999999999999 registers\n").empty());
}

TEST(CudaResources, TheTextNamesSpills) {
  const auto text = lanes::cuda::resource_text(lanes::cuda::resource_report(k_report, ""));
  EXPECT_NE(text.find("scale<8> sm_90a: 255 registers, 128 B shared, SPILLS 36 B out, 44 B in"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("plain sm_80: 12 registers, 0 B shared, no spills, 0 barriers"),
            std::string::npos)
      << text;
}

/// An image as an assembler would write it: one kernel with code, shared memory and attributes.
std::string image(int registers, int stack) {
  using namespace std::string_literals;
  const std::string names =
      "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.nv.info.k\0.text.k\0.nv.shared.k\0"s;
  const std::string strings("\0k\0", 3);
  const auto u = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) & 0xff : 0);
    return out;
  };
  const std::string symbols = std::string(24, '\0') + u(1, 4) + std::string(20, '\0');
  const auto attribute = [&](int code, int value) {
    return u(4, 1) + u(static_cast<unsigned>(code), 1) + u(8, 2) + u(1, 4) +
           u(static_cast<unsigned>(value), 4);
  };
  const std::string info = attribute(0x2f, registers) + attribute(0x11, stack);
  const std::string own = u(2, 1) + u(0x4c, 1) + u(3, 2);
  const std::string code = "instructions....";
  std::string body;
  std::vector<std::string> headers = {std::string(64, '\0')};
  const auto section = [&](const char* name, std::uint32_t type, const std::string& bytes,
                           std::uint32_t link, std::uint64_t size) {
    headers.push_back(u(names.find(name), 4) + u(type, 4) + u(0, 16) + u(64 + body.size(), 8) +
                      u(size, 8) + u(link, 4) + u(0, 4) + u(0, 16));
    body += bytes;
  };
  section(".shstrtab", 3, names, 0, names.size());
  section(".strtab", 3, strings, 0, strings.size());
  section(".symtab", 2, symbols, 2, symbols.size());
  section(".nv.info", 0x70000000, info, 3, info.size());
  section(".nv.info.k", 0x70000000, own, 3, own.size());
  section(".text.k", 1, code, 0, code.size());
  section(".nv.shared.k", 8, "", 0, 1024 + 64);
  std::string head("\x7f"
                   "ELF\x02\x01\x01\x41\x08",
                   9);
  head.resize(16, '\0');
  head += u(2, 2) + u(190, 2) + u(1, 4) + u(0, 16) + u(64 + body.size(), 8) + u(0x5a00, 4) +
          u(64, 2) + u(0, 4) + u(64, 2) + u(headers.size(), 2) + u(1, 2);
  for (const auto& header : headers) body += header;
  return head + body;
}

TEST(CudaResources, ReadsAnImageWhereverItLies) {
  const std::string bytes = "library bytes before " + image(40, 16) + " and after";
  const auto kernels = read_images(bytes);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].mangled, "k");
  EXPECT_EQ(kernels[0].number, 90);
  EXPECT_EQ(kernels[0].registers, 40);
  EXPECT_EQ(kernels[0].stack_bytes, 16);
  EXPECT_EQ(kernels[0].barriers, 3);
  EXPECT_EQ(kernels[0].shared_bytes, 1088);
  EXPECT_EQ(kernels[0].code_bytes, 16);
  EXPECT_EQ(lanes::cuda::code_hash(bytes).size(), 64u);
  EXPECT_EQ(lanes::cuda::code_hash(bytes), lanes::cuda::code_hash(image(99, 0))); // same code
}

TEST(CudaResources, AnImageThatContradictsPtxasIsShown) {
  const auto said = [](int registers) {
    return "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n    16 bytes stack frame, 0 "
           "bytes spill stores, 0 bytes spill loads\nptxas info    : Used " +
           std::to_string(registers) + " registers, used 3 barriers, 64 bytes smem\n";
  };
  const auto agrees = [&](int registers) {
    return lanes::cuda::resource_report(said(registers),
                                        image(40, 16))["kernels"][0]["image"]["agrees"];
  };
  EXPECT_EQ(agrees(40), true);
  EXPECT_EQ(agrees(41), false);
}

TEST(CudaResources, DamagedImagesNeverLeadOutOfTheBytes) {
  const std::string whole = image(40, 16);
  for (std::size_t length = 0; length < whole.size(); ++length)
    (void)read_images(std::string_view(whole).substr(0, length));
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 4; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    (void)read_images(damaged);
    (void)lanes::cuda::code_hash(damaged);
  }
  EXPECT_TRUE(read_images("").empty());
  EXPECT_EQ(lanes::cuda::code_hash("no image"), "");
}

} // namespace
} // namespace ako::test
