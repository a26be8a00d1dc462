// How Nsight Compute is called so that what it writes can be trusted, and what its complaints mean.
// Values only: who runs the commands is another matter (loop/capture.hpp).
#pragma once

#include "base/error.hpp"
#include "base/process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

/// Whose launches are profiled.
enum class ProfileFrom {
  start, ///< all that pass the filters
  marks  ///< only between the target's cuProfilerStart and cuProfilerStop
};

struct NcuJob {
  std::string ncu = "ncu";
  std::vector<std::string> target; ///< command line; it must hold no gate and no spinning kernel
  std::string kernel;              ///< part of the demangled name; empty = any
  std::int64_t skip = 0;           ///< matching launches that are let pass
  std::int64_t count = 1;          ///< launches that are profiled
  ProfileFrom from = ProfileFrom::start;
  std::filesystem::path folder; ///< private to this job: report, log, HOME and TMPDIR lie here
  std::string working_folder;   ///< of the target; empty = inherited

  std::filesystem::path report() const { return folder / "capture.ncu-rep"; }
  std::filesystem::path log() const { return folder / "ncu.log"; }
};

enum class NcuPage { raw, details, source_lines, source_instructions };

/// Replays each kernel with its data restored, caches flushed, clocks left alone, its own messages
/// in job.log(), nothing read from a configuration file.
std::vector<std::string> capture_argv(const NcuJob& job);
/// Prints one page of the report as CSV, in base units where the page has units.
std::vector<std::string> export_argv(const NcuJob& job, NcuPage page);
/// `inherited` ("K=V") with LC_ALL=C and with HOME and TMPDIR inside the job's folder: another
/// user's lock or configuration is not met there. The target gets its HOME back: see with_home.
std::vector<std::string> job_environment(const NcuJob& job,
                                         const std::vector<std::string>& inherited);

/// The command with the HOME that `inherited` holds, for a target whose caches and packages lie
/// there.
std::vector<std::string> with_home(const std::vector<std::string>& target,
                                   const std::vector<std::string>& inherited);

/// "2025.3.1.0" of `ncu --version`; empty when there is none in the text.
std::string version_of(std::string_view printed);

/// The one cause behind a capture that failed, with its remedy; ok when it did not. `log` is the
/// content of job.log(). environment: the counters are refused, held elsewhere, locked, or ncu
/// cannot work here. invalid: no kernel, or none that matches. timeout: it did not end.
base::Status judge_capture(const NcuJob& job, const base::CommandResult& result,
                           std::string_view log, bool report_exists);

} // namespace ako::profiles
