// Kernels of the keeper and of the measuring library. Compiled at run time by NVRTC, without fused
// multiply-add, so that contents are bit for bit those of the host's generator; and as host code for
// the scripted driver of the tests. Each takes one struct by value and goes through its work in
// grid strides, so any launch geometry is right.
#ifndef AKO_HOST_KERNELS
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef int i32;
#define AKO_KERNEL(name, Params) extern "C" __global__ void name(Params p)
__device__ u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ u64 thread_count() { return (u64)gridDim.x * blockDim.x; }
__device__ u64 index_in_block() { return threadIdx.x; }
__device__ u64 block_threads() { return blockDim.x; }
__device__ u64 timer_ns() {
  u64 value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
  return value;
}
__device__ u64 cycles() { return (u64)clock64(); }
__device__ u64 load_line(u64 at) {
  u64 value;
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
__device__ u64 high_part(u64 a, u64 b) { return __umul64hi(a, b); }
__device__ u64 sum_of_warp(u64 sum) {
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  return sum;
}
__device__ bool is_first_of_warp() { return threadIdx.x % 32 == 0; }
#define AKO_DEVICE __device__
#define AKO_FMA(a, b, c) __fmaf_rn(a, b, c)
#endif

// ---- parameters (kernels.hpp declares the same) ----
struct ReadParams {
  u64 data, bytes, sink;
};
struct WakeParams {
  u64 data, bytes, sink, ns;
};
struct TouchParams {
  u64 data, bytes, sink, step;
};
struct ProbeParams {
  u64 addresses, count, cycles, sink;
};
struct SpinParams {
  u64 ns, spread_ns, counter, sink;
};
struct FillParams {
  u64 destination, elements;
  u64 table;                    // u16[65536]: codes of 16-bit draws; or i32 quantiles
  u32 key0, key1, high0, high1; // of the values' stream
  u32 element_bits, kind;       // see Kind below
  double low, high, mean, stddev;
  u64 count;
};
struct PaintParams {
  u64 destination, bytes, word;
};
struct ZoneParams {
  u64 base, offsets, zones, bytes, seed, found; // offsets: u64[zones]; found: u64[zones][3]
};
struct SearchParams {
  u64 data, elements, element_bits, code, found; // found: count, first, last
};
struct SumParams {
  u64 data, bytes, sum;
};
struct CopyParams {
  u64 from, to, bytes;
};
struct WorkParams {
  u64 rounds, sink;
};

// ---- random bits: Philox4x32-10, as src/inputs/generator.cpp ----
AKO_DEVICE void philox(u32 c[4], u32 key0, u32 key1) {
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = (u64)0xD2511F53u * c[0], p1 = (u64)0xCD9E8D57u * c[2];
    const u32 a = (u32)(p1 >> 32) ^ c[1] ^ key0, b = (u32)p1;
    const u32 d = (u32)(p0 >> 32) ^ c[3] ^ key1, e = (u32)p0;
    c[0] = a;
    c[1] = b;
    c[2] = d;
    c[3] = e;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}
AKO_DEVICE void block_of(u64 block, u32 high0, u32 high1, u32 key0, u32 key1, u32 c[4]) {
  c[0] = (u32)block;
  c[1] = (u32)(block >> 32);
  c[2] = high0;
  c[3] = high1;
  philox(c, key0, key1);
}
AKO_DEVICE u64 bits64_at(u64 index, u32 high0, u32 high1, u32 key0, u32 key1) {
  u32 c[4];
  block_of(index / 2, high0, high1, key0, key1, c);
  return index % 2 ? (u64)c[2] | (u64)c[3] << 32 : (u64)c[0] | (u64)c[1] << 32;
}
AKO_DEVICE u64 draw(const FillParams& p, u64 index, u32 width) {
  if (width == 64) return bits64_at(index, p.high0, p.high1, p.key0, p.key1);
  u32 c[4];
  const u64 per_block = width == 16 ? 8 : 4;
  block_of(index / per_block, p.high0, p.high1, p.key0, p.key1, c);
  if (width == 32) return c[index % 4];
  return c[index % 8 / 2] >> (index % 2 * 16) & 0xffffu;
}

// ---- values of 32 and 64 bits, as src/inputs/values.cpp ----
enum Kind {
  k_table = 0, // 16-bit draws through the table of codes
  k_uniform_f32 = 1,
  k_normal_f32 = 2,
  k_uniform_f64 = 3,
  k_whole_i32 = 4,
  k_whole_i64 = 5
};
AKO_DEVICE i32 quantile_between(const i32* table, u32 bits) {
  const u32 slot = bits >> 16;
  const i64 fraction = (i64)(bits & 0xffffu) - 32768; // of the slice
  const i64 here = table[slot];
  const u32 other = fraction < 0 ? (slot ? slot - 1 : 0) : (slot < 65535 ? slot + 1 : 65535);
  i64 step = fraction < 0 ? here - table[other] : table[other] - here;
  if (other == slot) step = fraction < 0 ? table[1] - here : here - table[65534];
  return (i32)(here + step * fraction / 65536);
}
AKO_DEVICE u32 float_bits(double value) {
  // Saturating: what rounds beyond the largest finite value becomes that value.
  const double most = 3.4028234663852886e38;
  if (value > most) value = most;
  if (value < -most) value = -most;
  const float narrow = (float)value;
  u32 bits;
  memcpy(&bits, &narrow, 4);
  return bits;
}
AKO_DEVICE u64 code_of(const FillParams& p, u64 index) {
  switch (p.kind) {
  case k_table: return ((const u16*)p.table)[draw(p, index, 16)];
  case k_uniform_f32: {
    const double u = (double)(2 * draw(p, index, 32) + 1) * 1.1641532182693481e-10; // 2^-33
    return float_bits(p.low + (p.high - p.low) * u);
  }
  case k_normal_f32: {
    const double z =
        quantile_between((const i32*)p.table, (u32)draw(p, index, 32)) * 3.7252902984619141e-09;
    return float_bits(p.mean + p.stddev * z);
  }
  case k_uniform_f64: {
    const double value =
        p.low + (p.high - p.low) * ((double)(draw(p, index, 64) >> 11) * 1.1102230246251565e-16);
    u64 bits;
    memcpy(&bits, &value, 8);
    return bits;
  }
  case k_whole_i32:
    return (u32)(i32)(i64)(p.low + (double)(draw(p, index, 32) * p.count >> 32));
  default: return (u64)(i64)p.low + high_part(draw(p, index, 64), p.count);
  }
}
AKO_DEVICE void store_at(u64 destination, u64 index, u32 bits, u64 code) {
  if (bits == 64) ((u64*)destination)[index] = code;
  else if (bits == 32) ((u32*)destination)[index] = (u32)code;
  else if (bits == 16) ((u16*)destination)[index] = (u16)code;
  else ((u8*)destination)[index] = (u8)code;
}

AKO_KERNEL(ako_fill, FillParams) {
  if (p.kind == k_table && p.element_bits <= 16) {
    // Eight draws a block of random bits.
    const u16* table = (const u16*)p.table;
    const u64 blocks = (p.elements + 7) / 8;
    for (u64 b = thread_index(); b < blocks; b += thread_count()) {
      u32 c[4];
      block_of(b, p.high0, p.high1, p.key0, p.key1, c);
      for (u32 i = 0; i < 8; ++i) {
        const u64 at = b * 8 + i;
        const u16 code = table[c[i / 2] >> (i % 2 * 16) & 0xffffu];
        if (p.element_bits == 4) {
          if (at >= p.elements || i % 2) continue;
          const u16 next = at + 1 < p.elements ? table[c[i / 2] >> 16] : (u16)0;
          ((u8*)p.destination)[at / 2] = (u8)(code | next << 4);
        } else if (at < p.elements) {
          store_at(p.destination, at, p.element_bits, code);
        }
      }
    }
    return;
  }
  for (u64 i = thread_index(); i < p.elements; i += thread_count())
    store_at(p.destination, i, p.element_bits, code_of(p, i));
}

// ---- words of 8 bytes at any address: a tensor may be aligned to one of its elements alone ----
AKO_DEVICE u64 load_word(u64 at) {
  if (at % 8 == 0) return *(const u64*)at;
  if (at % 4 == 0) return (u64)((const u32*)at)[0] | (u64)((const u32*)at)[1] << 32;
  u64 word = 0;
  for (int i = 0; i < 8; ++i) word |= (u64)((const u8*)at)[i] << (8 * i);
  return word;
}
AKO_DEVICE void store_word(u64 at, u64 word) {
  if (at % 8 == 0) {
    *(u64*)at = word;
  } else if (at % 4 == 0) {
    ((u32*)at)[0] = (u32)word;
    ((u32*)at)[1] = (u32)(word >> 32);
  } else {
    for (int i = 0; i < 8; ++i) ((u8*)at)[i] = (u8)(word >> (8 * i));
  }
}

// ---- marks ----
AKO_KERNEL(ako_paint, PaintParams) {
  const u64 words = p.bytes / 8;
  for (u64 i = thread_index(); i < words; i += thread_count())
    store_word(p.destination + i * 8, p.word);
  if (thread_index() == 0)
    for (u64 i = words * 8; i < p.bytes; ++i)
      ((u8*)p.destination)[i] = (u8)(p.word >> (i - words * 8) * 8);
}
AKO_DEVICE u8 zone_byte(u64 position, u64 seed) {
  u64 x = (position + seed) * 0x9E3779B97F4A7C15ull;
  x ^= x >> 32;
  return (u8)((x * 0xD6E8FEB86659FD93ull) >> 56);
}
AKO_KERNEL(ako_zone_paint, ZoneParams) {
  const u64* offsets = (const u64*)p.offsets;
  for (u64 i = thread_index(); i < p.zones * p.bytes; i += thread_count()) {
    const u64 at = offsets[i / p.bytes] + i % p.bytes;
    ((u8*)p.base)[at] = zone_byte(at, p.seed);
  }
}
/// found[zone] = damaged bytes, offset of the first (all ones = none), of the last plus one.
AKO_KERNEL(ako_zone_check, ZoneParams) {
  const u64* offsets = (const u64*)p.offsets;
  u64* found = (u64*)p.found;
  for (u64 i = thread_index(); i < p.zones * p.bytes; i += thread_count()) {
    const u64 zone = i / p.bytes, within = i % p.bytes, at = offsets[zone] + within;
    if (((const u8*)p.base)[at] == zone_byte(at, p.seed)) continue;
    atomicAdd(found + 3 * zone, (u64)1);
    atomicMin(found + 3 * zone + 1, within);
    atomicMax(found + 3 * zone + 2, within + 1);
  }
}
AKO_DEVICE u64 load_at(u64 data, u64 index, u64 bits) {
  if (bits == 64) return ((const u64*)data)[index];
  if (bits == 32) return ((const u32*)data)[index];
  if (bits == 16) return ((const u16*)data)[index];
  if (bits == 8) return ((const u8*)data)[index];
  return ((const u8*)data)[index / 2] >> (index % 2 * 4) & 15u;
}
AKO_KERNEL(ako_search, SearchParams) {
  u64* found = (u64*)p.found;
  u64 count = 0, first = ~0ull, last = 0;
  for (u64 i = thread_index(); i < p.elements; i += thread_count()) {
    if (load_at(p.data, i, p.element_bits) != p.code) continue;
    ++count;
    first = i < first ? i : first;
    last = i + 1;
  }
  if (count == 0) return;
  atomicAdd(found, count);
  atomicMin(found + 1, first);
  atomicMax(found + 2, last);
}
AKO_DEVICE u64 mix(u64 x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
/// A sum over all words, each mixed with its place: any order gives the same.
AKO_KERNEL(ako_sum, SumParams) {
  const u64 words = p.bytes / 8;
  u64 sum = 0;
  for (u64 i = thread_index(); i < words; i += thread_count())
    sum += mix(load_word(p.data + i * 8) ^ mix(i + 1));
  if (thread_index() == 0)
    for (u64 i = words * 8; i < p.bytes; ++i) sum += mix(((const u8*)p.data)[i] ^ mix(~i));
  sum = sum_of_warp(sum); // one addition a warp: as many as threads would take longer than reading
  if (is_first_of_warp()) atomicAdd((u64*)p.sum, sum);
}

// ---- measuring ----
AKO_KERNEL(ako_mark, ReadParams) {
  if (p.bytes == 1) *(u64*)p.sink = 0; // never: an argument that is used
}
AKO_DEVICE void read_through(const ReadParams& p) {
  // Whole lines, wherever a tensor begins in one.
  const u64 first = p.data / 32, lines = (p.data + p.bytes) / 32 - first;
  u64 sum = 0;
  for (u64 i = thread_index(); i < lines; i += thread_count()) sum ^= load_line((first + i) * 32);
  if (sum == 0x0123456789abcdefull) *(u64*)p.sink = sum;
}
AKO_KERNEL(ako_sweep, ReadParams) { read_through(p); }
AKO_KERNEL(ako_warm, ReadParams) { read_through(p); }
/// Every block reads a line of every p.step bytes: each multiprocessor has then translated all of
/// these addresses. A process whose context was switched away finds its translations gone, and a
/// kernel that runs in a process of its own does not.
AKO_KERNEL(ako_touch, TouchParams) {
  u64 sum = 0;
  for (u64 at = index_in_block() * p.step; at < p.bytes; at += block_threads() * p.step)
    sum ^= load_line(p.data + at);
  if (sum == 0x0123456789abcdefull) *(u64*)p.sink = sum;
}
/// Reads p.data round and round for p.ns by the device's timer: after an idle moment the first
/// microseconds of memory traffic are slow, and no timed call may lie in them.
AKO_KERNEL(ako_wake, WakeParams) {
  const u64 begin = timer_ns(), lines = p.bytes / 32;
  u64 sum = 0, i = thread_index();
  do {
    for (int k = 0; k < 16; ++k, i += thread_count()) sum ^= load_line(p.data + i % lines * 32);
  } while (timer_ns() - begin < p.ns);
  if (sum == 0x0123456789abcdefull) *(u64*)p.sink = sum;
}
/// One thread reads the lines one after the other; cycles[i] of each.
AKO_KERNEL(ako_probe, ProbeParams) {
  if (thread_index() != 0) return;
  const u64* addresses = (const u64*)p.addresses;
  u64 sum = 0;
  for (u64 i = 0; i < p.count; ++i) {
    const u64 at = addresses[i];
    const u64 begin = cycles();
    sum ^= load_line(at);
    *(volatile u64*)p.sink = sum; // needs the value: the clock below is read after it has come
    const u64 end = cycles();
    ((u32*)p.cycles)[i] = (u32)(end - begin);
  }
}
/// Runs for p.ns by the device's timer, plus a part of spread_ns that a counter draws.
AKO_KERNEL(spin_kernel, SpinParams) {
  const u64 begin = timer_ns();
  u64 ns = p.ns;
  if (p.spread_ns) {
    const u64 turn = p.counter ? *(u64*)p.counter : 0;
    ns += high_part(mix(turn + 1), p.spread_ns);
    if (p.counter && thread_index() == 0) *(u64*)p.counter = turn + 1;
  }
  u64 now = begin;
  while (now - begin < ns) now = timer_ns();
  if (thread_index() == 0) *(u64*)p.sink = now - begin;
}
AKO_KERNEL(empty_kernel, ReadParams) {
  if (p.bytes == 1) *(u64*)p.sink = 0;
}

// ---- ceilings ----
struct Sixteen {
  u64 a, b;
};
AKO_KERNEL(copy_kernel, CopyParams) {
  const u64 count = p.bytes / 16;
  const Sixteen* from = (const Sixteen*)p.from;
  Sixteen* to = (Sixteen*)p.to;
  const u64 step = thread_count();
  u64 i = thread_index();
  for (; i + 3 * step < count; i += 4 * step) {
    const Sixteen v0 = from[i], v1 = from[i + step], v2 = from[i + 2 * step], v3 = from[i + 3 * step];
    to[i] = v0;
    to[i + step] = v1;
    to[i + 2 * step] = v2;
    to[i + 3 * step] = v3;
  }
  for (; i < count; i += step) to[i] = from[i];
}
AKO_KERNEL(read_kernel, ReadParams) {
  const u64 count = p.bytes / 16;
  const Sixteen* data = (const Sixteen*)p.data;
  const u64 step = thread_count();
  u64 sum = 0, i = thread_index();
  for (; i + 3 * step < count; i += 4 * step) {
    const Sixteen v0 = data[i], v1 = data[i + step], v2 = data[i + 2 * step], v3 = data[i + 3 * step];
    sum ^= v0.a ^ v0.b ^ v1.a ^ v1.b ^ v2.a ^ v2.b ^ v3.a ^ v3.b;
  }
  for (; i < count; i += step) sum ^= data[i].a ^ data[i].b;
  if (sum == 0x0123456789abcdefull) *(u64*)p.sink = sum;
}
AKO_KERNEL(fma_kernel, WorkParams) {
  float v[8];
  for (int k = 0; k < 8; ++k) v[k] = (float)(thread_index() % 97) + (float)k;
  const float a = 0.999f, b = 0.5f;
  for (u64 r = 0; r < p.rounds; ++r)
    for (int k = 0; k < 8; ++k) v[k] = AKO_FMA(v[k], a, b);
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += v[k];
  if (sum == 12345.678f) *(u64*)p.sink = 1;
}
