// All readers of profiles: the first byte chooses one, the rest is its input. What is read is used
// as the commands use it.
#include "base/fs.hpp"
#include "profiles/backtrace.hpp"
#include "profiles/benchmarks.hpp"
#include "profiles/calls.hpp"
#include "profiles/code_report.hpp"
#include "profiles/delta.hpp"
#include "profiles/diagnose.hpp"
#include "profiles/names.hpp"
#include "profiles/ncu_run.hpp"
#include "profiles/nsys.hpp"
#include "profiles/ptx.hpp"
#include "profiles/sanitizer.hpp"
#include "profiles/sass.hpp"
#include "profiles/scope.hpp"
#include "profiles/source_page.hpp"
#include "profiles/torch_trace.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

using namespace ako;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void ncu(std::string_view text) {
  auto report = profiles::read_ncu(text, "fuzz");
  if (!report) return;
  require(!report->kernels.empty());
  model::DiagnosisReport findings;
  for (const auto& kernel : report->kernels) {
    findings.kernels.push_back(profiles::diagnose(kernel));
    for (const auto& finding : findings.kernels.back().findings) {
      require(finding.gain_bound >= 0 && finding.gain_bound < 1);
      require(!finding.id.empty());
    }
    if (findings.kernels.size() >= 50) return;
  }
  const auto delta = profiles::delta_of(findings, findings, report->kernels, report->kernels);
  require(delta.kernels.size() == findings.kernels.size() && delta.only_before.empty());
  for (const auto& kernel : delta.kernels) require(kernel.metrics.empty());
  (void)profiles::to_text(delta);
}

void timeline(const profiles::Timeline& spans) {
  auto sum = profiles::summarise(spans);
  require(sum.busy_ns <= sum.wall_ns * 1.0001 + 1);
  profiles::diagnose_timeline(spans);
  auto scope = profiles::scope_of(spans, {});
  require(scope.has_value());
  require(scope->hot.has_value() == (sum.kernels > 0));
  (void)profiles::to_text(*scope);
  (void)base::dump_json(profiles::to_json(*scope));
}

/// The database reader wants a file; most inputs end at SQLite's own checks.
void database(std::string_view bytes) {
  static auto folder = base::TemporaryDir::make("fuzz-nsys");
  if (!folder) return;
  const auto path = folder->path() / "run.sqlite";
  if (!base::write_file_atomic(path, bytes)) return;
  if (auto read = profiles::read_nsys_sqlite(path)) timeline(*read);
}

void source(std::string_view text) {
  auto page = profiles::read_source_page(text, "fuzz");
  if (!page) return;
  model::DiagnosisReport report;
  for (const auto& kernel : *page) {
    report.kernels.emplace_back().name = kernel.name;
    for (const char* id : {"uncoalesced_global_access", "memory_latency", "tail_wave"})
      report.kernels.back().findings.emplace_back().id = id;
  }
  profiles::add_source_lines(*page, report);
  for (const auto& kernel : report.kernels)
    for (const auto& finding : kernel.findings) require(finding.lines.size() <= 3);
}

void code(std::string_view text) {
  if (auto functions = profiles::read_ptx(text, "fuzz")) {
    require(profiles::diff_code((*functions)[0], (*functions)[0]).empty());
    for (const auto& function : *functions) require(function.local_bytes >= 0);
  }
  if (auto any = profiles::read_code_text(text, "fuzz"); any && *any) {
    (void)profiles::to_text(**any);
    (void)base::dump_json(profiles::to_json(**any));
  }
}

void benchmark(std::string_view text) {
  const std::string output(text);
  for (const char* how : {"/a/0/b", "sglang:output_throughput", "vllm:request_throughput",
                          "diffusion:total", "took ([0-9.]+) s"})
    if (auto number = profiles::read_number(output, how)) require(std::isfinite(*number));
  (void)profiles::require(output.substr(0, 200), 3, 2);
}

void calls(std::string_view text) {
  auto read = profiles::read_calls(text, "fuzz");
  if (!read) return;
  for (const auto& call : *read) require(call.count > 0);
  if (auto shapes = profiles::draft_shapes(*read, "", 16))
    require(shapes->covered <= shapes->calls);
}

void names(std::string_view text) {
  (void)profiles::short_name(text);
  require(!profiles::family_of(text).empty());
  (void)profiles::phase_of(text);
  (void)profiles::version_of(text);
  base::CommandResult result;
  result.ending = {true, 0, 0};
  (void)profiles::judge_capture({}, result, text, true);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 13) {
  case 0: ncu(text); break;
  case 1:
    if (auto trace = profiles::parse_torch_trace(text, "fuzz")) timeline(*trace);
    break;
  case 2:
    if (auto stats = profiles::read_nsys_csv(text, "fuzz")) timeline(stats->timeline);
    break;
  case 3: (void)profiles::read_sanitizer(text, "fuzz"); break;
  case 4:
    if (auto functions = profiles::read_sass(text, "fuzz"))
      require(profiles::diff_code((*functions)[0], (*functions)[0]).empty());
    break;
  case 5: (void)profiles::read_resources(text, "fuzz"); break;
  case 6: source(text); break;
  case 7: names(text); break;
  case 8: database(text); break;
  case 9: code(text); break;
  case 10: (void)profiles::read_backtrace(text, "fuzz"); break;
  case 11: benchmark(text); break;
  default: calls(text); break;
  }
  return 0;
}
