#include "client/worker.hpp"

#include "base/fs.hpp"
#include "base/memory.hpp"
#include "client/endings.hpp"
#include "client/link.hpp"
#include "client/processes.hpp"
#include "protocol/values.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <sstream>
#include <utility>

namespace ako::client {

using base::Json;
using protocol::Kind;

struct Worker::State {
  WorkerOptions options;
  std::optional<base::TemporaryDir> scratch;
  std::optional<Link> link;
  SandboxReport sandbox;
  std::vector<MappedArena> arenas;
  bool paused = false;
  Activity at_answer;      ///< when the last answer came
  bool first_call = false; ///< the next call is the first with these arguments
  std::optional<std::uint64_t> kills = base::memory_kills(); ///< before it was there
  std::uint64_t room = base::memory_room();                  ///< beside what is mapped
  std::int64_t shared_bytes = 0, most_shared_bytes = 0;      ///< of ako's buffers, mapped here

  void note_mapped(std::int64_t bytes) {
    shared_bytes += bytes;
    most_shared_bytes = std::max(most_shared_bytes, shared_bytes);
    room = base::memory_room();
  }

  MemorySeen memory_seen(const Incident& incident) const {
    MemorySeen seen;
    seen.room_bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(room, INT64_MAX));
    seen.own_bytes = std::max<std::int64_t>(0, incident.ending.peak_bytes - most_shared_bytes);
    if (const auto now = base::memory_kills(); now && kills) seen.short_of = *now > *kills;
    return seen;
  }

  WorkerFailure from(const Incident& incident, Kind kind) {
    auto failure = failure_of(incident, protocol::to_string(kind), arenas, memory_seen(incident));
    failure.out = link->out();
    failure.err = link->err();
    return failure;
  }

  Answer<Json> ask(Kind kind, const Json& body, double seconds, std::vector<int> fds = {}) {
    if (paused) resume();
    auto answer = link->ask(kind, body, base::Deadline::after_seconds(seconds), std::move(fds));
    if (link->alive()) at_answer = activity_of(link->process().pid());
    if (!answer) return tl::unexpected(from(answer.error(), kind));
    return std::move(*answer);
  }

  void resume() {
    link->process().signal_group(SIGCONT);
    paused = false;
  }
};

namespace {

WorkerFailure from_error(base::Error error, const char* during) {
  WorkerFailure failure;
  failure.kind = FailureKind::environment;
  failure.text = error.text();
  failure.error = std::move(error);
  failure.during = during;
  return failure;
}

#define CLIENT_TRY(declaration, expression, during)                                                \
  auto AKO_JOIN(client_try_, __LINE__) = (expression);                                             \
  if (!AKO_JOIN(client_try_, __LINE__))                                                            \
    return tl::unexpected(from_error(AKO_JOIN(client_try_, __LINE__).error(), during));            \
  declaration = std::move(*AKO_JOIN(client_try_, __LINE__))

#define CLIENT_ASK(declaration, expression)                                                        \
  auto AKO_JOIN(client_ask_, __LINE__) = (expression);                                             \
  if (!AKO_JOIN(client_ask_, __LINE__))                                                            \
    return tl::unexpected(std::move(AKO_JOIN(client_ask_, __LINE__).error()));                     \
  declaration = std::move(*AKO_JOIN(client_ask_, __LINE__))

std::int64_t integer(const Json& object, const char* key, std::int64_t fallback = 0) {
  return base::get_or<std::int64_t>(object, key, fallback);
}

std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> list;
  const auto found = base::get<Json>(object, key);
  if (!found || !found->is_array()) return list;
  for (const auto& item : *found)
    if (item.is_string()) list.push_back(item.get<std::string>());
  return list;
}

std::vector<double> numbers(const Json& object, const char* key) {
  std::vector<double> list;
  const auto found = base::get<Json>(object, key);
  if (!found || !found->is_array()) return list;
  for (const auto& item : *found) list.push_back(item.is_number() ? item.get<double>() : 0);
  return list;
}

