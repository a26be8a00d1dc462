#include "base/fs.hpp"
#include "cli/command.hpp"
#include "cli/finding.hpp"
#include "cli/whole.hpp"
#include "client/keeper.hpp"
#include "client/worker.hpp"
#include "executors/runner.hpp"
#include "lanes/registry.hpp"
#include "loop/environment.hpp"
#include "workspace/git.hpp"
#include "workspace/workdir.hpp"

#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

namespace ako::cli {
namespace {

void add_lane(const lanes::LaneDriver& lane, std::vector<Finding>& out) {
  auto around = lanes::Surroundings::of_this_process(executors::local_runner(), {});
  auto scratch = base::TemporaryDir::make("ako-doctor");
  if (!scratch) return;
  lanes::Probe probe = lane.probe("", around, scratch->path());
  std::string detail = probe.summary;
  for (const auto& line : probe.looked) detail += "\n    " + line;
  if (!probe.works && !probe.output.empty()) detail += "\n    " + probe.output.substr(0, 400);
  out.push_back({fmt::format("lane {}", model::to_string(lane.lane())),
                 probe.works ? "ok" : "missing", detail, probe.next});
}

void add_children(std::vector<Finding>& out) {
  auto program = client::find_child_program();
  if (!program) {
    out.push_back({"children", "broken", program.error().text(), program.error().next});
    return;
  }
  client::KeeperOptions options;
  options.evict_bytes = -1;
  auto keeper = client::Keeper::start(options);
  if (keeper)
    out.push_back({"children", "ok",
                   "keeper answers; cache " + std::to_string(keeper->cache_bytes() >> 20) + " MiB",
                   ""});
  else out.push_back({"children", "broken", keeper.error().text(), keeper.error().next});
}

Finding sandbox_finding(const client::SandboxReport& got) {
  const std::array<std::pair<const char*, bool>, 7> guards = {
      {{"Landlock", got.landlock},
       {"seccomp", got.seccomp},
       {"user namespace", got.user_namespace},
       {"pid namespace", got.pid_namespace},
       {"network namespace", got.network_namespace},
       {"ipc namespace", got.ipc_namespace},
       {"mount namespace", got.mount_namespace}}};
  std::string has, lacks;
  for (const auto& [name, there] : guards) {
    std::string& list = there ? has : lacks;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  Finding out{"sandbox", lacks.empty() ? "ok" : has.empty() ? "missing" : "partial", has, ""};
  if (lacks.empty()) return out;
  out.detail = (has.empty() ? "nothing" : has) + "; not given by this kernel: " + lacks;
  out.next = "a kernel from 5.13 on with Landlock, and unprivileged user namespaces allowed "
             "(sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)";
  return out;
}

Finding counters_finding(const client::SandboxReport& got) {
  if (got.counters)
    return {"cpu counters", "ok", "instructions, cycles and cache misses stand in the record", ""};
  const std::string detail =
      "not given to a kernel's process: times are measured without them, which no verdict needs";
  constexpr int k_most = 2; // above it the system refuses a process its own counters
  const auto level = base::read_file("/proc/sys/kernel/perf_event_paranoid", 64);
  const int set = level ? std::atoi(level->c_str()) : 0;
  if (set > k_most)
    return {"cpu counters", "forbidden",
            fmt::format("{}; kernel.perf_event_paranoid is {}", detail, set),
            fmt::format("sysctl kernel.perf_event_paranoid={}", k_most)};
  return {"cpu counters", "not readable", detail + "; a virtual machine often shows none", ""};
}

/// What keeps a candidate in and what may be counted of it, tried by a worker that loads nothing.
void add_sandbox(std::vector<Finding>& out) {
  auto program = client::find_child_program();
  if (!program) return; // told already
  client::WorkerOptions options;
  options.program = *program;
  options.spec.label = "doctor";
  options.spec.library_path = program->string();
  auto worker = client::Worker::start(std::move(options));
  if (!worker) {
    out.push_back({"sandbox", "broken", worker.error().text, "ako doctor --verbose"});
    return;
  }
  out.push_back(sandbox_finding(worker->sandbox()));
  out.push_back(counters_finding(worker->sandbox()));
  worker->quit();
}

/// Why nothing can be judged here at all: a lane, a device or a guard may be missing, these may
/// not.
std::optional<base::Error> nothing_runs(const std::vector<Finding>& findings) {
  constexpr const char* k_needed = "git, ako's own children, and one lane that works";
  const auto error = [](std::string where, const Finding& finding) {
    return base::Error{base::ErrorKind::environment,
                       "nothing can be judged on this machine as it is",
                       std::move(where),
                       finding.state + ": " + finding.detail.substr(0, finding.detail.find('\n')),
                       k_needed,
                       finding.next.empty() ? "mend it, then: ako doctor" : finding.next};
  };
  const Finding* lane = nullptr;
  bool works = false;
  for (const auto& finding : findings) {
    const bool broken = finding.state == "broken";
    if (finding.what == "git" && finding.state == "missing") return error("git", finding);
    if ((finding.what == "children" || finding.what == "sandbox") && broken)
      return error(finding.what, finding);
    if (!finding.what.starts_with("lane ")) continue;
    if (lane == nullptr) lane = &finding;
    works = works || finding.state == "ok";
  }
  if (works || lane == nullptr) return std::nullopt;
  return error("every lane", *lane);
}

base::Expected<Reply> run_doctor(const Context& context, const Arguments&) {
  std::vector<Finding> findings;
  const loop::HostFacts host = loop::host_facts();
  findings.push_back(
      {"machine", "ok",
       fmt::format("{}, {} cores, {} MiB cache, {} GiB memory, {}", host.cpu, host.cores,
                   host.cache_bytes >> 20, host.memory_bytes >> 30, host.kernel),
       ""});
  findings.push_back({"frequency", host.governor == "none" ? "not readable" : "ok",
                      host.governor == "none"
                          ? "no cpufreq here: the clock is watched by a loop of dependent additions"
                          : "governor " + host.governor,
                      ""});
  workspace::Git git(context.dir);
  auto version = git.run({"--version"});
  findings.push_back({"git", version ? "ok" : "missing",
                      version ? *version : version.error().text(), version ? "" : "install git"});
  for (const auto* lane : lanes::all_lanes()) add_lane(*lane, findings);
  add_children(findings);
  add_sandbox(findings);
  add_device_findings(findings);
  Reply reply;
  base::Json rows = base::Json::array();
  for (const auto& finding : findings) {
    reply.text += fmt::format("{:<12} {:<13} {}\n", finding.what, finding.state, finding.detail);
    if (!finding.next.empty()) reply.text += fmt::format("{:<12} next: {}\n", "", finding.next);
    rows.push_back({{"what", finding.what},
                    {"state", finding.state},
                    {"detail", finding.detail},
                    {"next", finding.next}});
  }
  reply.data["findings"] = std::move(rows);
  if (auto trouble = nothing_runs(findings)) {
    reply.outcome = model::OutcomeKind::environment;
    reply.text += closing_text(*trouble);
    reply.error = std::move(*trouble);
  }
  return reply;
}

} // namespace

extern const Command k_doctor{
    "doctor",
    "what this machine has, what is missing and how to get it",
    "Looks for compilers, git, ako's own children, what the kernel gives to keep a candidate in,\n"
    "hardware counters, devices and their libraries, and tries each of them. For whatever is\n"
    "missing: why, and what to do. Exit 3 where nothing can be judged at all: without git, "
    "without\n"
    "ako's own children, or without one lane that works.",
    {},
    {},
    {"ako doctor", "ako doctor --json"},
    run_doctor};

} // namespace ako::cli
