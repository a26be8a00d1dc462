#include "ledger/fields.hpp"

namespace ako::ledger {

using base::ErrorKind;

const base::Json* Fields::find(std::string_view key) const {
  if (!m_json.is_object()) return nullptr;
  const auto at = m_json.find(key);
  return at == m_json.end() ? nullptr : &*at;
}

void Fields::note(ErrorKind kind, std::string_view key, std::string allowed, std::string found) {
  if (m_error) return;
  const std::string place = key.empty() ? m_where : m_where + "." + std::string(key);
  m_error = base::Error{kind,
                        "a record does not hold what it must",
                        place,
                        std::move(found),
                        std::move(allowed),
                        "run `ako verify`"};
}

Fields& Fields::read(std::string_view key, int& into) {
  std::int64_t wide = into;
  read(key, wide);
  if (m_error) return *this;
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    note(ErrorKind::invalid, key, "a 32-bit number", std::to_string(wide));
  else into = static_cast<int>(wide);
  return *this;
}

Fields& Fields::read(std::string_view key, std::optional<double>& into) {
  const base::Json* member = find(key);
  if (!member || member->is_null() || m_error) return *this;
  double value = 0;
  read(key, value);
  if (!m_error) into = value;
  return *this;
}

Fields& Fields::read(std::string_view key, std::vector<std::string>& into) {
  return list(key, into, [&](const base::Json& each) -> base::Expected<std::string> {
    if (!each.is_string())
      return base::fail(ErrorKind::invalid, "a record does not hold what it must",
                        {.where = m_where + "." + std::string(key),
                         .found = each.type_name(),
                         .allowed = "a list of texts",
                         .next = "run `ako verify`"});
    return each.get<std::string>();
  });
}

} // namespace ako::ledger
