#include "inputs/codec.hpp"
#include "judge/methods.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::judge {
namespace {

/// Sums of squares of a region and its mismatches.
struct Sums {
  double error = 0, expected = 0;
  std::int64_t mismatches = 0, elements = 0;
  void add(double e, double x) {
    error += e * e;
    expected += x * x;
    ++elements;
  }
  double relative() const {
    if (error == 0) return 0;
    return expected == 0 ? INFINITY : std::sqrt(error / expected);
  }
};

constexpr std::int64_t k_tile = 64;
/// Whole-tensor statistics say something from this many elements on.
constexpr std::int64_t k_least_for_slope = 256, k_least_for_bias = 1000;
/// With matched_ratio below 1 a row still counts as destroyed when this share of it is wrong.
constexpr double k_destroyed_share = 0.5;

class Close {
public:
  explicit Close(const CompareRequest& request)
      : m_request(request), m_tolerance(request.tolerance), m_tensor(*request.got.tensor),
        m_numbers(inputs::numbers_of(request.got.dtype)),
        m_floating(model::class_of(request.got.dtype) == model::DtypeClass::floating) {
    m_out.method = "close";
    m_out.elements = m_tensor.elements;
    m_narrow = m_floating && model::bits_of(request.got.dtype) <= 8;
    m_columns = m_tensor.shape.empty() ? 1 : m_tensor.shape.back();
    m_tile_rows = m_tensor.shape.size() < 2 ? 1 : m_tensor.shape[m_tensor.shape.size() - 2];
    m_tiles.resize(static_cast<std::size_t>((m_columns + k_tile - 1) / k_tile));
  }

  CompareResult run() {
    const RowPlan plan = plan_rows(m_tensor);
    m_got.resize(static_cast<std::size_t>(plan.length));
    m_expected.resize(static_cast<std::size_t>(plan.length));
    for (std::int64_t row = 0; row < plan.rows; ++row) {
      read_elements(m_request.got, row * plan.length, m_got);
      read_elements(m_request.expected, row * plan.length, m_expected);
      compare_row(row * plan.length);
    }
    flush_tiles();
    conclude();
    return std::move(m_out);
  }

private:
  void compare_row(std::int64_t first) {
    double squares = 0;
    std::int64_t finite = 0;
    for (double value : m_expected)
      if (std::isfinite(value)) squares += value * value, ++finite;
    const double rms = finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
    const double base = m_tolerance.atol + m_tolerance.row_factor * rms;
    Sums row;
    for (std::size_t i = 0; i < m_got.size(); ++i)
      element(first + static_cast<std::int64_t>(i), m_got[i], m_expected[i], base, row);
    const double error = row.mismatches > 0 && row.elements == 0 ? INFINITY : row.relative();
    if (m_out.worst_row.elements == 0 || error > m_out.worst_row.error ||
        (error == m_out.worst_row.error && row.mismatches > m_out.worst_row.mismatches))
      m_out.worst_row = {index_of(m_tensor, first), error, row.mismatches,
                         static_cast<std::int64_t>(m_got.size())};
    if (static_cast<double>(row.mismatches) > k_destroyed_share * static_cast<double>(m_got.size()))
      ++m_destroyed_rows;
  }

