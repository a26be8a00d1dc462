#include "profiles/source_page.hpp"

#include "profiles/csv.hpp"
#include "profiles/numbers.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace ako::profiles {

using base::ErrorKind;

namespace {

constexpr std::string_view k_samples = "Warp Stall Sampling (All Samples)";
constexpr std::size_t k_most_rows = 200000, k_most_places = 3;

struct Header {
  std::size_t place = 0, text = 0;
  bool lines = false;
  std::vector<std::pair<std::size_t, std::string>> counters;
};

std::optional<Header> header_of(const std::vector<std::string_view>& fields) {
  Header header;
  std::optional<std::size_t> address, line, source;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string_view name = fields[i];
    if (name == "Address") address = i;
    else if (name == "Line No" || name == "Line") line = i;
    else if (name == "Source" || name == "SASS" || name == "CUDA") source = source.value_or(i);
    else if (name != "#" && !name.empty()) header.counters.emplace_back(i, std::string(name));
  }
  if (!source || (!address && !line) || header.counters.empty()) return std::nullopt;
  header.text = *source, header.lines = !address;
  header.place = address ? *address : *line;
  return header;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class SourceReader {
public:
  explicit SourceReader(std::string_view text) : m_scanner(text) {}

  std::vector<SourceKernel> run() {
    while (!m_scanner.at_end()) {
      Record record = m_scanner.next_record();
      if (record.end == RecordEnd::unclosed || !m_scanner.split(record.text, ',', m_fields) ||
          m_fields.size() < 2)
        continue;
      if (m_fields[0] == "Kernel Name") {
        m_kernel = place_of_kernel(m_fields[1]), m_file.clear(), m_header.reset();
      } else if (m_fields[0] == "File Name" || m_fields[0] == "File Path") {
        m_file = m_fields[1], m_header.reset();
      } else if (auto header = header_of(m_fields)) {
        m_header = std::move(header), m_columns = m_fields.size(), m_any = true;
      } else if (m_header && m_fields.size() >= m_columns) {
        row();
      }
    }
    return std::move(m_kernels);
  }
  bool any() const { return m_any; }

private:
  std::size_t place_of_kernel(std::string_view name) {
    for (std::size_t i = 0; i < m_kernels.size(); ++i)
      if (m_kernels[i].name == name) return i;
    m_kernels.push_back({std::string(name), {}});
    return m_kernels.size() - 1;
  }

  void row() {
    if (m_kernels.empty()) m_kernel = place_of_kernel("");
    std::vector<SourceRow>& rows = m_kernels[m_kernel].rows;
    if (rows.size() >= k_most_rows) return;
    SourceRow row;
    row.is_line = m_header->lines;
    const std::string_view place = trimmed(m_fields[m_header->place]);
    if (place.empty()) return;
    if (row.is_line && place.find_first_not_of("0123456789") != std::string_view::npos) return;
    row.place = row.is_line ? fmt::format("{}:{}", file_name(), place) : std::string(place);
    row.text = trimmed(m_fields[m_header->text]).substr(0, 200);
    for (const auto& [column, name] : m_header->counters)
      if (auto value = parse_number(m_fields[column], DecimalMark::point); value && *value != 0)
        row.counters.emplace(name, *value);
    if (!row.counters.empty()) rows.push_back(std::move(row));
  }

  std::string file_name() const {
    const std::size_t slash = m_file.rfind('/');
    std::string name = slash == std::string::npos ? m_file : m_file.substr(slash + 1);
    return name.empty() ? "line" : name;
  }

  CsvScanner m_scanner;
  std::vector<std::string_view> m_fields;
  std::vector<SourceKernel> m_kernels;
  std::size_t m_kernel = 0, m_columns = 0;
  std::string m_file;
  std::optional<Header> m_header;
  bool m_any = false;
};

/// The counters that point at a finding's cause, best first.
struct Pointer {
  std::string_view id, counter, words;
};
constexpr std::array k_pointers = {
    Pointer{"uncoalesced_global_access", "L2 Theoretical Sectors Global Excessive",
            "of the excess sectors"},
    Pointer{"shared_bank_conflicts", "L1 Wavefronts Shared Excessive", "of the excess wavefronts"},
    Pointer{"register_spills", "L2 Theoretical Sectors Local", "of the local sectors"},
    Pointer{"local_memory_indexing", "L2 Theoretical Sectors Local", "of the local sectors"},
    Pointer{"warp_divergence", "Divergent Branches", "of the divergent branches"},
    Pointer{"memory_latency", "stall_long_sb", "of the waits for memory"},
    Pointer{"memory_latency", "stall_long_scoreboard", "of the waits for memory"},
    Pointer{"barrier_stalls", "stall_barrier", "of the waits at barriers"},
    Pointer{"instruction_cache", "stall_no_inst", "of the waits for instructions"},
    Pointer{"atomic_contention", "stall_lg", "of the waits for the memory queue"},
    Pointer{"dram_bandwidth_bound", "L2 Theoretical Sectors Global", "of the sectors"},
    Pointer{"l2_bandwidth_bound", "L2 Theoretical Sectors Global", "of the sectors"},
    Pointer{"layout_conversion", "L2 Theoretical Sectors Global", "of the sectors"}};

std::vector<std::string> hottest(const std::vector<SourceRow>& rows, bool lines,
                                 std::string_view counter, std::string_view words) {
  double all = 0;
  std::vector<std::pair<double, const SourceRow*>> order;
  for (const SourceRow& row : rows) {
    if (row.is_line != lines) continue;
    auto at = row.counters.find(counter);
    if (at == row.counters.end() || !(at->second > 0)) continue;
    all += at->second;
    order.emplace_back(at->second, &row);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> out;
  for (const auto& [value, row] : order) {
    if (out.size() >= k_most_places || value < 0.05 * all) break;
    out.push_back(fmt::format("{} ({:.0f} % {}): {}", row->place, 100 * value / all, words,
                              std::string_view(row->text).substr(0, 100)));
  }
  return out;
}

std::vector<std::string> places_of(const SourceKernel& kernel, std::string_view id) {
  for (const bool lines : {true, false}) {
    for (const Pointer& pointer : k_pointers)
      if (pointer.id == id)
        if (auto found = hottest(kernel.rows, lines, pointer.counter, pointer.words);
            !found.empty())
          return found;
    if (auto found = hottest(kernel.rows, lines, k_samples, "of the stall samples"); !found.empty())
      return found;
  }
  return {};
}

} // namespace

base::Expected<std::vector<SourceKernel>> read_source_page(std::string_view text,
                                                           const std::string& where) {
  SourceReader reader(text);
  std::vector<SourceKernel> kernels = reader.run();
  if (!reader.any())
    return base::fail(ErrorKind::invalid, "no source page of ncu's found",
                      {where, "no header with Source and Address or Line No",
                       "output of ncu --csv --page source --print-source cuda or sass",
                       "capture with --section SourceCounters; lines need code compiled with "
                       "-lineinfo"});
  return kernels;
}

void add_source_lines(const std::vector<SourceKernel>& source, model::DiagnosisReport& report) {
  for (model::KernelDiagnosis& kernel : report.kernels) {
    auto same = std::find_if(source.begin(), source.end(),
                             [&](const SourceKernel& s) { return s.name == kernel.name; });
    // A page without names, or with names in another form, is the kernel's when there is one alone.
    if (same == source.end() && source.size() == 1 && report.kernels.size() == 1)
      same = source.begin();
    if (same == source.end()) continue;
    for (model::Finding& finding : kernel.findings) finding.lines = places_of(*same, finding.id);
  }
}

} // namespace ako::profiles
