#include "base/fs.hpp"
#include "profiles/diagnose.hpp"
#include "profiles/file_kind.hpp"
#include "profiles/nsys.hpp"
#include "profiles/torch_trace.hpp"

#include <fmt/format.h>

namespace ako::profiles {

using base::Expected;
using model::DiagnosisReport;

namespace {

DiagnosisReport diagnosis_of_stats(NsysStats stats, std::string_view lane) {
  if (!stats.timeline.spans.empty()) {
    stats.timeline.skipped = std::move(stats.skipped);
    return diagnose_timeline(stats.timeline, lane);
  }
  DiagnosisReport report;
  for (const NsysRow& row : stats.kernels) {
    model::KernelDiagnosis kernel;
    kernel.name = row.name, kernel.duration_ns = row.total_ns;
    report.kernels.push_back(std::move(kernel));
  }
  report.skipped = std::move(stats.skipped);
  for (const std::string& hint : stats.hints) report.skipped.push_back({0, hint});
  return report;
}

Expected<DiagnosisReport> from_timeline(Expected<Timeline> timeline, std::string_view lane) {
  if (!timeline) return tl::unexpected(timeline.error());
  for (const std::string& hint : timeline->hints) timeline->skipped.push_back({0, hint});
  return diagnose_timeline(*timeline, lane);
}

Expected<SavedProfile> from_text(const std::filesystem::path& path,
                                 const DiagnoseOptions& options) {
  AKO_TRY(std::string text, base::read_file(path, k_most_csv));
  auto ncu = read_ncu(text, path.string(), options.locale);
  if (ncu) {
    SavedProfile saved;
    saved.report.skipped = std::move(ncu->skipped);
    for (NcuKernel& kernel : ncu->kernels) {
      if (!options.kernel.empty() && kernel.name.find(options.kernel) == std::string::npos)
        continue;
      saved.report.kernels.push_back(diagnose(kernel, options));
      saved.kernels.push_back(kernel);
    }
    if (!saved.report.kernels.empty()) return saved;
    std::string names;
    for (const NcuKernel& kernel : ncu->kernels)
      if (names.size() < 400) names += (names.empty() ? "" : ", ") + kernel.name;
    return base::fail(base::ErrorKind::invalid, "the profile holds another kernel",
                      {path.string(), names, options.kernel,
                       "profile the kernel that is meant, or name one of these"});
  }
  if (ncu.error().message == k_no_ncu_table)
    if (auto stats = read_nsys_csv(text, path.string()))
      return SavedProfile{diagnosis_of_stats(std::move(*stats), options.lane), {}};
  return tl::unexpected(ncu.error());
}

Expected<SavedProfile> without_launches(Expected<DiagnosisReport> report) {
  if (!report) return tl::unexpected(report.error());
  return SavedProfile{std::move(*report), {}};
}

} // namespace

Expected<SavedProfile> read_profile(const std::filesystem::path& path,
                                    const DiagnoseOptions& options) {
  AKO_TRY(FileKind kind, kind_of_file(path));
  switch (kind) {
  case FileKind::sqlite:
    return without_launches(from_timeline(read_nsys_sqlite(path), options.lane));
  case FileKind::trace:
    return without_launches(from_timeline(read_torch_trace(path), options.lane));
  case FileKind::binary_report: return tl::unexpected(binary_report_error(path));
  case FileKind::text: break;
  }
  return from_text(path, options);
}

Expected<DiagnosisReport> diagnose_file(const std::filesystem::path& path,
                                        const DiagnoseOptions& options) {
  AKO_TRY(SavedProfile saved, read_profile(path, options));
  return std::move(saved.report);
}

std::string to_text(const DiagnosisReport& report) {
  std::string out;
  for (const model::KernelDiagnosis& kernel : report.kernels) {
    out +=
        fmt::format("{}  {}\n", kernel.name,
                    kernel.duration_ns ? fmt::format("{:.1f} us", *kernel.duration_ns / 1e3) : "");
    if (kernel.at_ceiling && !kernel.roof.empty())
      out += kernel.done ? fmt::format("  done: at its ceiling, {:.0f} % of the {} roof\n",
                                       *kernel.at_ceiling * 100, kernel.roof)
                         : fmt::format("  at {:.0f} % of the {} roof\n", *kernel.at_ceiling * 100,
                                       kernel.roof);
    for (const model::Finding& finding : kernel.findings) {
      out += fmt::format("  {}. {} ({}): at most {:.0f} % ({}), confidence {:.2f}\n", finding.rank,
                         finding.id, finding.kind, finding.gain_bound * 100, finding.gain_basis,
                         finding.confidence);
      for (const auto& item : finding.evidence)
        out +=
            fmt::format("       {} = {:.4g} {}{}\n", item.metric, item.value, item.unit,
                        item.threshold ? fmt::format(" (threshold {:.4g})", *item.threshold) : "");
      for (const auto& line : finding.lines) out += "       at: " + line + "\n";
      for (const auto& against : finding.against) out += "       against: " + against + "\n";
      for (const auto& move : finding.moves)
        out += fmt::format("       try: {}{} [{}]\n", move.lane.empty() ? "" : move.lane + ": ",
                           move.text, move.guide);
    }
  }
  if (!report.skipped.empty()) out += fmt::format("{} lines skipped\n", report.skipped.size());
  return out;
}

} // namespace ako::profiles