  void element(std::int64_t at, double got, double expected, double base, Sums& row) {
    if (!std::isfinite(expected) || !std::isfinite(got)) {
      if (!non_finite(at, got, expected)) ++row.mismatches;
      return;
    }
    const double error = got - expected, size = std::fabs(error);
    row.add(error, expected);
    Sums& tile = tile_of(at);
    tile.add(error, expected);
    m_all.add(error, expected);
    m_cross += got * expected;
    m_out.max_abs = std::max(m_out.max_abs, size);
    if (expected != 0) m_out.max_rel = std::max(m_out.max_rel, size / std::fabs(expected));
    const double allowed = base + m_tolerance.rtol * std::fabs(expected);
    const double quantum = m_floating ? inputs::quantum(m_request.got.dtype, expected) : 1;
    if (size > 0) m_out.max_quanta = std::max(m_out.max_quanta, size / quantum);
    note_bias(error, expected, quantum);
    const double share = allowed > 0 ? size / allowed : size > 0 ? INFINITY : 0;
    const bool cap = m_tolerance.max_error_cap && size > *m_tolerance.max_error_cap;
    m_capped += cap;
    if (share <= 1 && !cap) {
      m_out.max_of_allowed = std::max(m_out.max_of_allowed, share);
      return;
    }
    if (forgiven(got, expected, size, quantum) && !cap) return;
    m_out.max_of_allowed = std::max(m_out.max_of_allowed, share);
    ++row.mismatches;
    ++tile.mismatches;
    mismatch(at, got, expected, allowed, share);
  }

  /// One-quantum flips of narrow types, and subnormals flushed where that is declared.
  bool forgiven(double got, double expected, double size, double quantum) {
    if (got == 0 && std::fabs(expected) < m_numbers.smallest_normal && expected != 0) {
      ++m_out.flushed;
      if (m_tolerance.flush_subnormals) return true;
    }
    if (m_narrow && size <= 1.5 * quantum) {
      ++m_out.flips;
      return true;
    }
    return false;
  }

  void note_bias(double error, double expected, double quantum) {
    if (m_tolerance.bias_limit <= 0 || expected == 0 ||
        std::fabs(expected) < m_numbers.smallest_normal)
      return;
    m_bias += (expected < 0 ? -error : error) / quantum;
    ++m_out.bias_count;
  }

  /// True: as it must be. See the table in compare.cpp.
  bool non_finite(std::int64_t at, double got, double expected) {
    NonFinite& n = m_out.nonfinite;
    if (std::isnan(expected)) {
      if (!m_tolerance.nan_meaningful) {
        ++n.expected_nan;
        note_first_nan(at);
        return true;
      }
      if (std::isnan(got)) return ++n.matched, true;
      ++n.missed_nan;
    } else if (std::isinf(expected)) {
      if (got == expected) return ++n.matched, true;
      ++n.missed_infinity;
    } else if (std::isnan(got)) {
      ++n.got_nan;
    } else {
      ++n.got_infinity;
    }
    mismatch(at, got, expected, 0, INFINITY);
    return false;
  }

  void note_first_nan(std::int64_t at) {
    if (m_first_nan < 0) m_first_nan = at;
  }

  void mismatch(std::int64_t at, double got, double expected, double allowed, double share) {
    ++m_out.mismatches;
    if (m_out.first.element < 0) m_out.first = {at, index_of(m_tensor, at), got, expected, allowed};
    if (m_out.worst.element < 0 || share > m_worst_share) {
      m_worst_share = share;
      m_out.worst = {at, index_of(m_tensor, at), got, expected, allowed};
    }
  }

  Sums& tile_of(std::int64_t at) {
    const std::int64_t row = at / m_columns;
    const std::int64_t band =
        row / m_tile_rows * ((m_tile_rows + k_tile - 1) / k_tile) + row % m_tile_rows / k_tile;
    if (band != m_band) {
      flush_tiles();
      m_band = band;
      m_band_first = row;
    }
    return m_tiles[static_cast<std::size_t>(at % m_columns / k_tile)];
  }

  void flush_tiles() {
    for (std::size_t t = 0; t < m_tiles.size(); ++t) {
      Sums& tile = m_tiles[t];
      if (tile.elements == 0) continue;
      const double error = tile.relative();
      if (m_out.worst_tile.elements == 0 || error > m_out.worst_tile.error)
        m_out.worst_tile = {
            index_of(m_tensor, m_band_first * m_columns + static_cast<std::int64_t>(t) * k_tile),
            error, tile.mismatches, tile.elements};
      tile = Sums{};
    }
  }

