#include "profiles/nsys.hpp"

#include "base/sqlite.hpp"
#include "profiles/csv.hpp"
#include "profiles/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/stat.h>

namespace ako::profiles {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

enum class Table { none, kernels, copies, sizes, api, trace };

struct Columns {
  Table table = Table::none;
  std::map<std::string, std::size_t, std::less<>> at; ///< by name without the unit
  double time_scale = 1;                              ///< to ns
  std::size_t count = 0;
};

/// "Total Time (ns)" is "Total Time" in ns.
void take_column(Columns& columns, std::string_view name, std::size_t place) {
  std::size_t open = name.rfind(" (");
  if (open != std::string_view::npos && name.ends_with(')')) {
    std::string_view unit = name.substr(open + 2, name.size() - open - 3);
    auto known = parse_unit(unit);
    if (known && known->base == "ns") columns.time_scale = known->scale;
    name = name.substr(0, open);
  }
  columns.at.emplace(std::string(name), place);
}

Columns columns_of(const std::vector<std::string_view>& fields) {
  Columns columns;
  columns.count = fields.size();
  for (std::size_t i = 0; i < fields.size(); ++i) take_column(columns, fields[i], i);
  auto has = [&](const char* name) { return columns.at.contains(std::string_view(name)); };
  if (has("Start") && has("Duration") && has("Name") && has("Strm")) columns.table = Table::trace;
  else if (has("Total Time") && has("Num Calls") && has("Name")) columns.table = Table::api;
  else if (has("Total Time") && has("Instances") && has("Name")) columns.table = Table::kernels;
  else if (has("Total Time") && (has("Count") || has("Operations")) && has("Operation"))
    columns.table = Table::copies;
  else if (has("Total") && has("Count") && has("Operation")) columns.table = Table::sizes;
  return columns;
}

class StatsReader {
public:
  StatsReader(std::string_view text, std::string where)
      : m_scanner(text), m_where(std::move(where)) {}

  Expected<NsysStats> run() {
    while (!m_scanner.at_end()) {
      Record record = m_scanner.next_record();
      if (record.end == RecordEnd::unclosed || !m_scanner.split(record.text, ',', m_fields)) {
        skip(record.line, "malformed or cut off");
        continue;
      }
      if (Columns columns = columns_of(m_fields); columns.table != Table::none) {
        m_columns = std::move(columns), ++m_tables;
        continue;
      }
      if (record.text.find("does not contain CUDA kernel data") != std::string_view::npos)
        m_no_kernels = true;
      if (m_columns.table == Table::none || m_fields.size() != m_columns.count) {
        m_columns.table = record.text.empty() ? Table::none : m_columns.table;
        skip(record.line, record.text.empty()
                              ? "empty"
                              : fmt::format("no row of a table: {}", record.text.substr(0, 100)));
        continue;
      }
      row(record.line);
    }
    return finish();
  }

private:
  void skip(std::int64_t line, std::string reason) {
    if (m_stats.skipped.size() < 20000) m_stats.skipped.push_back({line, std::move(reason)});
  }
  std::string_view field(std::string_view name) const {
    auto at = m_columns.at.find(name);
    return at == m_columns.at.end() ? std::string_view() : m_fields[at->second];
  }
  double number(std::string_view name) const {
    return parse_number(field(name), DecimalMark::point).value_or(std::nan(""));
  }

  void row(std::int64_t line) {
    if (m_columns.table == Table::sizes) return skip(line, "a table of copy sizes");
    if (m_columns.table == Table::trace) return trace_row(line);
    NsysRow row;
    row.name = field(m_columns.table == Table::copies ? "Operation" : "Name");
    row.total_ns = number("Total Time") * m_columns.time_scale;
    row.mean_ns = number("Avg") * m_columns.time_scale;
    double count = number(m_columns.table == Table::api       ? "Num Calls"
                          : m_columns.table == Table::kernels ? "Instances"
                          : m_columns.at.contains("Count")    ? "Count"
                                                              : "Operations");
    row.grid = field("GridXYZ"), row.block = field("BlockXYZ");
    if (std::isnan(row.total_ns) || !(count >= 0 && count < 1e15))
      return skip(line, "a row without time or count");
    row.count = static_cast<std::int64_t>(count);
    (m_columns.table == Table::kernels ? m_stats.kernels
     : m_columns.table == Table::api   ? m_stats.api
                                       : m_stats.copies)
        .push_back(std::move(row));
  }

