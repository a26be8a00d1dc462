#include "base/parallel.hpp"
#include "inputs/codec.hpp"
#include "judge/methods.hpp"
#include "judge/ordinary.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace ako::judge {
namespace {

constexpr std::int64_t k_tile = 64;
/// Whole-tensor statistics say something from this many elements on, and only beyond this many
/// standard errors.
constexpr std::int64_t k_least_for_statistics = 256;
constexpr double k_standard_errors = 5;
/// With matched_ratio below 1 a row still counts as destroyed when this share of it is wrong.
constexpr double k_destroyed_share = 0.5;

/// Sums of squares of a region and its mismatches.
struct Sums {
  double error = 0, expected = 0;
  std::int64_t mismatches = 0, elements = 0;
  void add(const Sums& other) {
    error += other.error;
    expected += other.expected;
    mismatches += other.mismatches;
    elements += other.elements;
  }
  double relative() const {
    if (error == 0) return mismatches > 0 && elements == mismatches ? INFINITY : 0;
    return expected == 0 ? INFINITY : std::sqrt(error / expected);
  }
};

/// Quanta of the candidate's type by the exponent's bits alone: exact, and a few cycles.
class Quanta {
public:
  explicit Quanta(model::Dtype dtype) {
    const auto& n = inputs::numbers_of(dtype);
    m_floating = model::class_of(dtype) == model::DtypeClass::floating;
    if (!m_floating) return;
    m_least = std::bit_cast<std::uint64_t>(n.smallest_normal);
    m_scale = std::ldexp(1.0, 1 - n.significand_bits);
  }
  double at(double value) const {
    if (!m_floating) return 1;
    const std::uint64_t exponent = std::bit_cast<std::uint64_t>(value) & 0x7ff0000000000000u;
    return std::bit_cast<double>(std::max(exponent, m_least)) * m_scale;
  }

  std::int64_t least() const { return static_cast<std::int64_t>(m_least); }
  double scale() const { return m_scale; }

private:
  bool m_floating = true;
  std::uint64_t m_least = 0;
  double m_scale = 1;
};

class Close {
public:
  explicit Close(const CompareRequest& request)
      : m_request(request), m_tolerance(request.tolerance), m_tensor(*request.got.tensor),
        m_dtype(request.got.dtype), m_numbers(inputs::numbers_of(m_dtype)), m_quanta(m_dtype) {
    m_out.method = "close";
    m_out.elements = m_tensor.elements;
    const bool floating = model::class_of(m_dtype) == model::DtypeClass::floating;
    m_floating = floating;
    m_narrow = floating && model::bits_of(m_dtype) <= 8;
    m_subnormal_edge = floating && m_numbers.has_zero ? m_numbers.smallest_normal : 0;
    // Types with so narrow a range cancel into subnormals by honest noise.
    m_noise_hides_flush = model::bits_of(m_dtype) <= 8 || m_dtype == model::Dtype::float16;
    m_columns = m_tensor.shape.empty() ? 1 : std::max<std::int64_t>(1, m_tensor.shape.back());
    m_lines = m_tensor.shape.size() < 2 ? 1 : m_tensor.shape[m_tensor.shape.size() - 2];
    m_limits.largest = m_numbers.largest;
    m_limits.subnormal_edge = m_subnormal_edge;
    m_limits.least_exponent = m_quanta.least();
    m_limits.quantum_scale = m_quanta.scale();
    m_limits.rtol = m_tolerance.rtol;
    m_limits.cap = m_tolerance.max_error_cap.value_or(k_largest);
    if (m_lines > 1) m_tiles.resize(static_cast<std::size_t>((m_columns + k_tile - 1) / k_tile));
  }

  /// Rows [first, end) of the plan; ranges that meet at a split() give what one range gives, but
  /// for the last bits of sums.
  void run(const RowPlan& plan, std::int64_t first, std::int64_t end) {
    const auto chunk = static_cast<std::size_t>(std::min(plan.length, k_chunk));
    m_got.resize(chunk);
    m_expected.resize(chunk);
    for (std::int64_t row = first; row < end; ++row) compare_row(row * plan.length, plan.length);
    flush_tiles();
  }

