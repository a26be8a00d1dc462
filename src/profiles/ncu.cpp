#include "profiles/ncu.hpp"

#include "profiles/csv.hpp"
#include "profiles/file_kind.hpp"
#include "profiles/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <unordered_set>

namespace ako::profiles {

using base::ErrorKind;
using base::Expected;
using base::fail;

std::uint32_t MetricNames::intern(std::string_view name) {
  auto [at, fresh] =
      m_index.try_emplace(std::string(name), static_cast<std::uint32_t>(m_names.size()));
  if (fresh) m_names.emplace_back(name), m_units.emplace_back();
  return at->second;
}

std::optional<std::uint32_t> MetricNames::find(std::string_view name) const {
  auto at = m_index.find(std::string(name));
  if (at == m_index.end()) return std::nullopt;
  return at->second;
}

bool MetricNames::set_unit(std::uint32_t id, std::string_view unit) {
  if (!m_units[id]) m_units[id] = unit;
  return *m_units[id] == unit;
}

std::optional<double> NcuKernel::get(std::string_view metric) const {
  if (!names) return std::nullopt;
  auto place = names->find(metric);
  if (!place || *place >= values.size() || std::isnan(values[*place])) return std::nullopt;
  return values[*place];
}

namespace {

constexpr std::size_t k_most_skipped = 20000;

enum class Page { none, raw, details, summary };

/// Where the columns of one table stand.
struct Layout {
  Page page = Page::none;
  char separator = ',';
  bool quoted = false;
  std::size_t columns = 0;
  int id = -1, process_id = -1, process = -1, kernel = -1, block = -1, grid = -1, device = -1,
      capability = -1;
  int section = -1, metric = -1, unit = -1, value = -1;
  int rule = -1, rule_type = -1, rule_text = -1, speedup_kind = -1, speedup = -1;
  int invocations = -1, average = -1;
  std::vector<std::pair<std::size_t, std::string>> metrics; ///< raw: column and name
};

const std::unordered_map<std::string_view, int Layout::*>& known_columns() {
  static const std::unordered_map<std::string_view, int Layout::*> all = {
      {"ID", &Layout::id},
      {"Process ID", &Layout::process_id},
      {"Process Name", &Layout::process},
      {"Kernel Name", &Layout::kernel},
      {"Block Size", &Layout::block},
      {"Grid Size", &Layout::grid},
      {"Device", &Layout::device},
      {"CC", &Layout::capability},
      {"Section Name", &Layout::section},
      {"Metric Name", &Layout::metric},
      {"Metric Unit", &Layout::unit},
      {"Metric Value", &Layout::value},
      {"Rule Name", &Layout::rule},
      {"Rule Type", &Layout::rule_type},
      {"Rule Description", &Layout::rule_text},
      {"Estimated Speedup Type", &Layout::speedup_kind},
      {"Estimated Speedup", &Layout::speedup},
      {"Invocations", &Layout::invocations},
      {"Average", &Layout::average}};
  return all;
}

bool is_other_id_column(std::string_view name) {
  static const std::unordered_set<std::string_view> all = {"Host Name",
                                                           "Context",
                                                           "Stream",
                                                           "Kernel Time",
                                                           "Minimum",
                                                           "Maximum",
                                                           "Kernel Mangled Name",
                                                           "Kernel Demangled Name",
                                                           "NVTX",
                                                           "Range Name"};
  // --nvtx adds columns such as "thread Domain:Push/Pop_Range:..." of any name.
  return all.contains(name) || name.find("Domain:") != std::string_view::npos || name.empty();
}

/// A header is recognised by its set of columns; an application's look-alike lacks some.
std::optional<Layout> layout_of(const std::vector<std::string_view>& names) {
  Layout layout;
  layout.columns = names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto known = known_columns().find(names[i]);
    if (known != known_columns().end()) {
      if (layout.*(known->second) >= 0)
        return std::nullopt; // the same column twice: nobody can tell which counts
      layout.*(known->second) = static_cast<int>(i);
    } else if (!is_other_id_column(names[i])) {
      layout.metrics.emplace_back(i, std::string(names[i]));
    }
  }
  if (layout.kernel < 0) return std::nullopt;
  if (layout.id >= 0 && layout.metric >= 0 && layout.value >= 0) {
    layout.page = Page::details;
  } else if (layout.invocations >= 0 && layout.metric >= 0 && layout.average >= 0) {
    layout.page = Page::summary;
  } else if (layout.id >= 0 && layout.metric < 0) {
    bool any = std::any_of(layout.metrics.begin(), layout.metrics.end(), [](const auto& column) {
      return column.second.find("__") != std::string::npos;
    });
    if (any) layout.page = Page::raw;
  }
  if (layout.page == Page::none) return std::nullopt;
  return layout;
}

bool is_absent(std::string_view value) {
  return value.empty() || value == "n/a" || value == "N/A" || value == "no data" ||
         value == "nan" || value == "-nan" || value == "inf" || value == "-inf";
}

/// "(!) 12" and "12 (3; 4; 5)" hold 12.
std::string_view bare_value(std::string_view value) {
  if (value.starts_with("(!) ")) value.remove_prefix(4);
  if (std::size_t at = value.find(" ("); at != std::string_view::npos && value.ends_with(')'))
    value = value.substr(0, at);
  return value;
}

class Reader {
public:
  Reader(std::string_view text, const std::string& where, RunLocale locale)
      : m_scanner(text), m_where(where), m_locale(locale),
        m_names(std::make_shared<MetricNames>()) {}