  void trace_row(std::int64_t line) {
    double start = number("Start") * m_columns.time_scale,
           length = number("Duration") * m_columns.time_scale;
    if (!(std::abs(start) < 2e18) || !(length >= 0 && length < 2e18))
      return skip(line, "a row without time");
    Span span;
    span.start_ns = static_cast<std::int64_t>(start),
    span.end_ns = span.start_ns + static_cast<std::int64_t>(length);
    span.name = m_stats.timeline.intern(field("Name"));
    span.activity = field("Name").starts_with("[CUDA mem")
                        ? (field("Name").find("memset") != std::string_view::npos ? Activity::set
                                                                                  : Activity::copy)
                        : Activity::kernel;
    double correlation = number("CorrId");
    if (correlation > 0 && correlation < 4e9)
      span.correlation = static_cast<std::uint32_t>(correlation);
    if (span.activity == Activity::kernel && !field("GrdX").empty())
      span.launch_size = m_stats.timeline.intern(
          fmt::format("grid {}x{}x{} block {}x{}x{}", field("GrdX"), field("GrdY"), field("GrdZ"),
                      field("BlkX"), field("BlkY"), field("BlkZ")));
    double stream = number("Strm");
    span.stream = stream > 0 && stream < 1e9 ? static_cast<std::int32_t>(stream) : 0;
    if (m_stats.timeline.device.empty()) m_stats.timeline.device = field("Device");
    m_stats.timeline.spans.push_back(span);
  }

  Expected<NsysStats> finish() {
    bool graphs = std::any_of(m_stats.api.begin(), m_stats.api.end(), [](const NsysRow& r) {
      return r.name.find("GraphLaunch") != std::string::npos;
    });
    if (m_stats.kernels.empty() && m_stats.timeline.spans.empty() && (graphs || m_no_kernels))
      m_stats.hints.push_back("graph-level trace: kernels inside CUDA graphs were recorded as one "
                              "block; trace again with --cuda-graph-trace=node");
    if (!m_tables && !m_no_kernels)
      return fail(ErrorKind::invalid, "no table of nsys stats found",
                  {m_where, "no header with nsys's columns", "output of nsys stats --format csv",
                   "export with: nsys stats --report cuda_gpu_kern_sum --format csv FILE"});
    return std::move(m_stats);
  }

  CsvScanner m_scanner;
  std::string m_where;
  std::vector<std::string_view> m_fields;
  Columns m_columns;
  int m_tables = 0;
  bool m_no_kernels = false;
  NsysStats m_stats;
};

/// Columns of a table, empty when the table is missing.
Expected<std::set<std::string>> table_columns(base::Database& db, const std::string& table) {
  std::set<std::string> all;
  AKO_TRY(base::Statement info, db.prepare("SELECT name FROM pragma_table_info('" + table + "')"));
  while (true) {
    AKO_TRY(bool row, info.step());
    if (!row) return all;
    all.insert(info.text(0));
  }
}

struct Source {
  const char* table;
  Activity activity;
  std::vector<const char*> names; ///< columns that may hold the id of the name, best first
};

/// Threads by the order in which they are met.
struct Threads {
  std::map<std::int64_t, std::int32_t> numbers;
  std::int32_t number(std::int64_t global) {
    return numbers.try_emplace(global, static_cast<std::int32_t>(numbers.size())).first->second;
  }
};

base::Status read_table(base::Database& db, const Source& source, bool strings, Timeline& timeline,
                        Threads& threads, bool& any) {
  AKO_TRY(auto columns, table_columns(db, source.table));
  if (columns.empty()) return {};
  any = true;
  if (!columns.contains("start") || !columns.contains("end")) {
    timeline.skipped.push_back(
        {0, fmt::format("table {}: no columns start and end", source.table)});
    return {};
  }
  std::string name = "NULL";
  for (const char* one : source.names)
    if (name == "NULL" && columns.contains(one)) name = one;
  auto column = [&](const char* which) {
    return columns.contains(which) ? std::string("t.") + which : std::string("0");
  };
  std::string text = name == "NULL" ? "NULL" : strings ? "s.value" : "t." + name;
  const std::string grid =
      columns.contains("gridX") && columns.contains("blockX")
          ? "printf('grid %dx%dx%d block %dx%dx%d', t.gridX, t.gridY, t.gridZ, t.blockX, t.blockY, "
            "t.blockZ)"
          : "NULL";
  std::string sql = fmt::format("SELECT t.start, t.end, {}, {}, {}, {}, {}, {} FROM {} t", text,
                                column("deviceId"), column("streamId"), column("correlationId"),
                                column("globalTid"), grid, source.table);
  if (name != "NULL" && strings) sql += fmt::format(" LEFT JOIN StringIds s ON s.id = t.{}", name);
  AKO_TRY(base::Statement rows, db.prepare(sql));
  while (true) {
    AKO_TRY(bool row, rows.step());
    if (!row) return {};
    Span span;
    if (rows.is_null(0) || rows.is_null(1)) continue;
    span.start_ns = rows.integer(0), span.end_ns = rows.integer(1);
    if (!is_lawful(span.start_ns, span.end_ns)) {
      timeline.skipped.push_back(
          {0, fmt::format("table {}: a span without lawful times", source.table)});
      continue;
    }
    span.name =
        timeline.intern(rows.is_null(2) ? std::string("[") + source.table + "]" : rows.text(2));
    span.device = static_cast<std::int32_t>(rows.integer(3)),
    span.stream = static_cast<std::int32_t>(rows.integer(4));
    span.correlation = static_cast<std::uint32_t>(rows.integer(5));
    span.activity = source.activity;
    if (source.activity == Activity::api) span.stream = threads.number(rows.integer(6));
    if (source.activity == Activity::kernel && !rows.is_null(7))
      span.launch_size = timeline.intern(rows.text(7));
    timeline.spans.push_back(span);
  }
}

/// Push-pop and start-end ranges; marks and names of threads are other types of event.
base::Status read_ranges(base::Database& db, bool strings, Timeline& timeline, Threads& threads) {
  AKO_TRY(auto columns, table_columns(db, "NVTX_EVENTS"));
  if (!columns.contains("start") || !columns.contains("end")) return {};
  const bool by_id = strings && columns.contains("textId");
  const std::string text = by_id && columns.contains("text") ? "coalesce(t.text, s.value)"
                           : by_id                           ? "s.value"
                           : columns.contains("text")        ? "t.text"
                                                             : "NULL";
  std::string sql = fmt::format("SELECT t.start, t.end, {}, {} FROM NVTX_EVENTS t", text,
                                columns.contains("globalTid") ? "t.globalTid" : "0");
  if (by_id) sql += " LEFT JOIN StringIds s ON s.id = t.textId";
  sql += " WHERE t.end IS NOT NULL";
  AKO_TRY(base::Statement rows, db.prepare(sql));
  while (true) {
    AKO_TRY(bool row, rows.step());
    if (!row || timeline.ranges.size() >= 1 << 20) return {};
    if (rows.is_null(0) || rows.is_null(2)) continue;
    Range range;
    range.start_ns = rows.integer(0), range.end_ns = rows.integer(1);
    if (!is_lawful(range.start_ns, range.end_ns)) continue;
    range.name = timeline.intern(rows.text(2)), range.line = threads.number(rows.integer(3));
    timeline.ranges.push_back(range);
  }
}

} // namespace