  /// The first row from `row` on that no tile of 64 lines begun before reaches into.
  std::int64_t split(const RowPlan& plan, std::int64_t row) const {
    for (; row < plan.rows; ++row)
      if (m_lines == 1 || (row * plan.length / m_columns) % m_lines % k_tile == 0) return row;
    return plan.rows;
  }

  /// Adds what was found in rows behind this one's.
  void merge(const Close& next) {
    CompareResult& mine = m_out;
    const CompareResult& other = next.m_out;
    const bool fatal = mine.nonfinite.fatal() > 0, other_fatal = other.nonfinite.fatal() > 0;
    if (fatal != other_fatal ? other_fatal : !fatal && other.max_of_allowed > mine.max_of_allowed)
      mine.worst = other.worst;
    if (mine.first.element < 0) mine.first = other.first;
    if (m_first_nan < 0) m_first_nan = next.m_first_nan;
    mine.max_abs = std::max(mine.max_abs, other.max_abs);
    mine.max_rel = std::max(mine.max_rel, other.max_rel);
    mine.max_quanta = std::max(mine.max_quanta, other.max_quanta);
    mine.max_of_allowed = std::max(mine.max_of_allowed, other.max_of_allowed);
    if (is_worse_row(other.worst_row)) mine.worst_row = other.worst_row;
    if (mine.worst_tile.elements == 0 ||
        (other.worst_tile.elements > 0 && other.worst_tile.error > mine.worst_tile.error))
      mine.worst_tile = other.worst_tile;
    for (auto count : {&CompareResult::mismatches, &CompareResult::flips, &CompareResult::flushed,
                       &CompareResult::bias_count})
      mine.*count += other.*count;
    for (auto count :
         {&NonFinite::matched, &NonFinite::got_nan, &NonFinite::got_infinity,
          &NonFinite::missed_infinity, &NonFinite::missed_nan, &NonFinite::expected_nan})
      mine.nonfinite.*count += other.nonfinite.*count;
    m_all.add(next.m_all);
    m_cross += next.m_cross;
    m_bias += next.m_bias;
    m_capped += next.m_capped;
    m_destroyed_rows += next.m_destroyed_rows;
    m_flush_faults += next.m_flush_faults;
  }

  CompareResult finish() {
    conclude();
    return std::move(m_out);
  }

private:
  /// A row longer than a chunk is read twice: its magnitude comes first.
  double rms_of(std::int64_t first, std::int64_t length) {
    double squares = 0;
    std::int64_t finite = 0;
    for (std::int64_t done = 0; done < length; done += k_chunk) {
      const auto here = static_cast<std::size_t>(std::min(k_chunk, length - done));
      const std::span<double> values(m_expected.data(), here);
      read_elements(m_request.expected, first + done, values);
      for (const double value : values) {
        if (std::isfinite(value)) squares += value * value, ++finite;
      }
    }
    return finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  }

  void compare_row(std::int64_t first, std::int64_t length) {
    m_base = m_tolerance.atol +
             m_tolerance.row_factor * std::max(m_tolerance.scale, rms_of(first, length));
    Sums row;
    for (std::int64_t done = 0; done < length; done += k_chunk) {
      const std::int64_t here = std::min(k_chunk, length - done), at = first + done;
      const auto size = static_cast<std::size_t>(here);
      read_elements(m_request.got, at, {m_got.data(), size});
      if (length > k_chunk) read_elements(m_request.expected, at, {m_expected.data(), size});
      // Segments lie in one tile: they end at tile columns and at line ends.
      for (std::int64_t i = 0; i < here;) {
        const std::int64_t column = (at + i) % m_columns;
        const std::int64_t to_edge = std::min(k_tile - column % k_tile, m_columns - column);
        const std::int64_t count = std::min(to_edge, here - i);
        const Sums sums = m_narrow ? narrow_segment(at, i, count) : segment(at, i, count);
        row.add(sums);
        add_to_tile(at + i, sums);
        i += count;
      }
    }
    m_all.add(row);
    const Region region{{}, row.relative(), row.mismatches, length};
    if (is_worse_row(region)) {
      m_out.worst_row = region;
      m_out.worst_row.index = index_of(m_tensor, first);
    }
    if (static_cast<double>(row.mismatches) > k_destroyed_share * static_cast<double>(length)) {
      ++m_destroyed_rows;
    }
  }