SandboxReport sandbox_from(const Json& json) {
  const auto flag = [&](const char* key) { return base::get_or<bool>(json, key, false); };
  SandboxReport report;
  report.landlock = flag("landlock");
  report.seccomp = flag("seccomp");
  report.user_namespace = flag("user_namespace");
  report.pid_namespace = flag("pid_namespace");
  report.network_namespace = flag("network_namespace");
  report.ipc_namespace = flag("ipc_namespace");
  report.mount_namespace = flag("mount_namespace");
  report.counters = flag("counters");
  report.label = base::get_or<std::string>(json, "label", "");
  report.device = base::get_or<Json>(json, "device", Json::object());
  report.guest = base::get_or<Json>(json, "guest", Json::object());
  return report;
}

/// What a worker may read beyond the system: its artifact, and where it looks for libraries.
std::vector<std::string> read_paths(const model::LaunchSpec& spec) {
  std::vector<std::string> paths{spec.library_path};
  paths.insert(paths.end(), spec.read_paths.begin(), spec.read_paths.end());
  const auto at = spec.environment.find("LD_LIBRARY_PATH");
  if (at == spec.environment.end()) return paths;
  std::istringstream list(at->second);
  for (std::string path; std::getline(list, path, ':');)
    if (!path.empty()) paths.push_back(path);
  return paths;
}

LinkOptions link_options(const WorkerOptions& options, const std::filesystem::path& scratch,
                         const std::filesystem::path& library) {
  LinkOptions link;
  link.program = options.program;
  link.args = {"worker"};
  if (options.sandbox == Sandbox::none) link.args.emplace_back("--uncontained");
  if (!options.spec.host.empty()) {
    link.args.emplace_back("--");
    link.args.insert(link.args.end(), options.spec.host.begin(), options.spec.host.end());
    link.args.push_back(library.string());
  }
  link.env = child_environment();
  link.env.push_back(fmt::format("HOME={}", scratch.string()));
  link.env.push_back(fmt::format("TMPDIR={}", scratch.string()));
  for (const auto& [name, value] : options.spec.environment)
    link.env.push_back(fmt::format("{}={}", name, value));
  link.cwd = scratch.string();
  link.keep_bytes =
      static_cast<std::size_t>(std::max<std::int64_t>(0, options.limits.output_bytes));
  link.flood_bytes = options.flood_bytes;
  link.watched_folder = scratch;
  link.disk_bytes = options.disk_bytes;
  link.most_threads = options.most_threads;
  // A driver holds a descriptor for every mapping that it makes.
  link.limits.open_files = options.device ? 8192 : 512;
  link.limits.core_bytes = 0;
  return link;
}

} // namespace

Worker::Worker() : m_state(std::make_unique<State>()) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() {
  if (m_state && m_state->link) m_state->link->kill();
}

Answer<Worker> Worker::start(WorkerOptions options) {
  auto worker = launch(std::move(options));
  if (!worker) return worker;
  if (auto greeted = worker->greet(); !greeted) return tl::unexpected(greeted.error());
  return worker;
}

Answer<Worker> Worker::launch(WorkerOptions options) {
  if (options.program.empty()) {
    CLIENT_TRY(options.program, find_child_program(), "start");
  }
  Worker worker;
  auto& state = *worker.m_state;
  state.options = std::move(options);
  CLIENT_TRY(state.scratch, base::TemporaryDir::make("ako-worker-"), "start");
  const auto scratch = state.scratch->path();
  std::filesystem::path library;
  if (!state.options.spec.host.empty()) {
    CLIENT_TRY(library, find_worker_library(state.options.program), "start");
  }
  if (const auto& keep = state.options.spec.keep_dir; !keep.empty())
    if (auto made = base::make_dirs(keep); !made)
      return tl::unexpected(from_error(made.error(), "start"));
  CLIENT_TRY(state.link, Link::start(link_options(state.options, scratch, library)), "start");
  return worker;
}

