#include "loop/faults.hpp"

#include "base/fs.hpp"
#include "base/log.hpp"
#include "base/shell.hpp"
#include "loop/interrupt.hpp"
#include "loop/vendor_tool.hpp"
#include "model/device.hpp"

#include <algorithm>
#include <fmt/format.h>

extern char** environ;

namespace ako::loop {
namespace {

using profiles::FaultTool;

constexpr std::string_view k_sanitizer = "compute-sanitizer", k_debugger = "cuda-gdb";

std::string bare_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

/// Whether a worker's end is one that a device's or the host's memory may have caused.
bool is_memory_fault(const base::Json& data) {
  const std::string failure = base::get_or<std::string>(data, "failure", "");
  if (failure == "crashed") return true;
  if (failure != "returned_error") return false;
  const base::Json detail = base::get_or<base::Json>(data, "detail", base::Json::object());
  const auto code = detail.is_object() ? base::get_or<std::int64_t>(detail, "code", 0) : 0;
  const auto trouble = model::launch_trouble(static_cast<int>(code));
  return trouble && trouble->sticky;
}

std::string at_line(const SourcePlace& place) {
  return place.place.empty() ? std::string() : place.place + ": ";
}

model::Evidence of_sanitizer(const profiles::SanitizerFinding& finding, FaultTool tool,
                             const FaultRequest& request) {
  const SourcePlace place = place_in(*request.sources, finding.file, finding.line);
  std::string text = fmt::format("{} ({}): {}{}: {}", k_sanitizer, profiles::to_string(tool),
                                 at_line(place), profiles::to_string(finding.kind), finding.text);
  if (!finding.address_text.empty()) text += "; " + finding.address_text;
  if (!finding.function.empty()) text += "; in " + finding.function;
  if (!finding.thread.empty())
    text += fmt::format(", thread {} of block {}", finding.thread, finding.block);
  if (finding.times > 1) text += fmt::format(", {} times", finding.times);
  if (!place.line.empty()) text += "; `" + place.line + "`";
  return {std::string(k_sanitizer),
          std::move(text),
          {{"tool", profiles::to_string(tool)},
           {"kind", profiles::to_string(finding.kind)},
           {"place", place.place},
           {"line", place.line},
           {"function", finding.function},
           {"thread", finding.thread},
           {"block", finding.block},
           {"times", finding.times},
           {"at", request.at}},
          false};
}

/// The first frame that lies in the candidate's sources; the innermost else.
std::size_t frame_of_interest(const profiles::Backtrace& trace, const model::Sources& sources) {
  for (std::size_t i = 0; i < trace.frames.size(); ++i)
    if (!place_in(sources, trace.frames[i].file, trace.frames[i].line).line.empty()) return i;
  return 0;
}

model::Evidence of_debugger(const profiles::Backtrace& trace, const FaultRequest& request) {
  SourcePlace place = place_in(*request.sources, trace.trigger_file, trace.trigger_line);
  base::Json frames = base::Json::array();
  for (const auto& frame : trace.frames)
    frames.push_back({{"function", frame.function},
                      {"place", place_in(*request.sources, frame.file, frame.line).place}});
  std::string function;
  if (!trace.frames.empty()) {
    const auto& frame = trace.frames[frame_of_interest(trace, *request.sources)];
    function = frame.function;
    if (place.place.empty()) place = place_in(*request.sources, frame.file, frame.line);
  }
  std::string text = fmt::format("{}: {}{}", k_debugger, at_line(place), trace.signal);
  if (!trace.text.empty()) text += ", " + trace.text;
  if (!trace.address.empty()) text += " at " + trace.address;
  if (!function.empty()) text += "; in " + function;
  if (!trace.thread.empty())
    text += fmt::format(", thread {} of block {}", trace.thread, trace.block);
  if (!place.line.empty()) text += "; `" + place.line + "`";
  return {std::string(k_debugger),
          std::move(text),
          {{"signal", trace.signal},
           {"place", place.place},
           {"line", place.line},
           {"thread", trace.thread},
           {"block", trace.block},
           {"frames", std::move(frames)},
           {"at", request.at}},
          false};
}

class Look {
public:
  Look(const FaultRequest& request, const model::CommandRunner& runner)
      : m_request(request), m_runner(runner) {
    for (char** each = environ; each && *each; ++each) m_environment.emplace_back(*each);
    for (const auto& [name, value] : request.environment) {
      std::erase_if(m_environment,
                    [&](const std::string& entry) { return entry.starts_with(name + "="); });
      m_environment.push_back(name + "=" + value);
    }
  }