  bool is_worse_row(const Region& row) const {
    const Region& worst = m_out.worst_row;
    return row.elements > 0 && (worst.elements == 0 || row.error > worst.error ||
                                (row.error == worst.error && row.mismatches > worst.mismatches));
  }

  /// Types of 16 bits and more: what is ordinary by vectors, the rest one by one.
  Sums segment(std::int64_t at, std::int64_t from, std::int64_t count) {
    Sums sums;
    const std::int64_t whole = m_floating ? count / k_ordinary_step * k_ordinary_step : 0;
    if (whole > 0 && add_whole(from, whole, sums)) {
      one_by_one(at, from + whole, from + count, sums);
    } else {
      one_by_one(at, from, from + count, sums);
    }
    sums.elements += count;
    return sums;
  }

  bool add_whole(std::int64_t from, std::int64_t count, Sums& sums) {
    OrdinaryLimits& l = m_limits;
    l.base = m_base;
    l.max_abs = m_out.max_abs;
    l.max_rel = m_out.max_rel;
    l.max_quanta = m_out.max_quanta;
    l.max_of_allowed = m_out.max_of_allowed;
    OrdinarySums found;
    if (!add_ordinary(m_got.data() + from, m_expected.data() + from,
                      static_cast<std::size_t>(count), l, found)) {
      return false;
    }
    sums.error += found.error;
    sums.expected += found.expected;
    m_cross += found.cross;
    if (m_tolerance.bias_limit > 0) {
      m_bias += found.bias;
      m_out.bias_count += found.bias_count;
    }
    return true;
  }

  /// Compares by multiplication; what is rare (a new maximum, a mismatch, anything not finite)
  /// leaves the loop.
  void one_by_one(std::int64_t at, std::int64_t from, std::int64_t end, Sums& sums) {
    const bool wants_bias = m_tolerance.bias_limit > 0;
    for (std::int64_t i = from; i < end; ++i) {
      const double got = m_got[static_cast<std::size_t>(i)];
      const double expected = m_expected[static_cast<std::size_t>(i)];
      const double error = got - expected, size = std::fabs(error);
      const double magnitude = std::fabs(expected);
      if (!(size <= k_largest) || magnitude > m_numbers.largest ||
          (magnitude < m_subnormal_edge && got == 0 && expected != 0)) {
        rare(at + i, got, expected, sums);
        continue;
      }
      sums.error += error * error;
      sums.expected += expected * expected;
      m_cross += got * expected;
      const double allowed = m_base + m_tolerance.rtol * magnitude;
      const double quantum = m_quanta.at(expected);
      if (size > 0) note_maxima(at + i, got, expected, size, allowed, quantum);
      if (wants_bias && size <= quantum && magnitude >= m_subnormal_edge) {
        note_bias(error, expected, quantum);
      }
      if (size > allowed || (m_tolerance.max_error_cap && size > *m_tolerance.max_error_cap)) {
        outside(at + i, got, expected, size, allowed, sums);
      }
    }
  }

  /// fp8 and fp4 are held against the correctly rounded value: differing from it at all is a flip,
  /// more than the tolerance and more than one step a mismatch.
  Sums narrow_segment(std::int64_t at, std::int64_t from, std::int64_t count) {
    Sums sums;
    for (std::int64_t i = from; i < from + count; ++i) {
      const double got = m_got[static_cast<std::size_t>(i)];
      const double expected = m_expected[static_cast<std::size_t>(i)];
      const double ideal = rounded(expected);
      const double error = got - ideal, size = std::fabs(error);
      const bool flushed = got == 0 && size > m_numbers.smallest && size < m_subnormal_edge;
      if (!(size <= k_largest) || flushed) { // one step to zero is a flip like any other
        rare(at + i, got, expected, sums);
        continue;
      }
      sums.error += error * error;
      sums.expected += ideal * ideal;
      m_cross += got * ideal;
      if (size == 0) continue;
      const double allowed = m_base + m_tolerance.rtol * std::fabs(expected);
      note_maxima(at + i, got, expected, size, allowed, m_quanta.at(ideal));
      const double step = std::min(m_quanta.at(got), m_quanta.at(ideal));
      const bool capped = m_tolerance.max_error_cap && size > *m_tolerance.max_error_cap;
      if (!capped && (size <= step || std::fabs(got - expected) <= allowed)) ++m_out.flips;
      else outside(at + i, got, expected, size, allowed, sums);
    }
    sums.elements += count;
    return sums;
  }

