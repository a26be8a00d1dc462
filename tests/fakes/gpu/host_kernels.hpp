// ako's device kernels as host code: one thread that goes through all the work. The same text that
// NVRTC compiles, so what these make is what a device makes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ako::fakes {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;
using i32 = int;

u64 timer_ns();        ///< the scripted device's clock; each look moves it on
u64 cycles();          ///< its SM clock
u64 load_line(u64 at); ///< a line through the scripted cache

inline void demote_line(u64) {}
inline u64 thread_index() { return 0; }
inline u64 thread_count() { return 1; }
inline u64 index_in_block() { return 0; }
inline u64 block_threads() { return 1; }
inline u64 sum_of_warp(u64 sum) { return sum; }
inline bool is_first_of_warp() { return true; }
inline u64 high_part(u64 a, u64 b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<u64>((static_cast<Wide>(a) * b) >> 64);
}
inline void atomicAdd(u64* at, u64 value) { *at += value; }
inline void atomicMin(u64* at, u64 value) { *at = std::min(*at, value); }
inline void atomicMax(u64* at, u64 value) { *at = std::max(*at, value); }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#define AKO_HOST_KERNELS
#define AKO_DEVICE static inline
#define AKO_KERNEL(name, Params) static void name(Params p)
#define AKO_FMA(a, b, c) ((a) * (b) + (c))
#include "../../../src/child/device/kernels.cu"
#pragma GCC diagnostic pop

} // namespace ako::fakes
