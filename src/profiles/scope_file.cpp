// Reading whatever holds a run's kernels.
#include "base/fs.hpp"
#include "profiles/file_kind.hpp"
#include "profiles/ncu.hpp"
#include "profiles/nsys.hpp"
#include "profiles/scope.hpp"
#include "profiles/scope_sums.hpp"
#include "profiles/torch_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ako::profiles {

using base::Expected;

namespace {

Expected<ScopeReport> timeline_report(Expected<Timeline> timeline, const char* source,
                                      const ScopeOptions& options) {
  if (!timeline) return tl::unexpected(timeline.error());
  AKO_TRY(ScopeReport report, scope_of(*timeline, options));
  report.source = source;
  return report;
}

Expected<ScopeReport> from_ncu(NcuReport ncu, const ScopeOptions& options) {
  ScopeReport report;
  report.source = k_ncu_source, report.skipped = std::move(ncu.skipped);
  std::map<std::string, std::size_t> index;
  for (const NcuKernel& kernel : ncu.kernels) {
    auto duration = kernel.get("gpu__time_duration.sum");
    if (!duration) duration = kernel.get("gpu__time_duration.avg");
    if (!duration) {
      report.skipped.push_back(
          {kernel.line, "launch " + std::to_string(kernel.id) + ": no gpu__time_duration"});
      continue;
    }
    if (report.device.empty()) report.device = kernel.device_name;
    auto [at, fresh] = index.try_emplace(kernel.name, report.kernels.size());
    if (fresh) report.kernels.emplace_back().share.name = kernel.name;
    ScopeKernel& own = report.kernels[at->second];
    const double total = *duration * double(kernel.invocations);
    KernelShare& share = own.share;
    share.shortest_ns = fresh ? *duration : std::min(share.shortest_ns, *duration);
    share.longest_ns = std::max(share.longest_ns, *duration);
    if (fresh) share.first_launch = kernel.id;
    share.launches += kernel.invocations, share.total_ns += total;
    const std::string launch = fmt::format("grid {} block {}", kernel.grid, kernel.block);
    auto shape = std::find_if(own.shapes.begin(), own.shapes.end(),
                              [&](const ScopeShape& s) { return s.launch == launch; });
    if (shape == own.shapes.end()) shape = own.shapes.insert(shape, ScopeShape{launch, "", 0, 0});
    shape->count += kernel.invocations, shape->total_ns += total;
  }
  return scope_sums(std::move(report), options);
}

Expected<ScopeReport> scope_of_stats(NsysStats stats, const ScopeOptions& options) {
  if (!stats.timeline.spans.empty()) {
    stats.timeline.skipped = std::move(stats.skipped);
    return timeline_report(std::move(stats.timeline), "nsys tables", options);
  }
  ScopeReport report;
  report.source = "nsys tables", report.skipped = std::move(stats.skipped);
  report.notes = std::move(stats.hints);
  std::map<std::string, std::size_t> index;
  for (const NsysRow& row : stats.kernels) {
    auto [at, fresh] = index.try_emplace(row.name, report.kernels.size());
    if (fresh) report.kernels.emplace_back().share.name = row.name;
    ScopeKernel& own = report.kernels[at->second];
    own.share.launches += row.count, own.share.total_ns += row.total_ns;
    if (!row.grid.empty())
      own.shapes.push_back(
          {fmt::format("grid {} block {}", row.grid, row.block), "", row.count, row.total_ns});
  }
  for (const NsysRow& row : stats.copies) report.sum.copy_ns += row.total_ns;
  for (const NsysRow& row : stats.api)
    if (row.name.find("Launch") != std::string::npos) report.sum.api_launches += row.count;
  if (report.kernels.empty() && report.notes.empty())
    report.notes.push_back("no table of kernels: export cuda_gpu_trace or cuda_gpu_kern_sum");
  return scope_sums(std::move(report), options);
}

} // namespace

Expected<ScopeReport> scope_file(const std::filesystem::path& path, ScopeOptions options) {
  if (options.file_name.empty()) options.file_name = path.stem().string();
  AKO_TRY(FileKind kind, kind_of_file(path));
  switch (kind) {
  case FileKind::sqlite: return timeline_report(read_nsys_sqlite(path), "nsys database", options);
  case FileKind::trace: return timeline_report(read_torch_trace(path), "torch trace", options);
  case FileKind::binary_report: return tl::unexpected(binary_report_error(path));
  case FileKind::text: break;
  }
  AKO_TRY(std::string text, base::read_file(path, k_most_csv));
  auto ncu = read_ncu(text, path.string());
  if (ncu) return from_ncu(std::move(*ncu), options);
  if (ncu.error().message == k_no_ncu_table)
    if (auto stats = read_nsys_csv(text, path.string()))
      return scope_of_stats(std::move(*stats), options);
  return tl::unexpected(ncu.error());
}

} // namespace ako::profiles
