#include "model/axis_values.hpp"
#include "model/resolved.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::model {

namespace {

constexpr std::int64_t k_usual_tile = 64; ///< for axes that declare none
constexpr int k_draws_per_shape = 200;

/// Bytes of all tensors; nothing for a shape that does not resolve.
std::optional<std::int64_t> bytes_of_shape(const Contract& contract, const ShapeCase& shape) {
  const auto resolved = resolve(contract, shape);
  if (!resolved) return std::nullopt;
  std::int64_t sum = 0;
  for (const ResolvedTensor& each : resolved->tensors)
    if (__builtin_add_overflow(sum, each.bytes, &sum)) return std::nullopt;
  return sum;
}

bool fits(const Contract& contract, const ShapeCase& shape, std::int64_t most_bytes) {
  const auto bytes = bytes_of_shape(contract, shape);
  return bytes && *bytes <= most_bytes;
}

std::optional<ShapeCase> smallest(const Contract& contract) {
  std::optional<ShapeCase> out;
  std::int64_t least = 0;
  for (const ShapeCase& shape : contract.shapes) {
    const auto bytes = bytes_of_shape(contract, shape);
    if (!bytes || (out && *bytes >= least)) continue;
    out = shape;
    least = *bytes;
  }
  return out;
}

bool is_prime(std::int64_t value) {
  if (value < 2) return false;
  for (std::int64_t d = 2; d * d <= value; ++d)
    if (value % d == 0) return false;
  return true;
}

/// A prime times multiple_of: beyond two tiles, so that whole tiles and a tail both occur; else the
/// largest there is.
std::optional<std::int64_t> prime_multiple(const Axis& axis) {
  constexpr std::int64_t k_most_factor = 1 << 20; // primality by trial division stays cheap
  const std::int64_t tile = std::min(axis.tile.value_or(k_usual_tile), INT64_MAX / 4);
  const std::int64_t beyond = std::max(2 * tile, axis.min) / axis.multiple_of + 1;
  const std::int64_t last = std::min(axis.max / axis.multiple_of, k_most_factor);
  for (std::int64_t factor = std::min(beyond, last + 1); factor <= last; ++factor)
    if (is_prime(factor)) return factor * axis.multiple_of;
  for (std::int64_t factor = last; factor * axis.multiple_of >= axis.min && factor > 1; --factor)
    if (is_prime(factor)) return factor * axis.multiple_of;
  return std::nullopt;
}

/// The smallest value with a whole tile and a tail behind it.
std::optional<std::int64_t> tail_of(const Axis& axis) {
  if (!axis.tile || *axis.tile == INT64_MAX) return prime_multiple(axis);
  const auto value = lawful_at_least(axis, *axis.tile + 1);
  return value && *value % *axis.tile != 0 ? value : prime_multiple(axis);
}

/// The largest lawful value up to max with which the whole fits; sizes grow with the axis.
std::optional<std::int64_t> largest_that_fits(const Contract& contract, const Axis& axis,
                                              ShapeCase shape, std::int64_t most_bytes) {
  const auto top = lawful_at_most(axis, axis.max);
  const auto bottom = lawful_at_least(axis, axis.min);
  if (!top || !bottom) return std::nullopt;
  const auto fits_with = [&](std::int64_t steps) {
    shape.axes[axis.name] = *bottom + steps * axis.multiple_of;
    return fits(contract, shape, most_bytes);
  };
  if (!fits_with(0)) return std::nullopt;
  std::int64_t low = 0, high = (*top - *bottom) / axis.multiple_of;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (fits_with(middle)) low = middle;
    else high = middle - 1;
  }
  return *bottom + low * axis.multiple_of;
}

bool same_case(const ShapeCase& a, const ShapeCase& b) {
  return a.axes == b.axes && a.dtypes == b.dtypes;
}

bool is_among(const std::vector<ShapeCase>& cases, const ShapeCase& shape) {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const ShapeCase& each) { return same_case(each, shape); });
}

std::vector<std::optional<std::int64_t>> edges_of(const Contract& contract, const Axis& axis,
                                                  const ShapeCase& base, std::int64_t most_bytes) {
  std::vector<std::optional<std::int64_t>> values{lawful_at_least(axis, axis.min)};
  if (axis.tile) {
    values.push_back(lawful_at_most(axis, *axis.tile - 1));
    values.push_back(is_lawful(axis, *axis.tile) ? axis.tile : std::nullopt);
    if (*axis.tile < INT64_MAX) values.push_back(lawful_at_least(axis, *axis.tile + 1));
  }
  values.push_back(prime_multiple(axis));
  if (axis.max != INT64_MAX) values.push_back(largest_that_fits(contract, axis, base, most_bytes));
  return values;
}

