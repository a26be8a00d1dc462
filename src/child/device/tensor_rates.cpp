#include "device/tensor_rates.hpp"

#include <fmt/format.h>

namespace ako::device {
namespace {

constexpr int k_unrolled = 8; ///< products between two waits

struct Kind {
  const char* dtype;
  const char* word;          ///< in PTX
  const char* sum;           ///< type of the sums in PTX
  int depth;                 ///< k of one instruction
  std::uint32_t keep, raise; ///< bits of random contents that stay, and those that are set
  const char* transposed;    ///< wgmma's last operands
  int since;                 ///< compute capability times ten, for mma.sync
};
constexpr Kind k_rates[] = {
    {"float16", "f16", "f32", 16, 0x83ff83ff, 0x38003800, ", 0, 0", 80},
    {"bfloat16", "bf16", "f32", 16, 0x807f807f, 0x3f003f00, ", 0, 0", 80},
    {"float8_e4m3fn", "e4m3", "f32", 32, 0x87878787, 0x30303030, "", 89},
    {"int8", "s8", "s32", 32, 0xffffffff, 0, "", 80},
};

bool grouped(int major) { return major == 9; }

std::string name_of(const Kind& kind) { return std::string("tensor_") + kind.dtype; }

bool has(const Kind& kind, int major, int minor) {
  return grouped(major) || 10 * major + minor >= kind.since;
}

std::string numbered(const char* before, int from, int count, const char* after = "") {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("{}{}{}{}", i ? ", " : "", before, from + i, after);
  return out;
}

std::string head(const Kind& kind) {
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__(256) {}(Work p) {{
  {} d[128] = {{}};
)",
                     name_of(kind), kind.sum[0] == 's' ? "int" : "float");
}

std::string tail(int sums) {
  return fmt::format(R"(  auto seen = d[0];
  for (int i = 1; i < {}; ++i) seen += d[i];
  if (seen == 12345) *(unsigned long long*)p.sink = 1;
}}
)",
                     sums);
}

/// One product of 64 x 256 x depth by each of two groups of four warps, operands in shared memory:
/// 64 rows and 256 rows of 128 bytes, 128-byte swizzle.
std::string grouped_kernel(const Kind& kind) {
  const char letter = kind.sum[0] == 's' ? 'r' : 'f';
  std::string ties;
  for (int i = 0; i < 128; ++i) ties += fmt::format("{}\"+{}\"(d[{}])", i ? ", " : "", letter, i);
  return head(kind) +
         fmt::format(R"(  __shared__ __align__(1024) unsigned tiles[10240];
  for (unsigned i = threadIdx.x; i < 10240; i += 256) tiles[i] = random_bits(i) & {:#x}u | {:#x}u;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const unsigned at = (unsigned)__cvta_generic_to_shared(tiles);
  const unsigned long long rows = 1ull << 62 | 64ull << 32 | 1ull << 16;
  const unsigned long long a = rows | (at & 0x3ffff) >> 4, b = rows | (at + 8192 & 0x3ffff) >> 4;
  for (unsigned long long r = 0; r < p.rounds; ++r) {{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < {}; ++k)
      asm volatile("{{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                   "wgmma.mma_async.sync.aligned.m64n256k{}.{}.{}.{} {{{}}}, %128, %129, p{}{};\n}}"
                   : {}
                   : "l"(a + 2 * (k % 4)), "l"(b + 2 * (k % 4)), "r"(1));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  }}
)",
                     kind.keep, kind.raise, k_unrolled, kind.depth, kind.sum, kind.word, kind.word,
                     numbered("%", 0, 128), kind.sum[0] == 's' ? "" : ", 1, 1", kind.transposed,
                     ties) +
         tail(128);
}

/// One product of 16 x 8 x depth by each of eight warps, operands in registers.
std::string warp_kernel(const Kind& kind) {
  const char letter = kind.sum[0] == 's' ? 'r' : 'f';
  std::string ties;
  for (int i = 0; i < 4; ++i)
    ties += fmt::format("{}\"+{}\"(d[4 * k + {}])", i ? ", " : "", letter, i);
  return head(kind) +
         fmt::format(R"(  unsigned v[6];
  for (int i = 0; i < 6; ++i) v[i] = random_bits(threadIdx.x * 6 + i) & {:#x}u | {:#x}u;
  for (unsigned long long r = 0; r < p.rounds; ++r)
#pragma unroll
    for (int k = 0; k < {}; ++k)
      asm volatile("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};"
                   : {}
                   : "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]));
)",
                     kind.keep, kind.raise, k_unrolled, kind.depth, kind.sum, kind.word, kind.word,
                     kind.sum, numbered("%", 0, 4), numbered("%", 4, 4), numbered("%", 8, 2),
                     numbered("%", 0, 4), ties) +
         tail(4 * k_unrolled);
}

} // namespace

std::vector<TensorRate> tensor_rates(int major, int minor) {
  std::vector<TensorRate> out;
  for (const Kind& kind : k_rates) {
    if (!has(kind, major, minor)) continue;
    TensorRate rate{kind.dtype, name_of(kind), grouped(major) ? "wgmma" : "mma.sync", 0, 1, 256};
    const double each = grouped(major) ? 2 * (64.0 * 256) : 8 * (16.0 * 8);
    rate.ops_a_round = 2 * each * kind.depth * k_unrolled;
    rate.blocks_per_sm = grouped(major) ? 1 : 2;
    out.push_back(rate);
  }
  return out;
}

std::string tensor_architecture(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, grouped(major) ? "a" : "");
}

std::string tensor_source(int major, int minor) {
  std::string out = R"(struct Work {
  unsigned long long rounds, sink;
};
static __device__ unsigned random_bits(unsigned i) {
  i = (i ^ 61 ^ i >> 16) * 9;
  i = (i ^ i >> 4) * 0x27d4eb2du;
  return i ^ i >> 15;
}
)";
  for (const Kind& kind : k_rates)
    if (has(kind, major, minor)) out += grouped(major) ? grouped_kernel(kind) : warp_kernel(kind);
  return out;
}

} // namespace ako::device
