// Lenient about what an older ako did not write, strict about everything else: the helpers that
// read payloads.
#pragma once

#include "base/json.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::ledger {

/// Reads members of one object into variables. The first error is kept; a missing member leaves the
/// variable as it was; null reads as NaN into a double and as absent elsewhere.
class Fields {
public:
  explicit Fields(const base::Json& json, std::string_view where) : m_json(json), m_where(where) {
    if (!json.is_object()) note(base::ErrorKind::invalid, "", "an object", json.type_name());
  }

  template <class T> Fields& read(std::string_view key, T& into) {
    const base::Json* member = find(key);
    if (!member || m_error) return *this;
    if constexpr (std::is_same_v<T, double>) {
      if (member->is_null()) {
        into = std::numeric_limits<double>::quiet_NaN();
        return *this;
      }
    }
    if (member->is_null()) return *this;
    auto value = base::get<T>(m_json, key);
    if (value) into = std::move(*value);
    else m_error = std::move(value).error();
    return *this;
  }
  Fields& read(std::string_view key, int& into);
  Fields& read(std::string_view key, std::optional<double>& into);
  Fields& read(std::string_view key, std::vector<std::string>& into);

  /// An object read by `from` (JSON to Expected<T>).
  template <class T, class From> Fields& object(std::string_view key, T& into, From from) {
    const base::Json* member = find(key);
    if (!member || member->is_null() || m_error) return *this;
    auto value = from(*member);
    if (value) into = std::move(*value);
    else m_error = std::move(value).error();
    return *this;
  }
  /// A list whose elements are read by `from`.
  template <class T, class From>
  Fields& list(std::string_view key, std::vector<T>& into, From from) {
    const base::Json* member = find(key);
    if (!member || member->is_null() || m_error) return *this;
    if (!member->is_array()) {
      note(base::ErrorKind::invalid, key, "a list", member->type_name());
      return *this;
    }
    into.clear();
    for (const base::Json& each : *member) {
      auto value = from(each);
      if (!value) {
        m_error = std::move(value).error();
        return *this;
      }
      into.push_back(std::move(*value));
    }
    return *this;
  }

  /// The value when nothing went wrong.
  template <class T> base::Expected<T> finish(T& value) {
    if (m_error) return tl::unexpected(std::move(*m_error));
    return std::move(value);
  }
  void note(base::ErrorKind kind, std::string_view key, std::string allowed, std::string found);

private:
  const base::Json* find(std::string_view key) const;
  const base::Json& m_json;
  std::string m_where;
  std::optional<base::Error> m_error;
};

} // namespace ako::ledger