  FaultLook run() {
    for (const FaultTool tool : m_request.tools) {
      if (!m_out.evidence.empty() || interrupted()) break;
      if (auto looked = with(tool); !looked) m_out.warnings.push_back(looked.error().text());
    }
    if (m_out.evidence.empty() && !m_clean.empty())
      m_out.warnings.push_back(
          fmt::format("{} found nothing in one plain launch at {}", m_clean, m_request.at));
    return std::move(m_out);
  }

private:
  /// Several tools of one program: that it is missing is said once.
  base::Expected<std::string> program_of(FaultTool tool) {
    const VendorTool& wanted = tool == FaultTool::debugger ? debugger_tool() : sanitizer_tool();
    return find_vendor_tool(wanted);
  }

  base::Status with(FaultTool tool) {
    profiles::FaultJob job;
    job.tool = tool, job.target = m_request.target;
    auto program = program_of(tool);
    if (!program) {
      const bool told =
          std::exchange(tool == FaultTool::debugger ? m_no_debugger : m_no_sanitizer, true);
      return told ? base::Status{} : tl::unexpected(program.error());
    }
    job.program = *program;
    AKO_TRY(base::TemporaryDir folder, base::TemporaryDir::make("ako-fault"));
    job.folder = folder.path();
    base::progress(0, fmt::format("looking for the fault with {}", profiles::to_string(tool)));
    base::CommandOptions options;
    options.argv = profiles::fault_argv(job), options.env = m_environment;
    options.cwd = m_request.working_folder;
    options.deadline = base::Deadline::after_seconds(m_request.seconds);
    options.capture_bytes = 4u << 20;
    options.stop = [] { return interrupted(); };
    AKO_TRY(base::CommandResult result, m_runner(options));
    auto log = base::read_file(job.log(), 16u << 20);
    const std::string text = log ? *log : std::string();
    const std::string said(profiles::said_by(job, result, text));
    if (!said.empty())
      m_out.pages.push_back({std::string(profiles::to_string(tool)),
                             "$ " + typed(options.argv) + "\n" + said.substr(0, 1u << 20)});
    AKO_TRY_STATUS(profiles::judge_fault_run(job, result, said));
    return tool == FaultTool::debugger ? read_trace(said, job) : read_report(said, job);
  }

  base::Status read_report(const std::string& said, const profiles::FaultJob& job) {
    AKO_TRY(profiles::SanitizerReport report, profiles::read_sanitizer(said, job.program));
    constexpr std::size_t k_most = 4;
    for (const auto& finding : report.findings)
      // A call that fails because of an earlier fault is no fault of its own.
      if (m_out.evidence.size() < k_most &&
          (finding.kind != profiles::FaultKind::api_error || report.findings.size() == 1) &&
          finding.kind != profiles::FaultKind::leak)
        m_out.evidence.push_back(of_sanitizer(finding, job.tool, m_request));
    if (m_out.evidence.empty()) note_clean(job.tool);
    return {};
  }

  base::Status read_trace(const std::string& said, const profiles::FaultJob& job) {
    AKO_TRY(profiles::Backtrace trace, profiles::read_backtrace(said, job.program));
    if (trace.signal.empty()) note_clean(job.tool);
    else m_out.evidence.push_back(of_debugger(trace, m_request));
    return {};
  }