  Expected<NcuReport> run() {
    while (!m_scanner.at_end()) {
      if (!find_header()) break;
      AKO_TRY_STATUS(read_table());
    }
    AKO_TRY_STATUS(judge_messages());
    AKO_TRY(DecimalMark mark, decide_format());
    convert(mark);
    return finish();
  }

private:
  struct RawRow {
    std::size_t kernel, table;
    std::vector<std::string_view> fields;
  };
  struct MetricRow {
    std::size_t kernel;
    std::int64_t line;
    std::string_view metric, unit, value;
  };
  struct RawTable {
    Layout layout;
    std::vector<std::optional<Unit>> units; ///< by column of layout.metrics
    bool has_units = false;
    std::int64_t line = 0;
  };

  void skip(std::int64_t line, std::string reason) {
    if (m_report.skipped.size() < k_most_skipped)
      m_report.skipped.push_back({line, std::move(reason)});
    else ++m_more_skipped;
  }

  void skip_text(const Record& line, const char* place) {
    std::string_view text = line.text;
    if (text.starts_with("==ERROR==") || text.starts_with("==WARNING==") ||
        text.starts_with("==PROF==")) {
      m_messages.emplace_back(text);
      skip(line.line, fmt::format("a message of ncu: {}", text.substr(0, 160)));
    } else {
      skip(line.line, text.empty() ? "empty" : fmt::format("no part of ncu's table ({})", place));
    }
  }

  bool find_header() {
    while (!m_scanner.at_end()) {
      Record line = m_scanner.next_line();
      if (line.text.find("Kernel Name") != std::string_view::npos && take_header(line)) return true;
      skip_text(line, m_tables ? "after the table" : "before the header");
    }
    return false;
  }

  bool take_header(const Record& line) {
    for (char separator : {',', ';', '\t'}) {
      if (!m_scanner.split(line.text, separator, m_fields)) continue;
      auto layout = layout_of(m_fields);
      if (!layout) continue;
      layout->separator = separator;
      layout->quoted = line.text.starts_with('"');
      m_layout = std::move(*layout);
      m_header_line = line.line;
      ++m_tables;
      return true;
    }
    return false;
  }

  base::Status read_table() {
    begin_table();
    while (!m_scanner.at_end()) {
      const CsvScanner::Place before = m_scanner.place();
      Record record = m_scanner.next_record();
      bool starts = m_layout.quoted
                        ? record.text.starts_with('"')
                        : record.text.find(m_layout.separator) != std::string_view::npos;
      if (!starts || record.text.starts_with("==")) {
        m_scanner.go_back(before);
        skip_text(m_scanner.next_line(), "the table ends here");
        return {};
      }
      if (record.end == RecordEnd::unclosed) {
        skip(record.line, "cut off: a quote is never closed");
        continue;
      }
      if (record.text.find("Kernel Name") != std::string_view::npos && take_header(record)) {
        begin_table();
        continue;
      }
      if (!m_scanner.split(record.text, m_layout.separator, m_fields)) {
        skip(record.line, "malformed quotes");
        continue;
      }
      AKO_TRY_STATUS(take_row(record));
    }
    return {};
  }

