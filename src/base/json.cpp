#include "base/json.hpp"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <limits>

namespace ako::base {

namespace {

/// Deeper text is refused: writing and comparing values recurse.
constexpr int k_most_depth = 200;

/// The position of byte `at` as "line:column", both from 1.
std::string place(std::string_view text, std::size_t at) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < at && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return fmt::format("{}:{}", line, column);
}

/// The byte where brackets nest deeper than k_most_depth, or npos. Brackets in strings do not
/// count.
std::size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      else if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > k_most_depth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

/// A value as it stood, cut to a readable length.
std::string shown(const Json& value) {
  std::string text = dump_json(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

tl::unexpected<Error> wrong(std::string_view key, const Json& found, std::string allowed) {
  return fail(ErrorKind::invalid, fmt::format("the value of '{}' is of the wrong kind", key),
              {.where = std::string(key),
               .found = shown(found),
               .allowed = std::move(allowed),
               .next = {}});
}

// One converter for each type that get<> is instantiated for.
Expected<std::string> convert(std::string_view key, const Json& value, std::string*) {
  if (!value.is_string()) return wrong(key, value, "a string");
  return value.get_ref<const std::string&>();
}
Expected<std::int64_t> convert(std::string_view key, const Json& value, std::int64_t*) {
  const bool fits = !value.is_number_unsigned() ||
                    value.get<std::uint64_t>() <=
                        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer() || !fits) return wrong(key, value, "a whole number of 64 bits");
  return value.get<std::int64_t>();
}
Expected<std::uint64_t> convert(std::string_view key, const Json& value, std::uint64_t*) {
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0))
    return wrong(key, value, "a whole number from 0 to 2^64 - 1");
  return value.get<std::uint64_t>();
}
Expected<double> convert(std::string_view key, const Json& value, double*) {
  if (!value.is_number()) return wrong(key, value, "a number");
  return value.get<double>();
}
Expected<bool> convert(std::string_view key, const Json& value, bool*) {
  if (!value.is_boolean()) return wrong(key, value, "true or false");
  return value.get<bool>();
}
Expected<Json> convert(std::string_view, const Json& value, Json*) { return value; }

} // namespace

Expected<Json> parse_json(std::string_view text, std::string_view where) {
  const auto invalid = [&](std::size_t at, std::string found) {
    return fail(ErrorKind::invalid, "this is not JSON",
                {.where = fmt::format("{}:{}", where, place(text, at)),
                 .found = std::move(found),
                 .allowed = "one JSON value",
                 .next = {}});
  };
  if (const std::size_t at = too_deep_at(text); at != std::string_view::npos)
    return invalid(at, fmt::format("brackets nested deeper than {}", k_most_depth));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t at = error.byte > 0 ? error.byte - 1 : 0;
    return invalid(at, text.empty() ? "nothing" : error.what());
  } catch (const Json::exception& error) { // a number out of range
    return invalid(0, error.what());
  }
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class T> Expected<T> get(const Json& object, std::string_view key) {
  if (!object.is_object())
    return fail(
        ErrorKind::invalid, fmt::format("'{}' was looked for in no object", key),
        {.where = std::string(key), .found = shown(object), .allowed = "an object", .next = {}});
  const auto entry = object.find(key);
  if (entry == object.end())
    return fail(ErrorKind::invalid, fmt::format("the key '{}' is missing", key),
                {.where = std::string(key), .found = "nothing", .allowed = {}, .next = {}});
  return convert(key, *entry, static_cast<T*>(nullptr));
}

template Expected<std::string> get<std::string>(const Json&, std::string_view);
template Expected<std::int64_t> get<std::int64_t>(const Json&, std::string_view);
template Expected<std::uint64_t> get<std::uint64_t>(const Json&, std::string_view);
template Expected<double> get<double>(const Json&, std::string_view);
template Expected<bool> get<bool>(const Json&, std::string_view);
template Expected<Json> get<Json>(const Json&, std::string_view);

} // namespace ako::base
