// The spellings of the contract's enumerations: one table each, used to read, to write and to list
// what is allowed.
#pragma once

#include "model/contract.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ako::model {

template <class E> struct EnumName {
  E value;
  const char* text;
};

/// All spellings of E in the order in which they are shown.
template <class E> std::span<const EnumName<E>> enum_names();

template <class E> std::optional<E> enum_from(std::string_view text) {
  for (const auto& name : enum_names<E>())
    if (text == name.text) return name.value;
  return std::nullopt;
}

template <class E> const char* enum_text(E value) {
  for (const auto& name : enum_names<E>())
    if (value == name.value) return name.text;
  base::check_failed("enum_text", __FILE__, __LINE__, "a value outside its enumeration");
}

/// "cold, warm"
template <class E> std::string enum_list() {
  std::string out;
  for (const auto& name : enum_names<E>()) {
    if (!out.empty()) out += ", ";
    out += name.text;
  }
  return out;
}

#define AKO_ENUMS(X)                                                                               \
  X(Lane)                                                                                          \
  X(Workload)                                                                                      \
  X(TensorRole)                                                                                    \
  X(Lifetime)                                                                                      \
  X(CacheState)                                                                                    \
  X(AddressRule)                                                                                   \
  X(Fill)                                                                                          \
  X(Compare)                                                                                       \
  X(Clock)                                                                                         \
  X(Permission)                                                                                    \
  X(PrecisionRule)                                                                                 \
  X(WorkspaceState)                                                                                \
  X(ErrorPrecision)

#define AKO_X(E) template <> std::span<const EnumName<E>> enum_names<E>();
AKO_ENUMS(AKO_X)
#undef AKO_X

} // namespace ako::model
