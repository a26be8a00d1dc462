#include "loop/capture.hpp"

#include "base/fs.hpp"
#include "base/log.hpp"
#include "base/shell.hpp"
#include "loop/vendor_tool.hpp"
#include "profiles/source_page.hpp"

#include <fmt/format.h>
#include <unistd.h>

extern char** environ;

namespace ako::loop {
namespace {

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** each = environ; each && *each; ++each) out.emplace_back(*each);
  return out;
}

/// The command as somebody would type it.
std::string typed(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& word : argv) out += (out.empty() ? "" : " ") + base::shell_word(word);
  return out;
}

class Run {
public:
  Run(const profiles::NcuJob& job, const CaptureRequest& request,
      const model::CommandRunner& runner)
      : m_job(job), m_runner(runner), m_deadline(base::Deadline::after_seconds(request.seconds)),
        m_environment(profiles::job_environment(job, own_environment())) {
    for (const auto& [name, value] : request.environment) {
      std::erase_if(m_environment,
                    [&](const std::string& entry) { return entry.starts_with(name + "="); });
      m_environment.push_back(name + "=" + value);
    }
  }

  base::Expected<base::CommandResult> command(std::vector<std::string> argv, std::size_t keep) {
    base::CommandOptions options;
    options.argv = std::move(argv);
    options.env = m_environment;
    options.cwd = m_job.working_folder;
    options.deadline = m_deadline;
    options.capture_bytes = keep;
    return m_runner(options);
  }

  base::Status capture() {
    AKO_TRY(base::CommandResult result, command(profiles::capture_argv(m_job), 1 << 20));
    std::error_code ignored;
    auto log = base::read_file(m_job.log(), 16u << 20);
    return profiles::judge_capture(m_job, result, log ? *log : std::string(),
                                   base::fs::exists(m_job.report(), ignored));
  }

  base::Expected<std::string> page(profiles::NcuPage which) {
    AKO_TRY(base::CommandResult result, command(profiles::export_argv(m_job, which), 256u << 20));
    if (result.ok() && result.out_dropped == 0) return std::move(result.out);
    return base::fail(base::ErrorKind::environment, "ncu's report could not be exported",
                      {.where = m_job.report().string(),
                       .found = result.timed_out ? "no end in time"
                                                 : result.ending.text() + " " +
                                                       (result.err + result.out).substr(0, 300),
                       .allowed = {},
                       .next = "try it by hand: ncu --import FILE --csv --page raw"});
  }

private:
  const profiles::NcuJob& m_job;
  const model::CommandRunner& m_runner;
  base::Deadline m_deadline;
  std::vector<std::string> m_environment;
};

/// The raw page decides; what the others add is welcome and never fatal.
base::Status read_pages(Run& run, const profiles::DiagnoseOptions& options, Capture& out) {
  AKO_TRY(out.raw, run.page(profiles::NcuPage::raw));
  AKO_TRY(profiles::NcuReport ncu,
          profiles::read_ncu(out.raw, "ncu's raw page", profiles::RunLocale::c));
  if (auto details = run.page(profiles::NcuPage::details)) out.details = std::move(*details);
  else out.warnings.push_back("no details page: " + details.error().text());
  for (auto which : {profiles::NcuPage::source_lines, profiles::NcuPage::source_instructions})
    if (auto source = run.page(which)) out.source += *source + "\n";
  out.report.skipped = ncu.skipped;
  for (const profiles::NcuKernel& kernel : ncu.kernels)
    out.report.kernels.push_back(profiles::diagnose(kernel, options));
  out.kernels = std::move(ncu.kernels);
  if (auto lines = profiles::read_source_page(out.source, "ncu's source page"))
    profiles::add_source_lines(*lines, out.report);
  else out.source.clear();
  return {};
}

} // namespace

base::Expected<std::string> find_ncu() { return find_vendor_tool(ncu_tool()); }

base::Expected<Capture> capture_with_ncu(const std::string& ncu, const CaptureRequest& request,
                                         const model::CommandRunner& runner) {
  AKO_TRY(base::TemporaryDir folder, base::TemporaryDir::make("ako-profile"));
  profiles::NcuJob job;
  job.ncu = ncu, job.target = profiles::with_home(request.target, own_environment());
  job.kernel = request.kernel;
  job.skip = request.skip, job.count = request.count, job.from = request.from;
  job.folder = folder.path(), job.working_folder = request.working_folder;
  AKO_TRY_STATUS(base::make_dirs(job.folder / "home"));
  AKO_TRY_STATUS(base::make_dirs(job.folder / "tmp"));
  Capture out;
  out.ncu = ncu, out.command = typed(profiles::capture_argv(job));
  Run run(job, request, runner);
  AKO_TRY(base::CommandResult version, run.command({ncu, "--version"}, 1 << 16));
  out.version = profiles::version_of(version.out);
  base::progress(0, "profiling");
  AKO_TRY_STATUS(run.capture());
  profiles::DiagnoseOptions options;
  options.lane = request.lane;
  AKO_TRY_STATUS(read_pages(run, options, out));
  return out;
}

} // namespace ako::loop
