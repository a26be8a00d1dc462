// Nsight Compute's CSV pages `raw` and `details`, 2022 to 2026, read by the names in the header.
#pragma once

#include "base/error.hpp"
#include "model/profile.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ako::profiles {

/// The metrics of one file: each name once, with the base unit its values are kept in.
class MetricNames {
public:
  std::uint32_t intern(std::string_view name);
  std::optional<std::uint32_t> find(std::string_view name) const;
  std::size_t size() const { return m_names.size(); }
  const std::string& name(std::uint32_t id) const { return m_names[id]; }
  std::string unit(std::uint32_t id) const { return m_units[id].value_or(""); }
  /// False when the metric already has another base unit.
  bool set_unit(std::uint32_t id, std::string_view unit);

private:
  std::vector<std::string> m_names;
  std::vector<std::optional<std::string>> m_units;
  std::unordered_map<std::string, std::uint32_t> m_index;
};

/// One of ncu's own rules.
struct NcuRule {
  std::string section, name, type, text;
  std::string speedup_kind; ///< "", "local" or "global"
  std::optional<double> speedup_pct;
};

struct NcuKernel {
  std::int64_t id = 0;
  std::string name, process, device_index, capability; ///< capability "9.0", or empty
  std::string block, grid;                             ///< as printed
  std::string device_name;                             ///< where the report holds it
  std::int64_t invocations = 1;                        ///< above 1 in per-kernel summaries
  std::int64_t line = 0;
  std::shared_ptr<const MetricNames> names;
  std::vector<double> values; ///< by the id of the name; NaN = absent
  std::vector<NcuRule> rules;

  /// In base units: ns, byte, byte/s, hz, %.
  std::optional<double> get(std::string_view metric) const;
};

struct NcuReport {
  std::vector<NcuKernel> kernels;
  std::vector<model::SkippedLine> skipped;
  bool raw = false, details = false, summary = false; ///< which pages were found
};

/// What is known of the run that printed the file.
enum class RunLocale {
  unknown,
  c ///< ncu was started with LC_ALL=C: a comma only separates thousands
};

/// Finds ncu's tables among whatever else stands in the text. Every line that is no part of a table
/// is in `skipped`. invalid: no table, no whole row, numbers in an ambiguous or in mixed formats,
/// two tables that claim the same launch. environment: ncu's own messages say that the counters
/// could not be read.
base::Expected<NcuReport> read_ncu(std::string_view text, const std::string& where,
                                   RunLocale locale = RunLocale::unknown);

/// The metric that a label of the details page stands for, by label and base unit; the label itself
/// when it is not known.
std::string_view metric_of_label(std::string_view label, std::string_view base_unit);

} // namespace ako::profiles