  void begin_table() {
    const Page page = m_layout.page;
    m_report.raw |= page == Page::raw, m_report.details |= page == Page::details;
    m_report.summary |= page == Page::summary;
    if (page == Page::raw) m_raw_tables.push_back({m_layout, {}, false, m_header_line});
    m_table_kernels.clear();
  }

  std::string_view field(int column) const {
    return column < 0 || static_cast<std::size_t>(column) >= m_fields.size()
               ? std::string_view()
               : m_fields[static_cast<std::size_t>(column)];
  }

  base::Status take_row(const Record& record) {
    const std::size_t count = m_fields.size();
    // Metric rows of the details page stop behind the value, with a trailing separator.
    std::size_t least = m_layout.columns;
    if (m_layout.page == Page::details) least = static_cast<std::size_t>(m_layout.value) + 1;
    if (count < least || count > m_layout.columns + (m_fields.back().empty() ? 1 : 0)) {
      skip(record.line, fmt::format("{} fields where the header has {}", count, m_layout.columns));
      return {};
    }
    if (m_layout.page == Page::raw && field(m_layout.id).empty() && field(m_layout.kernel).empty())
      return take_units(record);
    std::int64_t id = static_cast<std::int64_t>(m_report.kernels.size());
    if (m_layout.id >= 0) {
      std::string_view text = field(m_layout.id);
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
      if (error != std::errc() || end != text.data() + text.size()) {
        skip(record.line, fmt::format("'{}' is no launch id", text.substr(0, 40)));
        return {};
      }
    }
    AKO_TRY(std::size_t kernel, kernel_of(id, record));
    if (m_layout.page == Page::raw) {
      m_raw_rows.push_back({kernel, m_raw_tables.size() - 1, m_fields});
      see_raw(m_raw_rows.back());
    } else {
      take_metric(kernel, record);
    }
    return {};
  }

  base::Status take_units(const Record& record) {
    RawTable& table = m_raw_tables.back();
    if (table.has_units) {
      skip(record.line, "a second row of units");
      return {};
    }
    table.has_units = true;
    for (const auto& [column, name] : table.layout.metrics) {
      auto unit = parse_unit(m_fields[column]);
      if (!unit)
        skip(record.line, fmt::format("column {}: the unit '{}' is not known", name,
                                      m_fields[column].substr(0, 40)));
      table.units.push_back(unit);
    }
    return {};
  }

  /// The kernel that a row speaks of. Pages of the same launch add up; two tables of one page that
  /// claim the same launch cannot both be ncu's.
  Expected<std::size_t> kernel_of(std::int64_t id, const Record& record) {
    std::string key =
        fmt::format("{}\n{}", field(m_layout.process_id),
                    m_layout.id >= 0 ? std::to_string(id) : std::string(field(m_layout.kernel)));
    auto [place, fresh_here] = m_table_kernels.try_emplace(key, 0);
    if (!fresh_here) {
      if (m_layout.page == Page::raw)
        return fail(
            ErrorKind::invalid, "two rows of ncu's raw page claim the same launch",
            {m_where + ":" + std::to_string(record.line), fmt::format("launch {}", id),
             "each launch once",
             "profile again with --log-file, so that nothing else can print into the table"});
      return place->second;
    }
    std::string owner = fmt::format("{}\n{}", static_cast<int>(m_layout.page), key);
    if (!m_claimed.insert(owner).second)
      return fail(ErrorKind::invalid, "two tables of ncu's claim the same launch",
                  {m_where + ":" + std::to_string(record.line),
                   fmt::format("launch {} in a second table", id), "each launch once",
                   "profile again with --log-file, so that nothing else can print into the table"});
    auto [at, fresh] = m_kernel_index.try_emplace(key, m_report.kernels.size());
    if (fresh) {
      NcuKernel kernel;
      kernel.id = id;
      kernel.line = record.line;
      kernel.name = field(m_layout.kernel), kernel.process = field(m_layout.process);
      kernel.block = field(m_layout.block), kernel.grid = field(m_layout.grid);
      kernel.device_index = field(m_layout.device), kernel.capability = field(m_layout.capability);
      m_report.kernels.push_back(std::move(kernel));
    }
    place->second = at->second;
    return at->second;
  }

