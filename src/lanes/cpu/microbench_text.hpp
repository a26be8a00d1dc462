// The fixed part of the stand-alone microbench.
#pragma once

namespace ako::lanes::cpu {

inline constexpr const char* k_microbench_text = R"bench(
#include <ako/measure.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

enum class Fill { normal, uniform, index, offsets, permutation };

struct Tensor {
  const char* name;
  const char* dtype;
  int bits;
  bool fresh;  // a copy of its own for every timed call; otherwise one for all
  bool filled; // read by the kernel
  bool warm;   // in the cache when a call begins
  Fill fill;
  double a, b; // normal: mean, deviation; uniform: low, high
};

struct Place {
  std::int64_t elements, align;
  double limit; // index, offsets, permutation
};

// Arguments that become what the kernel takes.
struct Pointer {
  void* p;
  template <class T> operator T*() const { return static_cast<T*>(p); }
};
template <class V> struct Number {
  V v;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> operator T() const {
    return static_cast<T>(v);
  }
};
using Integer = Number<std::int64_t>;
using Scalar = Number<double>;
template <class F, class... A> int status_of(F f, A... a) {
  if constexpr (std::is_void_v<decltype(f(a...))>) {
    f(a...);
    return 0;
  } else {
    return static_cast<int>(f(a...));
  }
}

// Bits of a value in a small floating format: sign, `exponent` and `fraction` bits.
inline std::uint32_t encode(double value, int exponent, int fraction) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (exponent + fraction) : 0;
  const int bias = (1 << (exponent - 1)) - 1;
  const double size = std::fabs(value);
  if (size == 0) return sign;
  const int power = std::max(std::ilogb(size), 1 - bias);
  const auto steps = static_cast<std::int64_t>(std::nearbyint(std::ldexp(size, fraction - power)));
  const std::int64_t bits = steps + (static_cast<std::int64_t>(power + bias - 1) << fraction);
  const std::int64_t largest = (((std::int64_t{1} << exponent) - 1) << fraction) - 1;
  return sign | static_cast<std::uint32_t>(std::min(bits, largest));
}

inline void store(unsigned char* to, std::int64_t i, const Tensor& t, double value) {
  const std::string dtype = t.dtype;
  const auto put = [&](auto typed) { std::memcpy(to + i * static_cast<std::int64_t>(sizeof typed), &typed, sizeof typed); };
  if (dtype == "float32") put(static_cast<float>(value));
  else if (dtype == "float64") put(value);
  else if (dtype == "bfloat16") put(static_cast<std::uint16_t>(encode(value, 8, 7)));
  else if (dtype == "float16") put(static_cast<std::uint16_t>(encode(value, 5, 10)));
  else if (dtype == "float8_e4m3fn") put(static_cast<std::uint8_t>(encode(value, 4, 3)));
  else if (dtype == "float8_e5m2") put(static_cast<std::uint8_t>(encode(value, 5, 2)));
  else if (dtype == "float8_e8m0fnu") put(static_cast<std::uint8_t>(127 + std::clamp(std::ilogb(std::fabs(value) + 1e-9), -20, 20)));
  else if (t.bits == 4) {
    const auto bits = dtype == "int4" ? static_cast<std::uint32_t>(std::lround(value)) & 15u : encode(value, 2, 1) & 15u;
    to[i / 2] = static_cast<unsigned char>(i % 2 ? (to[i / 2] & 15u) | bits << 4 : bits);
  } else if (t.bits == 64) put(static_cast<std::int64_t>(value));
  else if (t.bits == 32) put(static_cast<std::int32_t>(static_cast<std::int64_t>(value)));
  else if (t.bits == 16) put(static_cast<std::int16_t>(static_cast<std::int64_t>(value)));
  else put(static_cast<std::int8_t>(static_cast<std::int64_t>(value)));
}

inline void fill(unsigned char* to, const Tensor& t, const Place& place, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::int64_t n = place.elements;
  std::vector<std::int64_t> order;
  if (t.fill == Fill::permutation) {
    for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
    std::shuffle(order.begin(), order.end(), random);
  }
  std::normal_distribution<double> normal(t.a, t.b);
  std::uniform_real_distribution<double> uniform(t.a, t.b);
  for (std::int64_t i = 0; i < n; ++i) {
    double value = 0;
    if (t.fill == Fill::normal) value = normal(random);
    if (t.fill == Fill::uniform) value = uniform(random);
    if (t.fill == Fill::index) value = std::floor(std::uniform_real_distribution<double>(0, std::max(1.0, place.limit))(random));
    if (t.fill == Fill::offsets) value = n > 1 ? std::floor(place.limit * static_cast<double>(i) / static_cast<double>(n - 1)) : 0;
    if (t.fill == Fill::permutation) value = static_cast<double>(order[static_cast<std::size_t>(i)]);
    store(to, i, t, value);
  }
}