Answer<void> Worker::greet() {
  auto& state = *m_state;
  const auto scratch = state.scratch->path();
  // An interpreter imports what its modules need before anything of the candidate is there.
  const double seconds = state.options.limits.load_seconds +
                         (state.options.spec.host.empty() ? 0 : state.options.limits.build_seconds);
  CLIENT_ASK(const auto hello,
             state.ask(Kind::hello, Json{{"protocol", protocol::k_version}}, seconds));
  if (integer(hello, "protocol") != protocol::k_version)
    return tl::unexpected(from_error(base::fail(base::ErrorKind::environment,
                                                "ako-child is of another version than ako",
                                                {.where = state.options.program.string()})
                                         .value(),
                                     "start"));
  Json configure{{"scratch", scratch.string()},
                 {"cores", state.options.cores},
                 {"sandbox", state.options.sandbox == Sandbox::full ? "full" : "none"},
                 {"disk_bytes", state.options.disk_bytes},
                 {"read_paths", read_paths(state.options.spec)}};
  if (state.options.device) configure["device"] = {{"uuid", state.options.device->uuid}};
  if (!state.options.spec.keep_dir.empty()) {
    // What compiles while it runs keeps what it compiled, and starts assemblers.
    configure["write_paths"] = {state.options.spec.keep_dir};
    configure["processes"] = true;
  }
  CLIENT_ASK(const auto contained, state.ask(Kind::configure, configure, seconds));
  note_set_apart(base::get_or<std::uint64_t>(
      base::get_or<Json>(contained, "device", Json::object()), "addresses_bytes", 0));
  state.sandbox = sandbox_from(contained);
  return {};
}

Answer<void> Worker::share_eviction(const Keeper& keeper) {
  if (keeper.evict_fd() < 0)
    return tl::unexpected(from_error(
        base::fail(base::ErrorKind::internal, "the keeper has no eviction buffer").value(),
        "share"));
  std::vector<int> fds{keeper.evict_fd()};
  if (keeper.on_device()) fds.push_back(keeper.image_fd());
  CLIENT_ASK(const auto answer, m_state->ask(Kind::share,
                                             Json{{"bytes", keeper.evict_bytes()},
                                                  {"image_bytes", keeper.image_bytes()}},
                                             m_state->options.limits.load_seconds, std::move(fds)));
  static_cast<void>(answer);
  m_state->note_mapped(keeper.image_bytes() + (keeper.on_device() ? 0 : keeper.evict_bytes()));
  return {};
}

Answer<LoadReport> Worker::load() {
  const auto& spec = m_state->options.spec;
  const bool images = m_state->options.loads == WorkerOptions::Loads::images;
  CLIENT_ASK(const auto answer, m_state->ask(Kind::load,
                                             Json{{"library", spec.library_path},
                                                  {"hash", spec.library_hash},
                                                  {"prepare", spec.has_prepare && !images},
                                                  {"plan", spec.has_plan && !images},
                                                  {"images", images}},
                                             m_state->options.limits.load_seconds));
  LoadReport report;
  report.hash = base::get_or<std::string>(answer, "hash", "");
  report.has_prepare = base::get_or<bool>(answer, "has_prepare", false);
  report.has_plan = base::get_or<bool>(answer, "has_plan", false);
  report.libraries = texts(answer, "libraries");
  report.threads_before = static_cast<int>(integer(answer, "threads_before"));
  report.threads_after = static_cast<int>(integer(answer, "threads_after"));
  report.load_ns = integer(answer, "load_ns");
  report.interposed = texts(answer, "interposed");
  report.changed = texts(answer, "changed");
  report.sandbox = m_state->sandbox;
  report.measure = base::get_or<Json>(answer, "measure", Json::object());
  report.guest = base::get_or<Json>(answer, "guest", Json::object());
  return report;
}

Answer<void> Worker::map(const Arena& arena) {
  CLIENT_ASK(const auto answer, m_state->ask(Kind::map,
                                             Json{{"arena", protocol::hex(arena.id())},
                                                  {"address", protocol::hex(arena.plan().address)},
                                                  {"bytes", arena.plan().bytes}},
                                             m_state->options.limits.load_seconds, {arena.fd()}));
  static_cast<void>(answer);
  m_state->arenas.push_back({arena.id(), arena.tag(), arena.plan()});
  m_state->note_mapped(arena.plan().bytes);
  return {};
}

Answer<void> Worker::unmap(const Arena& arena) {
  CLIENT_ASK(const auto answer,
             m_state->ask(Kind::unmap, Json{{"arena", protocol::hex(arena.id())}},
                          m_state->options.limits.load_seconds));
  static_cast<void>(answer);
  std::erase_if(m_state->arenas, [&](const auto& mapped) { return mapped.id == arena.id(); });
  m_state->note_mapped(-arena.plan().bytes);
  return {};
}