  void see_raw(const RawRow& row) {
    for (const auto& [column, name] : m_raw_tables[row.table].layout.metrics) {
      std::string_view value = bare_value(row.fields[column]);
      if (value.find_first_of(".,") != std::string_view::npos) see(value, m_header_line);
    }
  }

  void see(std::string_view value, std::int64_t line) {
    bool ambiguous = m_format.has_ambiguous();
    m_format.see(value);
    if (!ambiguous && m_format.has_ambiguous()) m_ambiguous_line = line, m_ambiguous_value = value;
  }

  void take_metric(std::size_t kernel, const Record& record) {
    std::string_view name = field(m_layout.metric);
    if (m_layout.page == Page::summary) {
      std::int64_t count = 1;
      std::string_view text = field(m_layout.invocations);
      std::from_chars(text.data(), text.data() + text.size(), count);
      m_report.kernels[kernel].invocations = count;
    }
    if (name.empty()) {
      if (field(m_layout.rule).empty()) {
        skip(record.line, "neither a metric nor a rule");
        return;
      }
      NcuRule rule{
          std::string(field(m_layout.section)),      std::string(field(m_layout.rule)),
          std::string(field(m_layout.rule_type)),    std::string(field(m_layout.rule_text)),
          std::string(field(m_layout.speedup_kind)), {}};
      // Rules format their own numbers, always with a point.
      rule.speedup_pct = parse_number(field(m_layout.speedup), DecimalMark::point);
      m_report.kernels[kernel].rules.push_back(std::move(rule));
      return;
    }
    std::string_view value =
        bare_value(field(m_layout.page == Page::summary ? m_layout.average : m_layout.value));
    m_metric_rows.push_back({kernel, record.line, name, field(m_layout.unit), value});
    see(value, record.line);
  }

  base::Status judge_messages() {
    if (!m_report.kernels.empty()) return {};
    for (const std::string& message : m_messages) {
      if (message.find("ERR_NVGPUCTRPERM") != std::string::npos)
        return fail(ErrorKind::environment,
                    "ncu was not permitted to read the performance counters",
                    {m_where, message, "",
                     "let an administrator allow counters for all users "
                     "(NVreg_RestrictProfilingToAdminUsers=0), or go on without a profile"});
      if (message.find("resource was unavailable") != std::string::npos ||
          message.find("LibraryNotLoaded") != std::string::npos)
        return fail(ErrorKind::environment, "ncu could not get hold of the performance counters",
                    {m_where, message, "",
                     "end the other profiler or monitor that holds them, then profile again"});
      if (message.find("No kernels were profiled") != std::string::npos)
        return fail(
            ErrorKind::invalid, "ncu profiled no kernel",
            {m_where, message, "at least one kernel",
             "check the kernel name and launch filters, and that the program reaches the launch"});
    }
    if (m_tables)
      return fail(ErrorKind::invalid, "ncu's table holds no whole row",
                  {m_where + ":" + std::to_string(m_header_line), "a header without rows",
                   "one row for each kernel", "profile again: the file may have been cut off"});
    return fail(ErrorKind::invalid, std::string(k_no_ncu_table),
                {m_where, m_messages.empty() ? "no header with ncu's columns" : m_messages.front(),
                 "output of ncu --csv --page raw or details",
                 "export the report with: ncu --import FILE --csv --page raw"});
  }

  Expected<DecimalMark> decide_format() {
    if (m_format.mixed())
      return fail(ErrorKind::invalid, "mixed number formats",
                  {m_where, "numbers with a decimal point beside numbers with a decimal comma",
                   "one format in a file", "export again with LC_ALL=C and --print-units base"});
    DecimalMark mark = m_format.mark();
    if (mark == DecimalMark::unknown && m_locale == RunLocale::c) mark = DecimalMark::point;
    if (mark == DecimalMark::unknown && m_format.has_ambiguous())
      return fail(ErrorKind::invalid, "ambiguous number format",
                  {m_where + ":" + std::to_string(m_ambiguous_line), std::string(m_ambiguous_value),
                   "at least one number that tells the decimal mark",
                   "export again with LC_ALL=C and say so"});
    return mark == DecimalMark::unknown ? DecimalMark::point : mark;
  }

