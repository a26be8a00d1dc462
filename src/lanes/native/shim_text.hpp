// The fixed part of the shim: the wrappers. Everything in it is named ako_shim_..., and it comes
// after the candidate's text, so that the candidate neither sees nor needs it.
#pragma once

namespace ako::lanes::native {

/// What differs between the lanes: names for element types, lawful results, what a result means.
inline constexpr const char* k_cpu_lane_types = R"shim(
#line 1 "ako-shim-types"
namespace ako_shim_ {
struct no_half_; struct no_brain_;
#ifdef __FLT16_MANT_DIG__
using half_ = _Float16;
#else
using half_ = no_half_;
#endif
#ifdef __BFLT16_MANT_DIG__
using brain_ = __bf16;
#else
using brain_ = no_brain_;
#endif
struct no_result_;
using error_ = no_result_;
using status_ = no_result_;
inline int done_(int status) { return status; }
} // namespace ako_shim_
)shim";

/// The last error is asked for and cleared after each call: a failed launch that the entry does not
/// report must not pass for a fast one, nor be blamed on the next call.
inline constexpr const char* k_cuda_lane_types = R"shim(
#include <cuda_runtime_api.h>
namespace ako_shim_ {
using error_ = cudaError_t;
struct stream_ {
  void* p;
  template <class T> static constexpr bool takes() {
    return std::is_same_v<T, cudaStream_t> || std::is_same_v<T, void*>;
  }
  template <class T> bool fits() const { return true; }
  template <class T> T to() const { return static_cast<T>(p); }
};
inline int done_(int status) {
  const cudaError_t last = cudaGetLastError();
  return status == 0 && last != cudaSuccess ? AKO_SHIM_LAUNCH_STATUS - static_cast<int>(last) : status;
}
inline int done_(cudaError_t status) {
  const cudaError_t last = cudaGetLastError();
  const cudaError_t error = status != cudaSuccess ? status : last;
  return error == cudaSuccess ? 0 : AKO_SHIM_LAUNCH_STATUS - static_cast<int>(error);
}
} // namespace ako_shim_
)shim";

inline constexpr const char* k_no_cutlass_types = R"shim(
namespace ako_shim_ { struct no_status_; using status_ = no_status_; }
)shim";

/// A file that includes nothing of CUTLASS, as references do, needs nothing of it here either. A
/// launch that failed says more than the kErrorInternal that CUTLASS makes of it.
inline constexpr const char* k_cutlass_lane_types = R"shim(
#ifdef CUTLASS_HOST_DEVICE
#include <cutlass/cutlass.h>
#include <cutlass/numeric_types.h>
namespace ako_shim_ {
using status_ = cutlass::Status;
using cutlass_half_ = cutlass::half_t;
using cutlass_brain_ = cutlass::bfloat16_t;
using cutlass_e4m3_ = cutlass::float_e4m3_t;
using cutlass_e5m2_ = cutlass::float_e5m2_t;
inline int done_(cutlass::Status status) {
  const cudaError_t last = cudaGetLastError();
  const bool own = status != cutlass::Status::kSuccess && status != cutlass::Status::kErrorInternal;
  if (last != cudaSuccess && !own) return AKO_SHIM_LAUNCH_STATUS - static_cast<int>(last);
  return status == cutlass::Status::kSuccess ? 0 : AKO_SHIM_CUTLASS_STATUS - static_cast<int>(status);
}
} // namespace ako_shim_
#else
namespace ako_shim_ {
struct no_status_; using status_ = no_status_;
struct cutlass_half_; struct cutlass_brain_; struct cutlass_e4m3_; struct cutlass_e5m2_;
}
#endif
)shim";

