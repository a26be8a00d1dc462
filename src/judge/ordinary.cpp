#include "judge/ordinary.hpp"

#include <cstring>

namespace ako::judge {
namespace {

// Vectors of four, whatever the processor has: the sums come out the same to the last bit.
using Real = double __attribute__((vector_size(32)));
using Whole = std::int64_t __attribute__((vector_size(32)));

[[gnu::always_inline]] inline void load(Real& out, const double* from) {
  std::memcpy(&out, from, sizeof out);
}
[[gnu::always_inline]] inline void as_bits(Whole& out, const Real& value) {
  std::memcpy(&out, &value, sizeof out);
}
[[gnu::always_inline]] inline void as_real(Real& out, const Whole& bits) {
  std::memcpy(&out, &bits, sizeof out);
}

constexpr std::int64_t k_magnitude = 0x7fffffffffffffff, k_exponent = 0x7ff0000000000000;
/// Exponent bits of 2^e and of 2^-e add up to this.
constexpr std::int64_t k_mirror = 0x7fe0000000000000;
constexpr double k_round_off = 0x1.8p52; // adding and taking off this many quanta rounds

[[gnu::always_inline]] inline bool add(const double* got, const double* expected, std::size_t count,
                                       const OrdinaryLimits& l, OrdinarySums& sums) {
  Real error_sum{}, expected_sum{}, cross{}, bias{};
  Whole odd{}, bias_count{};
  for (std::size_t i = 0; i < count; i += k_ordinary_step) {
    Real g, e, size, magnitude, quantum, per_quantum;
    load(g, got + i);
    load(e, expected + i);
    const Real error = g - e;
    Whole error_bits, e_bits;
    as_bits(error_bits, error);
    as_bits(e_bits, e);
    as_real(size, error_bits & k_magnitude);
    as_real(magnitude, e_bits & k_magnitude);
    const Whole own = e_bits & k_exponent;
    const Whole exponent = own > l.least_exponent ? own : l.least_exponent + Whole{};
    as_real(quantum, exponent);
    as_real(per_quantum, k_mirror - exponent);
    quantum *= l.quantum_scale;
    const Real allowed = l.base + l.rtol * magnitude;

    odd |= ~(size <= l.cap) | (magnitude > l.largest) | (size > allowed);
    odd |= (magnitude < l.subnormal_edge) & (g == 0.0) & (e != 0.0);
    odd |= (size > l.max_abs) | (size > l.max_rel * magnitude);
    odd |= (size > l.max_quanta * quantum) | (size > l.max_of_allowed * allowed);

    error_sum += error * error;
    expected_sum += e * e;
    cross += g * e;
    const Real shift = k_round_off * quantum;
    const Whole rounds = ~(((e + shift) - shift == e) & (error == 0.0));
    const Whole counts = rounds & (size <= quantum) & (magnitude >= l.subnormal_edge);
    Real signed_error; // away from zero is positive
    as_real(signed_error, (error_bits ^ (e_bits & ~k_magnitude)) & counts);
    bias += signed_error * per_quantum;
    bias_count -= counts;
  }
  if ((odd[0] | odd[1] | odd[2] | odd[3]) != 0) return false;
  const auto total = [](const Real& v) { return (v[0] + v[1]) + (v[2] + v[3]); };
  sums.error += total(error_sum);
  sums.expected += total(expected_sum);
  sums.cross += total(cross);
  sums.bias += total(bias) / l.quantum_scale;
  sums.bias_count += bias_count[0] + bias_count[1] + bias_count[2] + bias_count[3];
  return true;
}

#if defined(__x86_64__)
[[gnu::target("avx2"), gnu::optimize("O3")]] bool
add_avx2(const double* got, const double* expected, std::size_t count, const OrdinaryLimits& limits,
         OrdinarySums& sums) {
  return add(got, expected, count, limits, sums);
}
#endif

} // namespace

bool add_ordinary(const double* got, const double* expected, std::size_t count,
                  const OrdinaryLimits& limits, OrdinarySums& sums) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return add_avx2(got, expected, count, limits, sums);
#endif
  return add(got, expected, count, limits, sums);
}

} // namespace ako::judge
