// A value or why there is none: what the project uses of tl::expected, in one class. The library's
// takes eight classes and some fifty functions for every T, a tenth of the time to build.
#pragma once

#include <concepts>
#include <memory>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace ako::base {

template <class T, class E> class Result;

template <class T> inline constexpr bool is_result = false;
template <class T, class E> inline constexpr bool is_result<Result<T, E>> = true;
template <class E> inline constexpr bool is_result<tl::unexpected<E>> = true;

/// Whether Result<T, E> may be made from a U: never from another result or an error.
template <class U, class T>
concept ValueFor = !is_result<std::remove_cvref_t<U>> && std::constructible_from<T, U>;

template <class T, class E> class Result {
public:
  using value_type = T;
  using error_type = E;

  Result() requires std::default_initializable<T> : m_value(), m_has(true) {}
  template <class U = T>
  requires ValueFor<U, T>
  explicit(!std::convertible_to<U, T>)
      Result(U&& value) // NOLINT(bugprone-forwarding-reference-overload)
      : m_value(std::forward<U>(value)), m_has(true) {}
  Result(tl::unexpected<E>&& error) : m_error(std::move(error).value()), m_has(false) {}
  Result(const tl::unexpected<E>& error) : m_error(error.value()), m_has(false) {}
  template <class U>
  requires(!std::same_as<U, T> && std::convertible_to<U, T>) Result(Result<U, E>&& other)
      : m_has(other.has_value()) {
    if (m_has) std::construct_at(std::addressof(m_value), *std::move(other));
    else std::construct_at(std::addressof(m_error), std::move(other).error());
  }

  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : m_has(other.m_has) {
    if (m_has) std::construct_at(std::addressof(m_value), std::move(other.m_value));
    else std::construct_at(std::addressof(m_error), std::move(other.m_error));
  }
  Result(const Result& other) requires std::is_copy_constructible_v<T> : m_has(other.m_has) {
    if (m_has) std::construct_at(std::addressof(m_value), other.m_value);
    else std::construct_at(std::addressof(m_error), other.m_error);
  }
  ~Result() { destroy(); }

  Result& operator=(Result&& other) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T> &&
                  std::is_nothrow_move_constructible_v<E>);
    if (this == &other) return *this;
    destroy();
    return *std::construct_at(this, std::move(other));
  }
  Result& operator=(const Result& other) requires std::is_copy_constructible_v<T> {
    return *this = Result(other);
  }

  explicit operator bool() const { return m_has; }
  bool has_value() const { return m_has; }

  T& operator*() & { return m_value; }
  const T& operator*() const& { return m_value; }
  T&& operator*() && { return std::move(m_value); }
  T* operator->() { return std::addressof(m_value); }
  const T* operator->() const { return std::addressof(m_value); }

  /// The value; without one an exception.
  T& value() & { return checked(), m_value; }
  const T& value() const& { return checked(), m_value; }
  T&& value() && { return checked(), std::move(m_value); }
  template <class U> T value_or(U&& other) const& {
    return m_has ? m_value : static_cast<T>(std::forward<U>(other));
  }
  template <class U> T value_or(U&& other) && {
    return m_has ? std::move(m_value) : static_cast<T>(std::forward<U>(other));
  }

  E& error() & { return m_error; }
  const E& error() const& { return m_error; }
  E&& error() && { return std::move(m_error); }

  /// The same error, or what `change` makes of the value.
  template <class F> auto map(F&& change) && {
    using To = Result<std::remove_cvref_t<std::invoke_result_t<F, T&&>>, E>;
    if (!m_has) return To(tl::unexpected<E>(std::move(m_error)));
    if constexpr (std::is_void_v<typename To::value_type>) {
      std::forward<F>(change)(std::move(m_value));
      return To();
    } else {
      return To(std::forward<F>(change)(std::move(m_value)));
    }
  }

private:
  void destroy() {
    if (m_has) std::destroy_at(std::addressof(m_value));
    else std::destroy_at(std::addressof(m_error));
  }
  void checked() const {
    if (!m_has) throw tl::bad_expected_access<E>(m_error);
  }

  union {
    T m_value;
    E m_error;
  };
  bool m_has;
};

/// Done, or why not.
template <class E> class Result<void, E> {
public:
  using value_type = void;
  using error_type = E;

  Result() : m_has(true) {}
  Result(tl::unexpected<E>&& error) : m_error(std::move(error).value()), m_has(false) {}
  Result(const tl::unexpected<E>& error) : m_error(error.value()), m_has(false) {}
  Result(Result&& other) noexcept : m_has(other.m_has) {
    if (!m_has) std::construct_at(std::addressof(m_error), std::move(other.m_error));
  }
  Result(const Result& other) : m_has(other.m_has) {
    if (!m_has) std::construct_at(std::addressof(m_error), other.m_error);
  }
  ~Result() { destroy(); }

  Result& operator=(Result&& other) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<E>);
    if (this == &other) return *this;
    destroy();
    return *std::construct_at(this, std::move(other));
  }
  Result& operator=(const Result& other) { return *this = Result(other); }

  explicit operator bool() const { return m_has; }
  bool has_value() const { return m_has; }
  void operator*() const {}
  void value() const {
    if (!m_has) throw tl::bad_expected_access<E>(m_error);
  }

  E& error() & { return m_error; }
  const E& error() const& { return m_error; }
  E&& error() && { return std::move(m_error); }

private:
  void destroy() {
    if (!m_has) std::destroy_at(std::addressof(m_error));
  }

  union {
    E m_error;
  };
  bool m_has;
};

} // namespace ako::base
