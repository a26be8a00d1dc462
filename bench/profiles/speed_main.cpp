// bench_profiles_speed CAPTURE.raw.csv: times reading a 20 MB ncu CSV of 500 kernels and ranking a
// 300 MB torch trace. Fails when a bound is missed (1 s; 5 s and 200 MB) or when the work was not
// done.
#include "base/fs.hpp"
#include "profiles/diagnose.hpp"
#include "profiles/torch_trace.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <sys/resource.h>

using namespace ako;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu() { return double(std::clock()) / CLOCKS_PER_SEC; }

double resident_mb() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return double(use.ru_maxrss) / 1024;
}

bool write_trace(const std::filesystem::path& path, std::size_t bytes) {
  std::ofstream file(path);
  file << "{\"schemaVersion\":1,\"traceEvents\":[\n";
  std::size_t written = 0;
  for (long i = 0; written < bytes; ++i) {
    std::string event =
        fmt::format("{}{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":\"void kernel_{}<float, 128>(float "
                    "const*, float*, int)\",\"pid\":0,\"tid\":7,\"ts\":{}.{:03},\"dur\":{}.5,"
                    "\"args\":{{\"External "
                    "id\":{},\"device\":0,\"context\":1,\"stream\":7,\"correlation\":{},"
                    "\"registers per thread\":32,\"grid\":[{},1,1],"
                    "\"block\":[256,1,1],\"est. achieved occupancy %\":62}}}}",
                    i ? ",\n" : "", i % 3 ? "kernel" : "cpu_op", i % 40, 1700000000000000L + i * 20,
                    i % 1000, 5 + i % 9, i, i, i % 4096);
    file << event;
    written += event.size();
  }
  file << "\n]}\n";
  return bool(file.flush());
}

/// `rows` launches from a capture of one. Real rows are 12 KB long: the metrics are repeated under
/// other names until the text has `bytes`.
std::string widened(const std::string& capture, int rows, std::size_t bytes) {
  std::size_t first = capture.find('\n'), second = capture.find('\n', first + 1),
              third = capture.find('\n', second + 1);
  std::string header = capture.substr(0, first),
              units = capture.substr(first + 1, second - first - 1);
  std::string row = capture.substr(second + 1, third - second - 1);
  // Eleven id columns come first: empty in the row of units, and ending behind the capability
  // elsewhere.
  const std::string names = header.substr(header.find("\"CC\"") + 4),
                    more_units = units.substr(11 * 3 - 1);
  const std::string values = row.substr(row.find("\"9.0\"") + 5);
  for (char copy = 'a'; copy <= 'z' && row.size() * std::size_t(rows) < bytes; ++copy) {
    std::string renamed = names;
    for (std::size_t i = 0; (i = renamed.find("__", i)) != std::string::npos; i += 3)
      renamed.insert(i, 1, copy);
    header += renamed, units += more_units, row += values;
  }
  std::string csv = header + "\n" + units + "\n";
  std::size_t id = row.find('"', 1);
  for (int i = 0; i < rows; ++i) csv += "\"" + std::to_string(i) + row.substr(id) + "\n";
  return csv;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: bench_profiles_speed CAPTURE.raw.csv\n"), 2;
  auto folder = base::TemporaryDir::make("bench-profiles");
  if (!folder) return std::fprintf(stderr, "%s\n", folder.error().text().c_str()), 3;
  // The trace first: its peak of memory is the process's.
  auto path = folder->path() / "trace.json";
  if (!write_trace(path, std::size_t(300) << 20)) return 3;
  double start = now(), used = cpu();
  auto timeline = profiles::read_torch_trace(path);
  if (!timeline) return std::fprintf(stderr, "%s\n", timeline.error().text().c_str()), 1;
  auto summary = profiles::summarise(*timeline);
  double trace_s = now() - start, trace_cpu = cpu() - used, mb = resident_mb();
  std::printf("trace of 300 MB: %.2f s (%.2f s of processor time), %.0f MB resident, %lld kernels, "
              "%zu names\n",
              trace_s, trace_cpu, mb, (long long)summary.kernels, summary.ranking.size());

  auto text = base::read_file(argv[1]);
  if (!text) return std::fprintf(stderr, "%s\n", text.error().text().c_str()), 2;
  std::string csv = widened(*text, 500, 20000000);
  start = now(), used = cpu();
  auto report = profiles::read_ncu(csv, "bench");
  std::size_t findings = 0, kernels = 0;
  if (report)
    for (const auto& kernel : report->kernels)
      findings += profiles::diagnose(kernel).findings.size(), ++kernels;
  double ncu_s = now() - start, ncu_cpu = cpu() - used, scaled = ncu_s * 20e6 / double(csv.size());
  std::printf(
      "ncu CSV of %.1f MB, %zu kernels: %.2f s (%.2f s of processor time), %.2f s for 20 MB\n",
      double(csv.size()) / 1e6, kernels, ncu_s, ncu_cpu, scaled);
  bool done =
      kernels == 500 && findings >= 500 && summary.kernels > 100000 && summary.ranking.size() == 40;
  bool fast = trace_s <= 5 && mb <= 200 && ncu_s <= 1;
  std::printf("%s\n", !done  ? "the work was not done"
                      : fast ? "within the bounds"
                             : "a bound is missed");
  return done && fast ? 0 : 1;
}