  /// `value` rounded to the candidate's type, by the usual addition of 1.5 * 2^52 quanta.
  double rounded(double value) const {
    if (!m_numbers.has_sign || !std::isfinite(value) || std::fabs(value) > m_numbers.largest) {
      return inputs::decode(m_dtype, inputs::encode(m_dtype, value, inputs::Overflow::saturate));
    }
    const double quantum = m_quanta.at(value), shift = 0x1.8p52 * quantum;
    return (value + shift) - shift;
  }

  void note_maxima(std::int64_t at, double got, double expected, double size, double allowed,
                   double quantum) {
    if (size > m_out.max_abs) m_out.max_abs = size;
    const double magnitude = std::fabs(expected);
    if (magnitude > 0 && size > m_out.max_rel * magnitude) m_out.max_rel = size / magnitude;
    if (size > m_out.max_quanta * quantum) m_out.max_quanta = size / quantum;
    if (size > m_out.max_of_allowed * allowed) {
      m_out.max_of_allowed = size / allowed;
      if (m_out.nonfinite.fatal() == 0) note_worst(at, got, expected, allowed);
    }
  }

  /// Only values that need rounding tell how it was done.
  void note_bias(double error, double expected, double quantum) {
    const double shift = 0x1.8p52 * quantum;
    if ((expected + shift) - shift == expected && error == 0) return;
    m_bias += (expected < 0 ? -error : error) / quantum;
    ++m_out.bias_count;
  }

  void rare(std::int64_t at, double got, double expected, Sums& sums) {
    const bool finite = std::isfinite(expected);
    // What the type cannot hold: both ways to round it are right.
    if (finite && std::fabs(expected) > m_numbers.largest && overflowed(got, expected)) return;
    if (!finite || !std::isfinite(got)) {
      if (!non_finite(at, got, expected)) ++sums.mismatches;
    } else if (got == 0 && std::fabs(expected) < m_subnormal_edge) {
      flush(at, got, expected, sums);
    } else {
      outside(at, got, expected, std::fabs(got - expected), 0, sums);
    }
  }

  bool overflowed(double got, double expected) const {
    for (const auto overflow : {inputs::Overflow::ieee, inputs::Overflow::saturate}) {
      const double lawful = inputs::decode(m_dtype, inputs::encode(m_dtype, expected, overflow));
      if (got == lawful || (std::isnan(got) && std::isnan(lawful))) return true;
    }
    return false;
  }

  /// A subnormal came back as zero.
  void flush(std::int64_t at, double got, double expected, Sums& sums) {
    sums.error += expected * expected;
    sums.expected += expected * expected;
    const double magnitude = std::fabs(expected);
    if (magnitude <= m_numbers.smallest / 2) return; // rounds to zero
    ++m_out.flushed;
    if (m_tolerance.flush_subnormals) return;
    if (m_noise_hides_flush && magnitude <= m_base) {
      m_out.flips += m_narrow;
      return;
    }
    ++m_flush_faults;
    outside(at, got, expected, magnitude, 0, sums);
  }

  void outside(std::int64_t at, double got, double expected, double size, double allowed,
               Sums& sums) {
    m_capped += m_tolerance.max_error_cap && size > *m_tolerance.max_error_cap;
    ++sums.mismatches;
    mismatch(at, got, expected, allowed);
    if (allowed == 0 && m_out.nonfinite.fatal() == 0 && m_out.max_of_allowed < INFINITY) {
      m_out.max_of_allowed = INFINITY;
      note_worst(at, got, expected, allowed);
    }
  }