inline constexpr const char* k_shim_types = R"shim(
#line 1 "ako-shim-types"
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
namespace ako_shim_ {
template <class T, class... L> inline constexpr bool one_of_ = (std::is_same_v<T, L> || ...);
template <class T> constexpr bool in_range_(std::int64_t v) {
  if constexpr (std::is_signed_v<T>) return sizeof(T) == 8 || (v >= INT32_MIN && v <= INT32_MAX);
  else return v >= 0 && (sizeof(T) == 8 || v <= static_cast<std::int64_t>(UINT32_MAX));
}
template <class T> using plain_ = std::remove_cv_t<std::remove_reference_t<T>>;
template <class T> inline constexpr bool wide_ = one_of_<T, int, unsigned, long, unsigned long, long long, unsigned long long>;
template <bool Const, class... E> struct tensor_ {
  void* p;
  template <class T> static constexpr bool takes() {
    if constexpr (!std::is_pointer_v<T>) return false;
    else {
      using pointee = std::remove_pointer_t<T>;
      using plain = std::remove_cv_t<pointee>;
      return one_of_<plain, void, E...> && std::is_const_v<pointee> == Const && !std::is_volatile_v<pointee>;
    }
  }
  template <class T> bool fits() const { return true; }
  template <class T> T to() const { return static_cast<T>(p); }
};
template <bool Open, std::int64_t Min, std::int64_t Max> struct integer_ {
  std::int64_t v;
  template <class T> static constexpr bool takes() {
    if constexpr (!wide_<T>) return false;
    else return Open || sizeof(T) == 8 ? (std::is_signed_v<T> || Min >= 0)
                                       : in_range_<T>(Min) && in_range_<T>(Max);
  }
  template <class T> bool fits() const {
    if constexpr (Open) return in_range_<T>(v); else return true;
  }
  template <class T> T to() const { return static_cast<T>(v); }
};
template <class... E> struct scalar_ {
  double v;
  template <class T> static constexpr bool takes() { return one_of_<T, E...>; }
  template <class T> bool fits() const { return true; }
  template <class T> T to() const { return static_cast<T>(v); }
};
template <class A> using value_ = std::conditional_t<
    std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>, A, plain_<A>>;
template <class F> struct signature_ { static constexpr bool function = false; };
template <class R, class... A> struct signature_<R (*)(A...)> {
  static constexpr bool function = true;
  using result = R;
  static constexpr int count = sizeof...(A);
  template <template <class...> class Into> using with = Into<A...>;
};
template <class R, class... A> struct signature_<R (*)(A...) noexcept> : signature_<R (*)(A...)> {};
template <int Takes, int Gives> struct count_ {
  static_assert(Takes == Gives, "AKO_COUNT");
  static constexpr bool ok = Takes == Gives;
};
template <int Number, class Takes, class Gives> struct argument_ {
  static_assert(Gives::template takes<Takes>(), "AKO_ARGUMENT");
  static constexpr bool ok = Gives::template takes<Takes>();
};
template <class R> struct result_ {
  static_assert(std::is_void_v<R> || one_of_<R, int, error_, status_>, "AKO_RESULT");
  static constexpr bool ok = std::is_void_v<R> || one_of_<R, int, error_, status_>;
};
template <class F> struct function_ {
  static_assert(signature_<F>::function, "AKO_FUNCTION");
  static constexpr bool ok = signature_<F>::function;
};
template <class... A> struct types_ {
  template <auto F, class R, int... I, class... G>
  static int run(std::integer_sequence<int, I...>, const G&... g) {
    if constexpr ((argument_<I + 1, value_<A>, G>::ok && ...) && result_<R>::ok) {
      if (!(g.template fits<value_<A>>() && ...)) return -7301;
      if constexpr (std::is_void_v<R>) { F(g.template to<value_<A>>()...); return done_(0); }
      else return done_(F(g.template to<value_<A>>()...));
    } else return -1;
  }
};
template <auto F, class... G> int call_(const G&... g) {
  using P = decltype(F);
  if constexpr (function_<P>::ok) {
    using S = signature_<P>;
    if constexpr (count_<S::count, int(sizeof...(G))>::ok) {
#if defined(__cpp_exceptions)
      try {
#endif
        return S::template with<types_>::template run<F, typename S::result>(
            std::make_integer_sequence<int, int(sizeof...(G))>{}, g...);
#if defined(__cpp_exceptions)
      } catch (...) { return -7302; }
#endif
    } else return -1;
  } else return -1;
}
} // namespace ako_shim_
)shim";

inline constexpr const char* k_slow_call = R"shim(
#line 1 "ako-shim-slow"
#include <ctime>
static long long ako_shim_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}
extern "C" __attribute__((visibility("default"))) int
ako_call(void* const* tensors, const std::int64_t* integers, const double* scalars, void* stream) {
  const long long start = ako_shim_now();
  const int status = ako_planted_call(tensors, integers, scalars, stream);
  const long long end = ako_shim_now();
  while (ako_shim_now() - end < (end - start) / AKO_PLANT_SLOW_DOWN) {}
  return status;
}
)shim";

/// The same in the device's own time: one thread notes the time before, and spins for the share of
/// what passed after. Both are work of the call on its stream, so they are captured and replayed
/// with it.
inline constexpr const char* k_slow_cuda_call = R"shim(
#line 1 "ako-shim-slow"
static __device__ unsigned long long ako_shim_began;
static __device__ unsigned long long ako_shim_now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
static __global__ void ako_shim_begin() { ako_shim_began = ako_shim_now(); }
static __global__ void ako_shim_spin() {
  const unsigned long long end = ako_shim_now(), wait = (end - ako_shim_began) / AKO_PLANT_SLOW_DOWN;
  while (ako_shim_now() - end < wait) {}
}
extern "C" __attribute__((visibility("default"))) int
ako_call(void* const* tensors, const std::int64_t* integers, const double* scalars, void* stream) {
  ako_shim_begin<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
  const int status = ako_planted_call(tensors, integers, scalars, stream);
  ako_shim_spin<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
  return ako_shim_::done_(status);
}
)shim";

} // namespace ako::lanes::native
