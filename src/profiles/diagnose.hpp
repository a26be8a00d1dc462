// One ordered list of findings from a saved profile: what limits the kernel, how that is known,
// what could be won.
#pragma once

#include "model/profile.hpp"
#include "profiles/facts.hpp"
#include "profiles/ncu.hpp"

#include <filesystem>
#include <string>

namespace ako::profiles {

struct DiagnoseOptions {
  std::string lane;                      ///< moves of this lane only; empty: of all
  RunLocale locale = RunLocale::unknown; ///< what is known of how the file was printed
  std::string kernel;                    ///< keep kernels whose name holds this; empty: all
};

/// The findings of one launch. Causes that take work away come before causes that let the hardware
/// wait, and both before the roof itself, unless the roof is reached. No two findings claim the
/// same time without saying so.
model::KernelDiagnosis diagnose(const NcuKernel& kernel, const DiagnoseOptions& options = {});

/// A saved profile as read: its findings and, where it came from ncu, the launches behind them.
struct SavedProfile {
  model::DiagnosisReport report;
  std::vector<NcuKernel> kernels; ///< as report.kernels; empty for timelines
};
base::Expected<SavedProfile> read_profile(const std::filesystem::path& path,
                                          const DiagnoseOptions& options = {});

/// ncu CSV (raw or details), nsys CSV or sqlite, torch-profiler JSON (.json, .json.gz): told apart
/// by content. invalid: none of these, or the file does not hold what it must; a kernel filter that
/// matches nothing names the kernels there are.
base::Expected<model::DiagnosisReport> diagnose_file(const std::filesystem::path& path,
                                                     const DiagnoseOptions& options = {});

/// The report as lines for people.
std::string to_text(const model::DiagnosisReport& report);

} // namespace ako::profiles
