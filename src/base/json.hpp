// JSON by nlohmann, with errors as values and non-finite numbers written as null.
#pragma once

#include "base/error.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace ako::base {

using Json = nlohmann::ordered_json;

Expected<Json> parse_json(std::string_view text, std::string_view where);
/// Compact when indent < 0. NaN and infinities become null; invalid UTF-8 is replaced.
std::string dump_json(const Json& json, int indent = -1);
/// A finite double, or null.
Json number_or_null(double value);

/// Typed member access: kind invalid naming the key, what was found and what is allowed.
template <class T> Expected<T> get(const Json& object, std::string_view key);
template <class T> T get_or(const Json& object, std::string_view key, T fallback) {
  auto value = get<T>(object, key);
  return value ? std::move(*value) : std::move(fallback);
}
extern template Expected<std::string> get<std::string>(const Json&, std::string_view);
extern template Expected<std::int64_t> get<std::int64_t>(const Json&, std::string_view);
extern template Expected<std::uint64_t> get<std::uint64_t>(const Json&, std::string_view);
extern template Expected<double> get<double>(const Json&, std::string_view);
extern template Expected<bool> get<bool>(const Json&, std::string_view);
extern template Expected<Json> get<Json>(const Json&, std::string_view);

} // namespace ako::base
