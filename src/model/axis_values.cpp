#include "model/axis_values.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::model {

bool is_lawful(const Axis& axis, std::int64_t value) {
  return value >= axis.min && value <= axis.max && value % axis.multiple_of == 0;
}

std::optional<std::int64_t> lawful_at_least(const Axis& axis, std::int64_t value) {
  const std::int64_t from = std::max(value, axis.min);
  const std::int64_t over = from % axis.multiple_of;
  std::int64_t out = from;
  if (over > 0 && __builtin_add_overflow(from, axis.multiple_of - over, &out)) return std::nullopt;
  if (out > axis.max) return std::nullopt;
  return out;
}

std::optional<std::int64_t> lawful_at_most(const Axis& axis, std::int64_t value) {
  const std::int64_t from = std::min(value, axis.max);
  if (from < axis.min) return std::nullopt;
  const std::int64_t out = from - from % axis.multiple_of;
  if (out < axis.min) return std::nullopt;
  return out;
}

std::string lawful_text(const Axis& axis) {
  std::string out = axis.max == INT64_MAX ? fmt::format("at least {}", axis.min)
                                          : fmt::format("{} to {}", axis.min, axis.max);
  if (axis.multiple_of > 1) out += fmt::format(", multiples of {}", axis.multiple_of);
  return out;
}

} // namespace ako::model
