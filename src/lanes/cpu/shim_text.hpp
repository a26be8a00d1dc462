// The fixed part of the shim: the wrappers. Everything in it is named ako_shim_..., and it comes
// after the candidate's text, so that the candidate neither sees nor needs it.
#pragma once

namespace ako::lanes::cpu {

inline constexpr const char* k_shim_types = R"shim(
#line 1 "ako-shim-types"
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
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
template <class T, class... L> inline constexpr bool one_of_ = (std::is_same_v<T, L> || ...);
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
                                       : std::in_range<T>(Min) && std::in_range<T>(Max);
  }
  template <class T> bool fits() const {
    if constexpr (Open) return std::in_range<T>(v); else return true;
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
    std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>, A, std::remove_cvref_t<A>>;
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
  static_assert(std::is_void_v<R> || std::is_same_v<R, int>, "AKO_RESULT");
  static constexpr bool ok = std::is_void_v<R> || std::is_same_v<R, int>;
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
      if constexpr (std::is_void_v<R>) { F(g.template to<value_<A>>()...); return 0; }
      else return F(g.template to<value_<A>>()...);
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

} // namespace ako::lanes::cpu
