#include "profiles/ncu_run.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::profiles {

using base::ErrorKind;
using base::fail;
using base::Status;

namespace {

/// The text as a regular expression that matches it and nothing else.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// The first line that holds one of the signs, without what stands around it.
std::string line_with(std::string_view text, std::initializer_list<std::string_view> signs) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::string_view sign : signs)
      if (line.find(sign) != std::string_view::npos) return std::string(line.substr(0, 300));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

/// The program itself: what follows `env NAME=VALUE ...`.
std::string program_of(const std::vector<std::string>& target) {
  std::size_t at = 0;
  if (at < target.size() && target[at] == "env")
    for (++at; at < target.size() && target[at].find('=') != std::string::npos;) ++at;
  return at < target.size() ? target[at] : std::string();
}

/// ncu's line and the last thing that the program itself said, if it said anything.
std::string with_last_words(const std::string& line, const base::CommandResult& result) {
  std::string last;
  for (const std::string* text : {&result.out, &result.err})
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t end = std::min(text->find('\n', at), text->size());
      const std::string here = text->substr(at, end - at);
      if (!here.empty() && !here.starts_with("==")) last = here.substr(0, 300);
      at = end + 1;
    }
  return last.empty() ? line : fmt::format("{} It said: {}", line, last);
}

/// A complaint of ncu's that stands for a machine on which nothing can be counted.
struct Refusal {
  std::vector<std::string_view> signs;
  const char *message, *next;
};

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all = {
      {{"ERR_NVGPUCTRPERM", "does not have permission to access"},
       "ncu was not permitted to read the performance counters",
       "let an administrator allow counters to all users (driver option "
       "NVreg_RestrictProfilingToAdminUsers=0), give the container CAP_SYS_ADMIN, or go on without "
       "a profile: ako infers from the compiler's report and measured times"},
      {{"driver resource was unavailable", "resource was unavailable", "being used by another"},
       "the performance counters are held by another program",
       "end the other profiler or the monitor that counts (such as DCGM's profiling metrics), or "
       "go on without a profile"},
      {{"InterprocessLockFailed", "nsight-compute-lock", "Failed to obtain lock"},
       "another user's lock keeps ncu away",
       "wait for the other run to end, or ask its owner; ako removes nobody's files"},
      {{"ERR_NVCMPDRIVER", "Cuda driver is not compatible", "driver is not compatible",
        "LibraryNotLoaded"},
       "this ncu does not fit the driver",
       "install an Nsight Compute as new as the driver, or name another with AKO_NCU"},
      {{"Profiling is not supported on", "is not supported on this device",
        "not supported on device"},
       "ncu does not profile this device",
       "Nsight Compute needs compute capability 7.0 or higher, a whole device, or a MIG slice that "
       "owns its counters"}};
  return all;
}

Status judge_refusals(const NcuJob& job, std::string_view all) {
  for (const Refusal& refusal : refusals())
    for (std::string_view sign : refusal.signs)
      if (std::string line = line_with(all, {sign}); !line.empty())
        return fail(ErrorKind::environment, refusal.message,
                    {.where = job.ncu, .found = line, .allowed = {}, .next = refusal.next});
  return {};
}

Status judge_end(const NcuJob& job, const base::CommandResult& result, std::string_view all) {
  if (result.timed_out)
    return fail(ErrorKind::timeout, "ncu did not end in time",
                {.where = job.ncu,
                 .found = fmt::format("{:.0f} s", double(result.wall_ns) / 1e9),
                 .allowed = {},
                 .next = "a program that waits for a gate or spins cannot be replayed; else give "
                         "more time with --seconds"});
  const std::string line = line_with(all, {"==ERROR=="});
  if (line.find("error code") != std::string::npos || line.find("crash") != std::string::npos)
    return fail(ErrorKind::invalid, "the program that was profiled failed",
                {.where = program_of(job.target),
                 .found = with_last_words(line, result),
                 .allowed = "a program that ends with 0 by itself",
                 .next = "run it without ncu first"});
  if (!result.ok())
    return fail(ErrorKind::environment, "ncu failed",
                {.where = job.ncu,
                 .found = line.empty() ? result.ending.text() : line,
                 .allowed = {},
                 .next = "run the command by hand: it is in the record of this capture"});
  return {};
}

} // namespace