  void note_clean(FaultTool tool) {
    m_clean += (m_clean.empty() ? "" : ", ") + std::string(profiles::to_string(tool));
  }

  static std::string typed(const std::vector<std::string>& argv) {
    std::string out;
    for (const std::string& word : argv) out += (out.empty() ? "" : " ") + base::shell_word(word);
    return out;
  }

  const FaultRequest& m_request;
  const model::CommandRunner& m_runner;
  std::vector<std::string> m_environment;
  std::string m_clean;
  bool m_no_sanitizer = false, m_no_debugger = false;
  FaultLook m_out;
};

} // namespace

std::vector<FaultTool> tools_for(const model::Outcome& outcome) {
  bool crashed = false, host = false, hung = false, outside = false, race = false;
  for (const model::Evidence& each : outcome.evidence) {
    if (each.guard == "worker_ended" && each.data.is_object()) {
      const base::Json detail = base::get_or<base::Json>(each.data, "detail", base::Json::object());
      crashed = crashed || is_memory_fault(each.data);
      // A signal is the host's own; what the device reports comes as an error.
      host = host || (detail.is_object() && detail.contains("signal"));
      hung = hung || base::get_or<std::string>(each.data, "failure", "") == "hung";
    }
    for (const char* guard : {"red_zone", "gap_damage", "changed_input", "merged_calls"})
      outside = outside || each.guard == guard;
    race = race || each.guard == "stability" || each.guard == "wrong_later";
  }
  if (crashed && host) return {FaultTool::debugger, FaultTool::memcheck};
  if (crashed) return {FaultTool::memcheck, FaultTool::synccheck, FaultTool::debugger};
  if (outside) return {FaultTool::memcheck};
  if (race)
    return {FaultTool::racecheck, FaultTool::synccheck, FaultTool::initcheck, FaultTool::memcheck};
  if (hung) return {FaultTool::synccheck};
  return {};
}

std::string shape_of_fault(const model::Outcome& outcome) {
  for (const model::Evidence& each : outcome.evidence) {
    if (!each.data.is_object()) continue;
    if (std::string shape = base::get_or<std::string>(each.data, "shape", ""); !shape.empty())
      return shape;
    const base::Json place = base::get_or<base::Json>(each.data, "place", base::Json::object());
    if (place.is_object())
      if (std::string shape = base::get_or<std::string>(place, "shape", ""); !shape.empty())
        return shape;
    const std::string where = base::get_or<std::string>(each.data, "where", "");
    constexpr std::string_view k_at = " at shape ";
    if (const std::size_t at = where.find(k_at); at != std::string::npos)
      return where.substr(at + k_at.size());
  }
  return {};
}

FaultLook look_for_fault(const FaultRequest& request, const model::CommandRunner& runner) {
  return Look(request, runner).run();
}

bool is_of_a_tool(const model::Evidence& evidence) {
  return evidence.guard == k_sanitizer || evidence.guard == k_debugger;
}

SourcePlace place_in(const model::Sources& sources, const std::string& file, int line) {
  if (file.empty()) return {};
  const base::fs::path wanted = base::fs::path(file).filename();
  const model::SourceText* found = nullptr;
  for (const auto& text : sources.texts) {
    if (base::fs::path(text.path).filename() != wanted) continue;
    if (found)
      return {fmt::format("{}:{}", file, line), {}}; // two of that name: as the tool has it
    found = &text;
  }
  if (!found) return {fmt::format("{}:{}", file, line), {}};
  std::string_view rest = found->content;
  for (int at = 1; at < line && !rest.empty(); ++at)
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  return {fmt::format("{}:{}", found->path, line),
          line > 0 ? bare_line(rest.substr(0, rest.find('\n'))).substr(0, 160) : std::string()};
}

} // namespace ako::loop
