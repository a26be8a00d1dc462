// Which values are lawful for a var axis.
#pragma once

#include "model/contract.hpp"

#include <optional>
#include <string>

namespace ako::model {

bool is_lawful(const Axis& axis, std::int64_t value);
std::optional<std::int64_t> lawful_at_least(const Axis& axis, std::int64_t value);
std::optional<std::int64_t> lawful_at_most(const Axis& axis, std::int64_t value);
/// "1 to 65536, multiples of 8"
std::string lawful_text(const Axis& axis);

} // namespace ako::model