Expected<NsysStats> read_nsys_csv(std::string_view text, const std::string& where) {
  return StatsReader(text, where).run();
}

Expected<Timeline> read_nsys_sqlite(const std::filesystem::path& path) {
  AKO_TRY(base::Database db, base::Database::open(path, base::Database::Mode::read_only));
  const Source sources[] = {{"CUPTI_ACTIVITY_KIND_KERNEL",
                             Activity::kernel,
                             {"demangledName", "shortName", "mangledName"}},
                            {"CUPTI_ACTIVITY_KIND_MEMCPY", Activity::copy, {}},
                            {"CUPTI_ACTIVITY_KIND_MEMSET", Activity::set, {}},
                            {"CUPTI_ACTIVITY_KIND_RUNTIME", Activity::api, {"nameId"}}};
  Timeline timeline;
  bool any = false;
  AKO_TRY(auto strings, table_columns(db, "StringIds"));
  Threads threads;
  for (const Source& source : sources)
    AKO_TRY_STATUS(read_table(db, source, !strings.empty(), timeline, threads, any));
  AKO_TRY_STATUS(read_ranges(db, !strings.empty(), timeline, threads));
  if (!any)
    return fail(ErrorKind::invalid, "no CUDA activity in this database",
                {path.string(), "none of nsys's CUPTI_ACTIVITY_KIND tables",
                 "a database exported by nsys",
                 "export with: nsys export --type sqlite FILE.nsys-rep"});
  bool kernels = std::any_of(timeline.spans.begin(), timeline.spans.end(),
                             [](const Span& s) { return s.activity == Activity::kernel; });
  bool graphs = std::any_of(timeline.spans.begin(), timeline.spans.end(), [&](const Span& s) {
    return s.activity == Activity::api &&
           timeline.name(s.name).find("GraphLaunch") != std::string::npos;
  });
  if (!kernels && graphs)
    timeline.hints.push_back("graph-level trace: kernels inside CUDA graphs were recorded as one "
                             "block; trace again with --cuda-graph-trace=node");
  AKO_TRY(auto gpus, table_columns(db, "TARGET_INFO_GPU"));
  if (gpus.contains("name")) {
    AKO_TRY(base::Statement gpu, db.prepare("SELECT name FROM TARGET_INFO_GPU LIMIT 1"));
    AKO_TRY(bool row, gpu.step());
    if (row) timeline.device = gpu.text(0);
  }
  return timeline;
}

base::Status check_fresh(const std::filesystem::path& exported, std::int64_t started_unix_ns,
                         int export_exit_code) {
  if (export_exit_code != 0)
    return fail(ErrorKind::environment, "the profiler's export failed",
                {exported.string(), fmt::format("exit code {}", export_exit_code), "0",
                 "run the export by hand; a file that lies there is from another run"});
  struct stat status {};
  if (stat(exported.c_str(), &status) != 0)
    return base::fail_errno("the profiler exported no file", exported.string(), errno);
  std::int64_t written = std::int64_t(status.st_mtim.tv_sec) * 1000000000 + status.st_mtim.tv_nsec;
  if (written < started_unix_ns)
    return fail(ErrorKind::stale, "the exported file is older than the run",
                {exported.string(),
                 fmt::format("{} s older", (started_unix_ns - written) / 1000000000),
                 "written after the export began", "delete it and export again"});
  return {};
}

} // namespace ako::profiles