Answer<void> Worker::use(const Binding& binding) {
  Json pointers = Json::array();
  for (const auto& set : binding.pointers) {
    Json list = Json::array();
    for (const auto address : set) list.push_back(protocol::hex(address));
    pointers.push_back(std::move(list));
  }
  Json body{{"integers", binding.integers},
            {"scalars", binding.scalars},
            {"pointers", pointers},
            {"bytes", binding.bytes}};
  if (!m_state->options.spec.host.empty()) body["described"] = binding.described;
  CLIENT_ASK(const auto answer,
             m_state->ask(Kind::use, body, m_state->options.limits.load_seconds));
  static_cast<void>(answer);
  m_state->first_call = !m_state->options.spec.keep_dir.empty();
  return {};
}

Answer<CallReport> Worker::call(int set, Function function) {
  const char* name = function == Function::call      ? "call"
                     : function == Function::prepare ? "prepare"
                                                     : "plan";
  const auto begin = base::monotonic_ns();
  // What compiles while it runs does so in its first call at a shape: that is building.
  const auto& limits = m_state->options.limits;
  const bool first = std::exchange(m_state->first_call, false);
  const double seconds = limits.call_seconds + (first ? limits.build_seconds : 0);
  auto called = m_state->ask(Kind::call, Json{{"set", set}, {"function", name}}, seconds);
  if (!called && first && called.error().kind == FailureKind::hung)
    called.error().text +=
        fmt::format("; it was the first call at this shape, which may compile and "
                    "tune for {:.0f} s",
                    seconds);
  CLIENT_ASK(const auto answer, std::move(called));
  CallReport report;
  report.parent_wall_ns = base::monotonic_ns() - begin;
  report.ns = integer(answer, "ns");
  report.threads_before = static_cast<int>(integer(answer, "threads_before"));
  report.threads_after = static_cast<int>(integer(answer, "threads_after"));
  report.changed = texts(answer, "changed");
  report.libraries = texts(answer, "libraries");
  report.guest = base::get_or<Json>(answer, "guest", Json::object());
  return report;
}

namespace {

Json job_json(const SampleJob& job) {
  const char* timing = job.timing == SampleJob::Timing::each_call    ? "each"
                       : job.timing == SampleJob::Timing::whole_pass ? "pass"
                                                                     : "automatic";
  return Json{{"sets", job.sets},
              {"repeat", job.repeat},
              {"warmup_sets", job.warmup_sets},
              {"warmup_ns", job.warmup_ns},
              {"cache", model::to_string(job.cache)},
              {"eviction", job.eviction == SampleJob::Eviction::once ? "once" : "every_call"},
              {"warm_tensors", job.warm_tensors},
              {"clock", model::to_string(job.clock)},
              {"timing", timing}};
}

SampleReport sample_from(const Json& answer) {
  SampleReport report;
  report.call_ns = numbers(answer, "call_ns");
  report.pass_ns = base::get_or<double>(answer, "pass_ns", 0);
  report.calls = static_cast<int>(integer(answer, "calls"));
  report.first_ns = integer(answer, "first_ns");
  report.last_ns = integer(answer, "last_ns");
  report.warmup_calls = integer(answer, "warmup_calls");
  report.warmup_spent_ns = integer(answer, "warmup_spent_ns");
  report.evict_spent_ns = integer(answer, "evict_spent_ns");
  report.timer_overhead_ns = integer(answer, "timer_overhead_ns");
  report.threads_before = static_cast<int>(integer(answer, "threads_before"));
  report.threads_after = static_cast<int>(integer(answer, "threads_after"));
  report.children = static_cast<int>(integer(answer, "children"));
  report.cpu_ns = integer(answer, "cpu_ns");
  report.counters = {integer(answer, "cycles", -1), integer(answer, "instructions", -1),
                     integer(answer, "cache_misses", -1)};
  report.changed = texts(answer, "changed");
  report.libraries = texts(answer, "libraries");
  report.cache_state = base::get_or<std::string>(answer, "cache_state", "");
  report.device = base::get_or<Json>(answer, "device", Json::object());
  report.stray_operations = static_cast<int>(base::get_or<std::int64_t>(report.device, "stray", 0));
  report.device_memory_taken = base::get_or<std::int64_t>(report.device, "memory_taken", 0);
  report.window_ns = base::get_or<double>(report.device, "window_ns", 0);
  report.guest = base::get_or<Json>(answer, "guest", Json::object());
  return report;
}

} // namespace