std::vector<std::string> capture_argv(const NcuJob& job) {
  std::vector<std::string> argv = {job.ncu,   "--config-file",   "off",    "--target-processes",
                                   "all",     "--replay-mode",   "kernel", "--cache-control",
                                   "all",     "--clock-control", "none",   "--set",
                                   "detailed"};
  for (const char* section : {"SchedulerStats", "WarpStateStats", "SourceCounters",
                              "InstructionStats", "MemoryWorkloadAnalysis_Tables"})
    argv.insert(argv.end(), {"--section", section});
  argv.insert(argv.end(), {"--import-source", "yes"});
  if (job.from == ProfileFrom::marks) argv.insert(argv.end(), {"--profile-from-start", "off"});
  if (!job.kernel.empty())
    argv.insert(argv.end(), {"--kernel-name-base", "demangled", "--kernel-name",
                             "regex:" + escaped(job.kernel)});
  argv.insert(argv.end(), {"--launch-skip", std::to_string(job.skip), "--launch-count",
                           std::to_string(job.count), "--force-overwrite", "--export",
                           job.report().string(), "--log-file", job.log().string()});
  argv.insert(argv.end(), job.target.begin(), job.target.end());
  return argv;
}

std::vector<std::string> export_argv(const NcuJob& job, NcuPage page) {
  std::vector<std::string> argv = {
      job.ncu, "--config-file", "off", "--import", job.report().string(), "--csv", "--page"};
  switch (page) {
  case NcuPage::raw: argv.insert(argv.end(), {"raw", "--print-units", "base"}); break;
  case NcuPage::details: argv.insert(argv.end(), {"details", "--print-units", "base"}); break;
  case NcuPage::source_lines: argv.insert(argv.end(), {"source", "--print-source", "cuda"}); break;
  case NcuPage::source_instructions:
    argv.insert(argv.end(), {"source", "--print-source", "sass"});
    break;
  }
  return argv;
}

std::vector<std::string> job_environment(const NcuJob& job,
                                         const std::vector<std::string>& inherited) {
  std::vector<std::string> out;
  for (const std::string& each : inherited) {
    const std::string_view key = std::string_view(each).substr(0, each.find('='));
    // LANG and LC_* would print numbers in a locale's form; these names choose folders.
    if (key != "LANG" && key != "LANGUAGE" && !key.starts_with("LC_") && key != "HOME" &&
        key != "TMPDIR")
      out.push_back(each);
  }
  out.push_back("LC_ALL=C");
  out.push_back("HOME=" + (job.folder / "home").string());
  out.push_back("TMPDIR=" + (job.folder / "tmp").string());
  return out;
}

std::vector<std::string> with_home(const std::vector<std::string>& target,
                                   const std::vector<std::string>& inherited) {
  for (const std::string& each : inherited) {
    if (!each.starts_with("HOME=")) continue;
    std::vector<std::string> argv = {"env", each};
    argv.insert(argv.end(), target.begin(), target.end());
    return argv;
  }
  return target;
}

std::string version_of(std::string_view printed) {
  const std::size_t at = printed.find("Version ");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = printed.substr(at + 8);
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

Status judge_capture(const NcuJob& job, const base::CommandResult& result, std::string_view log,
                     bool report_exists) {
  const std::string all = std::string(log) + "\n" + result.out + "\n" + result.err;
  // Some versions end with 0 although nothing was counted: the words decide, then the exit code.
  AKO_TRY_STATUS(judge_refusals(job, all));
  AKO_TRY_STATUS(judge_end(job, result, all));
  if (std::string line = line_with(all, {"No kernels were profiled"}); !line.empty())
    return fail(ErrorKind::invalid,
                job.kernel.empty() ? "the program launched no kernel that ncu saw"
                                   : "no launch matches the kernel's name",
                {.where = job.kernel.empty() ? std::string("ncu") : "--kernel " + job.kernel,
                 .found = line,
                 .allowed = {},
                 .next = "look at the names first: ako profile without --kernel; count launches "
                         "from 0 with --launch"});
  if (!report_exists)
    return fail(ErrorKind::environment, "ncu ended without writing its report",
                {.where = job.report().string(),
                 .found = line_with(all, {"==ERROR==", "==WARNING=="}),
                 .allowed = {},
                 .next = "look at ncu's log; is the disk full?"});
  return {};
}

} // namespace ako::profiles