// -- drawing --------------------------------------------------------------------------------------

/// SplitMix64: a full-period sequence from any seed.
class Draw {
public:
  explicit Draw(std::uint64_t seed) : m_state(seed) {}
  std::uint64_t next() {
    m_state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = m_state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

private:
  std::uint64_t m_state;
};

enum class Spread { by_magnitude, even };

/// Between the axis' minimum and twice the largest value the contract measures: log-uniform or
/// uniform, for the one rarely meets sizes like those of production and the other small ones.
std::optional<std::int64_t> draw_value(const Contract& contract, const Axis& axis, Spread spread,
                                       Draw& draw) {
  std::int64_t largest = axis.min;
  for (const ShapeCase& shape : contract.shapes)
    if (const auto value = shape.axes.find(axis.name); value != shape.axes.end())
      largest = std::max(largest, value->second);
  const double low = static_cast<double>(axis.min), high = 2.0 * static_cast<double>(largest);
  const double unit = draw.unit();
  const double drawn = spread == Spread::even
                           ? low + (high - low) * unit
                           : std::exp(std::log(low) + (std::log(high) - std::log(low)) * unit);
  const double value = std::min(drawn, 9.0e18);
  const auto whole = static_cast<std::int64_t>(value);
  const auto down = lawful_at_most(axis, whole);
  return down ? down : lawful_at_least(axis, whole);
}

std::optional<ShapeCase> draw_shape(const Contract& contract, Spread spread, Draw& draw) {
  ShapeCase shape;
  for (const Axis& axis : contract.axes) {
    if (axis.kind == Axis::Kind::dtype)
      shape.dtypes[axis.name] = axis.dtypes[draw.next() % axis.dtypes.size()];
    if (axis.kind != Axis::Kind::var) continue;
    const auto value = draw_value(contract, axis, spread, draw);
    if (!value) return std::nullopt;
    shape.axes[axis.name] = *value;
  }
  return shape;
}

} // namespace

std::vector<ShapeCase> edge_shapes(const Contract& contract, std::int64_t most_bytes) {
  std::vector<ShapeCase> out;
  const auto base = smallest(contract);
  if (!base) return out;
  const auto add = [&](ShapeCase shape, std::string tag) {
    shape.tag = std::move(tag);
    shape.weight = 0; // production never asked for it
    if (!is_among(contract.shapes, shape) && !is_among(out, shape) &&
        fits(contract, shape, most_bytes))
      out.push_back(std::move(shape));
  };
  // Tails along all axes at once: one at a time shows none where two of them meet.
  ShapeCase together = *base;
  int moved = 0;
  for (const Axis& axis : contract.axes)
    if (axis.kind == Axis::Kind::var)
      if (const auto tail = tail_of(axis)) {
        together.axes[axis.name] = *tail;
        ++moved;
      }
  if (moved > 1) add(std::move(together), "edge:tails");
  for (const Axis& axis : contract.axes) {
    if (axis.kind == Axis::Kind::var)
      for (const auto& value : edges_of(contract, axis, *base, most_bytes)) {
        if (!value) continue;
        ShapeCase shape = *base;
        shape.axes[axis.name] = *value;
        add(std::move(shape), fmt::format("edge:{}={}", axis.name, *value));
      }
    if (axis.kind == Axis::Kind::dtype)
      for (const Dtype dtype : axis.dtypes) {
        ShapeCase shape = *base;
        shape.dtypes[axis.name] = dtype;
        add(std::move(shape), fmt::format("edge:{}={}", axis.name, to_string(dtype)));
      }
  }
  return out;
}

std::vector<ShapeCase> hidden_shapes(const Contract& contract, std::uint64_t seed, int count,
                                     std::int64_t most_bytes) {
  std::vector<ShapeCase> out;
  const std::vector<ShapeCase> edges = edge_shapes(contract, most_bytes);
  Draw draw(seed);
  for (int tries = 0; static_cast<int>(out.size()) < count && tries < count * k_draws_per_shape;
       ++tries) {
    auto shape =
        draw_shape(contract, out.size() % 2 == 0 ? Spread::even : Spread::by_magnitude, draw);
    if (!shape || is_among(contract.shapes, *shape) || is_among(edges, *shape) ||
        is_among(out, *shape) || !fits(contract, *shape, most_bytes))
      continue;
    shape->tag = fmt::format("hidden:{}", out.size() + 1);
    shape->weight = 0;
    out.push_back(std::move(*shape));
  }
  return out;
}

} // namespace ako::model