Answer<SampleReport> Worker::sample(const SampleJob& job) {
  const auto& limits = m_state->options.limits;
  // Every call may take its own time; the evictions between are ako's.
  const double seconds = limits.call_seconds * static_cast<double>(1 + job.warmup_sets.size()) +
                         limits.call_seconds * static_cast<double>(job.sets.size()) +
                         static_cast<double>(job.warmup_ns) / 1e9;
  // Where it is stopped, this is read before it may run again: its threads get nothing for free.
  const auto before = activity();
  const auto begin = base::monotonic_ns();
  CLIENT_ASK(const auto answer, m_state->ask(Kind::sample, job_json(job),
                                             std::min(seconds, limits.evaluation_seconds)));
  auto report = sample_from(answer);
  report.parent_wall_ns = base::monotonic_ns() - begin;
  report.parent_cpu_ns = m_state->at_answer.cpu_ns - before.cpu_ns;
  report.parent_wait_ns = m_state->at_answer.wait_ns - before.wait_ns;
  if (const auto ordered = static_cast<int>(job.sets.size()) * job.repeat;
      report.calls != ordered) {
    WorkerFailure failure;
    failure.kind = FailureKind::violation;
    failure.text = fmt::format("reported {} calls of {}", report.calls, ordered);
    failure.during = "sample";
    quit();
    return tl::unexpected(failure);
  }
  return report;
}

Answer<ResidencyReport> Worker::residency(int set) {
  CLIENT_ASK(const auto answer, m_state->ask(Kind::residency, Json{{"set", set}},
                                             m_state->options.limits.load_seconds));
  ResidencyReport report;
  report.cached_line_ns = base::get_or<double>(answer, "cached_line_ns", 0);
  report.evicted_line_ns = base::get_or<double>(answer, "evicted_line_ns", 0);
  report.memory_line_ns = base::get_or<double>(answer, "memory_line_ns", 0);
  report.resident_share = base::get_or<double>(answer, "resident_share", 0);
  report.evict_ns = integer(answer, "evict_ns");
  return report;
}

Answer<Worker::Captured> Worker::capture(const std::vector<int>& sets) {
  const auto& limits = m_state->options.limits;
  CLIENT_ASK(const auto answer,
             m_state->ask(Kind::capture, Json{{"sets", sets}},
                          limits.call_seconds * static_cast<double>(1 + sets.size())));
  Captured out;
  out.nodes = base::get_or<Json>(answer, "nodes", Json::array());
  out.why = base::get_or<std::string>(answer, "why", "");
  if (out.why.empty() && out.nodes.size() != sets.size()) out.why = "not every call was captured";
  return out;
}

Answer<void> Worker::replay(const Json& nodes) {
  CLIENT_ASK(const auto answer, m_state->ask(Kind::replay, Json{{"nodes", nodes}},
                                             m_state->options.limits.load_seconds));
  static_cast<void>(answer);
  return {};
}

void Worker::end_from_outside() { m_state->link->process().signal_group(SIGKILL); }

base::Status Worker::pause() {
  if (!alive() || m_state->paused) return {};
  auto& process = m_state->link->process();
  process.signal_group(SIGSTOP);
  m_state->paused = true;
  for (int i = 0; i < 2000; ++i) {
    if (all_stopped(process.pid())) return {};
    timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
  return base::fail(base::ErrorKind::environment, "a worker could not be paused");
}

base::Status Worker::resume() {
  if (alive() && m_state->paused) m_state->resume();
  return {};
}

Activity Worker::activity() const {
  if (!alive()) return {};
  return activity_of(m_state->link->process().pid());
}

std::int64_t Worker::idle_cpu_ns() const {
  return alive() ? activity().cpu_ns - m_state->at_answer.cpu_ns : 0;
}

std::int64_t Worker::idle_wait_ns() const {
  return alive() ? activity().wait_ns - m_state->at_answer.wait_ns : 0;
}

const std::string& Worker::label() const { return m_state->options.spec.label; }
const SandboxReport& Worker::sandbox() const { return m_state->sandbox; }
bool Worker::alive() const { return m_state && m_state->link && m_state->link->alive(); }
std::string Worker::out() const { return m_state->link->out(); }
std::string Worker::err() const { return m_state->link->err(); }
int Worker::pid() const { return m_state->link->process().pid(); }

void Worker::quit() {
  if (!alive()) return;
  constexpr double k_seconds = 0.5;
  static_cast<void>(m_state->ask(Kind::quit, Json::object(), k_seconds));
  m_state->link->kill();
}

} // namespace ako::client