inline std::size_t bytes_of(const Tensor& t, const Place& place) {
  return static_cast<std::size_t>((place.elements * t.bits + 7) / 8);
}

inline void check(int status, ako_measure* context) {
  if (status == AKO_MEASURE_OK) return;
  std::fprintf(stderr, "measuring failed: %s\n", ako_measure_message(context));
  std::exit(1);
}

// The buffers of one shape: every fresh tensor once per set, every other once.
struct Buffers {
  std::vector<void*> owned;
  std::vector<std::vector<void*>> sets;
  std::vector<void* const*> rows;
  std::vector<std::vector<ako_measure_span>> spans;
  std::vector<const ako_measure_span*> span_rows;

  void* make(const Tensor& t, const Place& place, std::uint64_t seed) {
    const auto align = static_cast<std::size_t>(std::max<std::int64_t>(place.align, 64));
    const std::size_t bytes = (bytes_of(t, place) + align) / align * align;
    void* data = std::aligned_alloc(align, bytes);
    if (data == nullptr) { std::fprintf(stderr, "out of memory\n"); std::exit(1); }
    std::memset(data, 0, bytes);
    if (t.filled) fill(static_cast<unsigned char*>(data), t, place, seed);
    owned.push_back(data);
    return data;
  }
  Buffers(const std::vector<Tensor>& tensors, const std::vector<Place>& places, int count) {
    std::vector<void*> first;
    for (int set = 0; set < count; ++set) {
      std::vector<void*> row;
      std::vector<ako_measure_span> span;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const bool own = set == 0 || tensors[i].fresh;
        row.push_back(own ? make(tensors[i], places[i], 1000 * i + static_cast<std::size_t>(set) + 1) : first[i]);
        span.push_back({row.back(), bytes_of(tensors[i], places[i]), static_cast<std::uint32_t>(tensors[i].warm ? AKO_MEASURE_WARM : AKO_MEASURE_COLD), 0});
      }
      if (set == 0) first = row;
      sets.push_back(row);
      spans.push_back(span);
    }
    for (auto& row : sets) rows.push_back(row.data());
    for (auto& row : spans) span_rows.push_back(row.data());
  }
  ~Buffers() { for (void* data : owned) std::free(data); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
};

struct Case {
  const char* tag;
  double weight;
  std::vector<std::int64_t> integers;
  std::vector<double> scalars;
  std::vector<Place> places;
  double flops, bytes;
};

inline void run_case(ako_measure* context, const std::vector<Tensor>& tensors, const Case& c, bool cold,
                     ako_call_fn call, ako_call_fn prepare, ako_call_fn plan) {
  double fresh_bytes = 1;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].fresh) fresh_bytes += static_cast<double>(bytes_of(tensors[i], c.places[i]));
  const int count = static_cast<int>(std::clamp(256e6 / fresh_bytes, 2.0, 32.0));
  Buffers buffers(tensors, c.places, count);
  for (ako_call_fn once : {prepare, plan})
    if (once != nullptr && once(buffers.rows[0], c.integers.data(), c.scalars.data(), nullptr) != 0) {
      std::fprintf(stderr, "prepare or plan failed\n");
      std::exit(1);
    }
  ako_measure_job job{};
  job.size = sizeof job;
  job.cache = cold ? AKO_MEASURE_COLD : AKO_MEASURE_WARM;
  job.sets = static_cast<std::uint32_t>(count);
  job.call = call;
  job.tensors = buffers.rows.data();
  job.integers = c.integers.data();
  job.scalars = c.scalars.data();
  job.spans = buffers.span_rows.data();
  job.span_count = static_cast<std::uint32_t>(tensors.size());
  job.warmup_sets = 1;
  job.warmup_tensors = buffers.rows.data();
  std::vector<double> times;
  double spent = 0;
  for (int block = 0; block < 200 && (block < 5 || spent < 0.5e9); ++block) {
    ako_measure_result result{};
    result.size = sizeof result;
    check(ako_measure_run(context, &job, nullptr, nullptr, &result), context);
    times.push_back(result.total_ns / result.calls);
    spent += static_cast<double>(result.last_ns - result.first_ns);
  }
  ako_measure_summary s{};
  s.size = sizeof s;
  check(ako_measure_summarise(times.data(), static_cast<std::uint32_t>(times.size()), &s), context);
  std::printf("%-20s %12.0f ns median %12.0f ns p95", c.tag, s.median, s.p95);
  if (c.bytes > 0) std::printf(" %8.2f GB/s", c.bytes / s.median);
  if (c.flops > 0) std::printf(" %8.2f Gflop/s", c.flops / s.median);
  std::printf("  (%u blocks of %d calls)\n", s.n, count);
}

} // namespace bench
)bench";

} // namespace ako::lanes::cpu