  /// True: as it must be. See the table in compare.cpp.
  bool non_finite(std::int64_t at, double got, double expected) {
    NonFinite& n = m_out.nonfinite;
    const bool first_fatal = n.fatal() == 0;
    if (std::isnan(expected)) {
      if (!m_tolerance.nan_meaningful) {
        if (n.expected_nan++ == 0) m_first_nan = at;
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
    mismatch(at, got, expected, 0);
    if (first_fatal) note_worst(at, got, expected, 0);
    return false;
  }

  void mismatch(std::int64_t at, double got, double expected, double allowed) {
    ++m_out.mismatches;
    if (m_out.first.element < 0) m_out.first = {at, index_of(m_tensor, at), got, expected, allowed};
  }

  void note_worst(std::int64_t at, double got, double expected, double allowed) {
    m_out.worst = {at, index_of(m_tensor, at), got, expected, allowed};
  }

  void add_to_tile(std::int64_t at, const Sums& sums) {
    if (m_tiles.empty()) {
      // One line: tiles are its segments (a chunk's end may cut one in two).
      return finish_tile(at / m_columns, at % m_columns / k_tile, sums);
    }
    const std::int64_t line = at / m_columns;
    const std::int64_t bands = (m_lines + k_tile - 1) / k_tile;
    const std::int64_t band = line / m_lines * bands + line % m_lines / k_tile;
    if (band != m_band) {
      flush_tiles();
      m_band = band;
      m_band_first = line;
    }
    m_tiles[static_cast<std::size_t>(at % m_columns / k_tile)].add(sums);
  }

  void flush_tiles() {
    for (std::size_t t = 0; t < m_tiles.size(); ++t) {
      finish_tile(m_band_first, static_cast<std::int64_t>(t), m_tiles[t]);
      m_tiles[t] = Sums{};
    }
  }

  void finish_tile(std::int64_t line, std::int64_t tile, const Sums& sums) {
    if (sums.elements == 0) return;
    const double error = sums.relative();
    if (m_out.worst_tile.elements > 0 && error <= m_out.worst_tile.error) return;
    m_out.worst_tile = {index_of(m_tensor, line * m_columns + tile * k_tile), error,
                        sums.mismatches, sums.elements};
  }

  void conclude() {
    m_out.error_rms = m_all.error == 0 ? 0 : m_all.relative();
    if (m_all.expected > 0) m_out.slope = m_cross / m_all.expected;
    if (m_out.bias_count > 0) m_out.bias_quanta = m_bias / static_cast<double>(m_out.bias_count);
    m_out.reason = why_not();
    m_out.pass = m_out.reason.empty();
  }

  std::string why_not() {
    const NonFinite& n = m_out.nonfinite;
    if (n.expected_nan > 0) {
      m_out.reference_at_fault = true;
      return fmt::format("the reference gives NaN for {} of {} elements, the first at {}, and the "
                         "contract does not call NaN meaningful",
                         n.expected_nan, m_out.elements, place(m_first_nan));
    }
    if (n.fatal() > 0) {
      return fmt::format("{} elements are not finite where they must be or the reverse, the first "
                         "at {}: got {}, expected {}",
                         n.fatal(), place(m_out.worst.element), m_out.worst.got,
                         m_out.worst.expected);
    }
    if (m_out.mismatches > 0) {
      const double matched =
          1 - static_cast<double>(m_out.mismatches) / static_cast<double>(m_out.elements);
      if (m_capped > 0) return worst_text("beyond max_error_cap");
      if (matched < m_tolerance.matched_ratio) return worst_text("outside the tolerance");
      if (m_destroyed_rows > 0) {
        return fmt::format("{} rows are wrong in more than half of their elements, the worst at {}",
                           m_destroyed_rows, row_place());
      }
    }
    return why_not_whole();
  }

  /// What only the tensor as a whole shows.
  std::string why_not_whole() const {
    const auto elements = static_cast<double>(m_out.elements);
    if (m_narrow && static_cast<double>(m_out.flips) > m_tolerance.flip_share * elements &&
        m_out.flips > 2) {
      return fmt::format("{} of {} elements are not the rounding of the expected value; {:.0f} % "
                         "may be",
                         m_out.flips, m_out.elements, 100 * m_tolerance.flip_share);
    }
    const double slope_noise = k_standard_errors * m_out.error_rms / std::sqrt(elements);
    if (m_tolerance.slope_limit > 0 && m_all.elements >= k_least_for_statistics &&
        std::fabs(m_out.slope - 1) > m_tolerance.slope_limit + slope_noise) {
      return fmt::format("the whole is scaled by {:.4f}; within {:.4f} of 1 is allowed",
                         m_out.slope, m_tolerance.slope_limit + slope_noise);
    }
    const double bias_noise =
        k_standard_errors / std::sqrt(12.0 * static_cast<double>(m_out.bias_count));
    if (m_tolerance.bias_limit > 0 && m_out.bias_count >= k_least_for_statistics &&
        std::fabs(m_out.bias_quanta) > m_tolerance.bias_limit + bias_noise) {
      return fmt::format("the mean signed error is {:+.2f} quanta away from zero over {} elements, "
                         "{:.2f} is allowed: results are not rounded to nearest",
                         m_out.bias_quanta, m_out.bias_count, m_tolerance.bias_limit + bias_noise);
    }
    return {};
  }

  std::string place(std::int64_t element) const {
    return fmt::format("[{}]", fmt::join(index_of(m_tensor, element), ","));
  }
  std::string row_place() const {
    return fmt::format("[{}]", fmt::join(m_out.worst_row.index, ","));
  }
  std::string worst_text(const char* what) const {
    const Difference& w = m_out.worst;
    std::string text = fmt::format(
        "{} of {} elements are {}; the worst at {}: got {:.6g}, expected {:.6g}, off by {:.3g} "
        "where {:.3g} is allowed",
        m_out.mismatches, m_out.elements, what, place(w.element), w.got, w.expected,
        std::fabs(w.got - w.expected), w.allowed);
    if (m_flush_faults > 0) {
      text += fmt::format("; {} subnormals came back as zero and flush_subnormals is not declared",
                          m_flush_faults);
    }
    return text;
  }

  static constexpr std::int64_t k_chunk = k_compare_chunk;
  static constexpr double k_largest = 1.7976931348623157e308;

  const CompareRequest& m_request;
  const Tolerance& m_tolerance;
  const model::ResolvedTensor& m_tensor;
  model::Dtype m_dtype;
  const inputs::DtypeNumbers& m_numbers;
  Quanta m_quanta;
  OrdinaryLimits m_limits;
  bool m_floating = true, m_narrow = false, m_noise_hides_flush = false;
  double m_subnormal_edge = 0, m_base = 0;
  std::int64_t m_columns = 1, m_lines = 1, m_band = -1, m_band_first = 0;
  std::vector<double> m_got, m_expected;
  std::vector<Sums> m_tiles; ///< of one band; empty for tensors of one line
  Sums m_all;
  double m_cross = 0, m_bias = 0;
  std::int64_t m_capped = 0, m_destroyed_rows = 0, m_first_nan = -1, m_flush_faults = 0;
  CompareResult m_out;
};

constexpr std::int64_t k_part_elements = 1 << 20, k_most_parts = 64;

} // namespace

base::Expected<CompareResult> compare_close(const CompareRequest& request) {
  const RowPlan plan = plan_rows(*request.got.tensor);
  Close whole(request);
  // Parts are cut by size alone, so that the result does not depend on the machine.
  const std::int64_t wanted =
      std::clamp<std::int64_t>(plan.rows * plan.length / k_part_elements, 1, k_most_parts);
  std::vector<std::int64_t> cuts = {0};
  for (std::int64_t part = 1; part < wanted; ++part)
    cuts.push_back(std::max(cuts.back(), whole.split(plan, plan.rows / wanted * part)));
  cuts.push_back(plan.rows);
  std::vector<Close> behind;
  behind.reserve(static_cast<std::size_t>(wanted));
  for (std::int64_t part = 1; part < wanted; ++part) behind.emplace_back(request);
  const auto one = [&](std::size_t part) {
    (part == 0 ? whole : behind[part - 1]).run(plan, cuts[part], cuts[part + 1]);
  };
  // Measured processes stand still meanwhile: their cores are free.
  base::in_parallel(static_cast<std::size_t>(wanted), base::cores_at_start(), one);
  for (const Close& part : behind) whole.merge(part);
  return whole.finish();
}

} // namespace ako::judge