  void conclude() {
    m_out.error_rms = m_all.relative();
    if (m_all.expected > 0) m_out.slope = m_cross / m_all.expected;
    if (m_out.bias_count > 0) m_out.bias_quanta = m_bias / static_cast<double>(m_out.bias_count);
    m_out.reason = why_not();
    m_out.pass = m_out.reason.empty();
  }

  std::string why_not() {
    const double elements = static_cast<double>(m_out.elements);
    if (m_out.nonfinite.expected_nan > 0) {
      m_out.reference_at_fault = true;
      return fmt::format("the reference gives NaN for {} of {} elements, the first at {}, and the "
                         "contract does not call NaN meaningful",
                         m_out.nonfinite.expected_nan, m_out.elements, place(m_first_nan));
    }
    if (m_out.nonfinite.fatal() > 0)
      return fmt::format("{} elements are not finite where they must be or the reverse, the first "
                         "at {}: got {}, expected {}",
                         m_out.nonfinite.fatal(), place(m_out.worst.element), m_out.worst.got,
                         m_out.worst.expected);
    const double matched = 1 - static_cast<double>(m_out.mismatches) / elements;
    if (m_capped > 0) return worst_text("beyond max_error_cap");
    if (m_out.mismatches > 0 && matched < m_tolerance.matched_ratio)
      return worst_text("outside the tolerance");
    if (m_out.mismatches > 0 && m_destroyed_rows > 0)
      return fmt::format("{} rows are wrong in more than half of their elements, the worst at {}",
                         m_destroyed_rows, fmt::join(m_out.worst_row.index, ","));
    if (m_narrow && static_cast<double>(m_out.flips) > m_tolerance.flip_share * elements &&
        m_out.flips > 2)
      return fmt::format("{} of {} elements are one quantum off; {:.0f} % may be", m_out.flips,
                         m_out.elements, 100 * m_tolerance.flip_share);
    if (m_tolerance.slope_limit > 0 && m_all.elements >= k_least_for_slope &&
        std::fabs(m_out.slope - 1) > m_tolerance.slope_limit)
      return fmt::format("the whole is scaled by {:.4f}; within {} of 1 is allowed", m_out.slope,
                         m_tolerance.slope_limit);
    if (m_tolerance.bias_limit > 0 && m_out.bias_count >= k_least_for_bias &&
        std::fabs(m_out.bias_quanta) > m_tolerance.bias_limit)
      return fmt::format("the mean signed error is {:+.2f} quanta away from zero, {} is allowed: "
                         "results are not rounded to nearest",
                         m_out.bias_quanta, m_tolerance.bias_limit);
    return {};
  }

  std::string place(std::int64_t element) const {
    return fmt::format("[{}]", fmt::join(index_of(m_tensor, element), ","));
  }
  std::string worst_text(const char* what) const {
    return fmt::format("{} of {} elements are {}; the worst at {}: got {:.6g}, expected {:.6g}, "
                       "off by {:.3g} where {:.3g} is allowed",
                       m_out.mismatches, m_out.elements, what, place(m_out.worst.element),
                       m_out.worst.got, m_out.worst.expected,
                       std::fabs(m_out.worst.got - m_out.worst.expected), m_out.worst.allowed);
  }

  const CompareRequest& m_request;
  const Tolerance& m_tolerance;
  const model::ResolvedTensor& m_tensor;
  const inputs::DtypeNumbers& m_numbers;
  bool m_floating, m_narrow = false;
  std::int64_t m_columns = 1, m_tile_rows = 1, m_band = -1, m_band_first = 0;
  std::vector<double> m_got, m_expected;
  std::vector<Sums> m_tiles;
  Sums m_all;
  double m_cross = 0, m_bias = 0, m_worst_share = -1;
  std::int64_t m_capped = 0, m_destroyed_rows = 0, m_first_nan = -1;
  CompareResult m_out;
};

} // namespace

base::Expected<CompareResult> compare_close(const CompareRequest& request) {
  return Close(request).run();
}

} // namespace ako::judge