  void store(std::size_t kernel, std::uint32_t id, double value) {
    std::vector<double>& values = m_report.kernels[kernel].values;
    if (values.size() <= id)
      values.resize(std::max<std::size_t>(id + 1, m_names->size()),
                    std::numeric_limits<double>::quiet_NaN());
    values[id] = value;
  }

  void convert(DecimalMark mark) {
    for (RawTable& table : m_raw_tables) {
      if (table.has_units) continue;
      skip(table.line, "no row of units: base units assumed");
      table.units.assign(table.layout.metrics.size(), Unit{});
    }
    std::vector<std::vector<std::uint32_t>> ids;
    for (const RawTable& table : m_raw_tables) {
      std::vector<std::uint32_t>& own = ids.emplace_back();
      for (std::size_t i = 0; i < table.layout.metrics.size(); ++i) {
        own.push_back(m_names->intern(table.layout.metrics[i].second));
        if (table.units[i]) m_names->set_unit(own.back(), table.units[i]->base);
      }
    }
    for (const RawRow& row : m_raw_rows) {
      const RawTable& table = m_raw_tables[row.table];
      for (std::size_t i = 0; i < table.layout.metrics.size(); ++i) {
        std::string_view text = bare_value(row.fields[table.layout.metrics[i].first]);
        if (!table.units[i] || is_absent(text)) continue;
        if (table.layout.metrics[i].second == "device__attribute_display_name")
          m_report.kernels[row.kernel].device_name = text;
        else if (auto value = parse_number(text, mark))
          store(row.kernel, ids[row.table][i], *value * table.units[i]->scale);
      }
    }
    for (const MetricRow& row : m_metric_rows) convert_metric(row, mark);
  }

  void convert_metric(const MetricRow& row, DecimalMark mark) {
    if (is_absent(row.value)) return skip(row.line, fmt::format("{}: no value", row.metric));
    auto value = parse_number(row.value, mark);
    if (!value) {
      // Some settings are words ("PolicySpread"); anything that looks like a number and is none was
      // damaged.
      if (row.value[0] >= '0' && row.value[0] <= '9')
        skip(row.line, fmt::format("{}: '{}' is no number", row.metric, row.value.substr(0, 40)));
      return;
    }
    auto unit = parse_unit(row.unit);
    if (!unit)
      return skip(row.line, fmt::format("{}: the unit '{}' is not known", row.metric,
                                        row.unit.substr(0, 40)));
    std::uint32_t id = m_names->intern(metric_of_label(row.metric, unit->base));
    if (!m_names->set_unit(id, unit->base))
      return skip(row.line, fmt::format("{}: in {} here and in {} elsewhere", row.metric,
                                        unit->base, m_names->unit(id)));
    store(row.kernel, id, *value * unit->scale);
  }

  Expected<NcuReport> finish() {
    for (NcuKernel& kernel : m_report.kernels) kernel.names = m_names;
    std::stable_sort(m_report.skipped.begin(), m_report.skipped.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    if (m_more_skipped)
      m_report.skipped.push_back(
          {m_report.skipped.back().line + 1, fmt::format("{} more lines", m_more_skipped)});
    return std::move(m_report);
  }

  CsvScanner m_scanner;
  std::string m_where;
  RunLocale m_locale;
  std::shared_ptr<MetricNames> m_names;
  NcuReport m_report;
  Layout m_layout;
  std::int64_t m_header_line = 0, m_more_skipped = 0, m_ambiguous_line = 0;
  std::string m_ambiguous_value;
  int m_tables = 0;
  NumberFormat m_format;
  std::vector<std::string_view> m_fields;
  std::vector<std::string> m_messages;
  std::vector<RawTable> m_raw_tables;
  std::vector<RawRow> m_raw_rows;
  std::vector<MetricRow> m_metric_rows;
  std::unordered_map<std::string, std::size_t> m_kernel_index, m_table_kernels;
  std::unordered_set<std::string> m_claimed;
};

} // namespace

Expected<NcuReport> read_ncu(std::string_view text, const std::string& where, RunLocale locale) {
  return Reader(text, where, locale).run();
}

} // namespace ako::profiles
