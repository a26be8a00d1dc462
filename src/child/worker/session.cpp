#include "worker/session.hpp"

#include "protocol/addresses.hpp"
#include "protocol/crash.hpp"
#include "protocol/values.hpp"
#include "worker/sandbox.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

namespace ako::worker {

using base::Json;
using protocol::Kind;
using protocol::Refusal;

namespace {

tl::unexpected<Refusal> invalid(std::string message) {
  return tl::unexpected(Refusal{"invalid", std::move(message), Json::object()});
}

#define WORKER_TRY(declaration, expression)                                                        \
  auto AKO_JOIN(worker_try_, __LINE__) = (expression);                                             \
  if (!AKO_JOIN(worker_try_, __LINE__))                                                            \
    return tl::unexpected(protocol::refuse(AKO_JOIN(worker_try_, __LINE__).error()));              \
  declaration = std::move(*AKO_JOIN(worker_try_, __LINE__))

enum class Threads { this_one, all };

/// New threads inherit it; those that are there already are pinned with `all`.
void pin(const std::vector<int>& cores, Threads threads) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
  if (threads == Threads::this_one) return;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored))
    sched_setaffinity(std::atoi(task.path().filename().c_str()), sizeof set, &set);
}

std::string sandbox_label(const Json& state) {
  std::string missing;
  for (const auto& [name, value] : state.items())
    if (!value.get<bool>()) missing += (missing.empty() ? "no " : ", no ") + name;
  return missing.empty() ? "full" : missing;
}

} // namespace

Session::Session(const SessionOptions& options)
    : m_namespaces(options.namespaces), m_guest(options.guest) {
  m_vault.open().channel = options.channel;
}

int Session::run() {
  for (;;) {
    auto& secrets = m_vault.open();
    auto request = protocol::receive_request(secrets.channel);
    if (!request) return protocol::k_exit_channel_lost;
    secrets.request_id = request->id;
    request->id = 0;
    const auto answer = dispatch(*request);
    const auto& after = m_vault.open();
    const auto sent =
        answer ? protocol::send_answer(after.channel, request->kind, after.request_id, *answer)
               : protocol::send_refusal(after.channel, request->kind, after.request_id,
                                        answer.error());
    if (!sent) return protocol::k_exit_channel_lost;
    if (request->kind == Kind::quit) return 0;
    // A lost context cannot be had back in this process.
    if (m_device && !m_device->lost().empty()) return protocol::k_exit_device_lost;
  }
}

Session::Answer Session::dispatch(const protocol::Request& request) {
  const auto& body = request.body;
  switch (request.kind) {
  case Kind::hello: return hello();
  case Kind::quit: return Json::object();
  case Kind::configure: return configure(body);
  case Kind::share: return share(body);
  case Kind::load: return load(body);
  case Kind::map: return map(body);
  case Kind::unmap: return unmap(body);
  case Kind::use: return use(body);
  case Kind::call: return call(body);
  case Kind::sample: return sample(body);
  case Kind::residency: return residency(body);
  case Kind::capture: return capture(body);
  case Kind::replay: return replay(body);
  default: return invalid("a worker does not know this command");
  }
}

Session::Answer Session::hello() const {
  return Json{{"protocol", protocol::k_version},
              {"role", "worker"},
              {"pid", getpid()},
              {"capabilities", {"cpu", "cold", "warm", "residency", "device"}}};
}

Session::Answer Session::configure(const Json& body) {
  if (m_configured) return invalid("configured already");
  m_configured = true;
  SandboxPlan plan;
  WORKER_TRY(plan.scratch, base::get<std::string>(body, "scratch"));
  WORKER_TRY(const auto mode, base::get<std::string>(body, "sandbox"));
  WORKER_TRY(const auto disk, base::get<std::int64_t>(body, "disk_bytes"));
  WORKER_TRY(const auto cores, protocol::get_ints(body, "cores"));
  WORKER_TRY(const auto paths, base::get<Json>(body, "read_paths"));
  plan.file_bytes = static_cast<std::uint64_t>(disk);
  plan.own_proc = m_namespaces.pid && m_namespaces.mount;
  for (const auto& path : paths)
    if (path.is_string()) plan.read_paths.push_back(path.get<std::string>());
  for (const auto& path : base::get_or<Json>(body, "write_paths", Json::array()))
    if (path.is_string()) plan.write_paths.push_back(path.get<std::string>());
  if (base::get_or<bool>(body, "processes", false)) plan.processes = Processes::allowed;
  if (chdir(plan.scratch.c_str()) != 0) return invalid("the private folder is not there");
  if (!m_guest) pin(cores, Threads::this_one);
  if (body.contains("device")) {
    WORKER_TRY(const auto device, base::get<Json>(body, "device"));
    WORKER_TRY(const auto uuid, base::get<std::string>(device, "uuid"));
    WORKER_TRY(m_device, DeviceWorker::open(uuid));
    plan.device_paths = DeviceWorker::device_files();
  }
  if (m_guest) {
    // Imports take seconds of processor time, those of all sides at once: anywhere, not on the
    // cores that are measured on.
    Json question{{"threads", cores.size()}};
    if (m_device) question["device"] = m_device->place();
    // What frameworks set for good when first used, as compilers do with handlers of signals, is
    // put back: neither would a crash be told, nor what a candidate sets stand out.
    const auto before = ProcessState::capture();
    auto ready = m_guest->ask("ready", question);
    if (!ready) return tl::unexpected(ready.error());
    (void)before.restore();
    m_guest_facts = std::move(*ready);
    pin(cores, Threads::all);
  }
  // Hardware counters need a call that the sandbox forbids.
  if (auto opened = open_measure(); !opened) return tl::unexpected(opened.error());
  SandboxState state;
  if (mode == "full") state = enter_sandbox(plan);
  m_filtered = state.seccomp;
  Json answer{{"landlock", state.landlock},
              {"seccomp", state.seccomp},
              {"user_namespace", m_namespaces.user},
              {"pid_namespace", m_namespaces.pid},
              {"network_namespace", m_namespaces.network},
              {"ipc_namespace", m_namespaces.ipc},
              {"mount_namespace", m_namespaces.mount}};
  answer["label"] = mode == "full" ? sandbox_label(answer) : std::string("none");
  ako_measure_facts facts{};
  facts.size = sizeof facts;
  ako_measure_get_facts(m_measure.get(), &facts);
  answer["counters"] = facts.counters != 0;
  if (m_device) answer["device"] = m_device->facts();
  if (m_guest) answer["guest"] = m_guest_facts;
  return answer;
}

protocol::Outcome<void> Session::open_measure() {
  ako_measure_options options{};
  options.size = sizeof options;
  options.cpu = -1;
  options.no_eviction = 1;
  ako_measure* context = nullptr;
  if (ako_measure_open(&options, &context) != AKO_MEASURE_OK)
    return tl::unexpected(Refusal{"environment", "no memory for the measuring library", {}});
  m_measure.reset(context);
  return {};
}

protocol::Outcome<std::vector<base::UniqueFd>> Session::take_fds(std::size_t count) {
  WORKER_TRY(auto fds, base::receive_fds(m_vault.open().channel, count, base::Deadline::never()));
  if (fds.size() != count) return invalid("too few descriptors came with the command");
  return fds;
}

protocol::Outcome<base::UniqueFd> Session::take_fd() {
  auto fds = take_fds(1);
  if (!fds) return tl::unexpected(fds.error());
  return std::move(fds->front());
}

Session::Answer Session::share_device(const Json& body) {
  auto fds = take_fds(2);
  if (!fds) return tl::unexpected(fds.error());
  WORKER_TRY(const auto bytes, base::get<std::int64_t>(body, "bytes"));
  WORKER_TRY(const auto image, base::get<std::int64_t>(body, "image_bytes"));
  const auto shared = m_device->share(std::move((*fds)[0]), bytes, (*fds)[1].get(), image);
  if (!shared) return tl::unexpected(protocol::refuse(shared.error()));
  return Json::object();
}

Session::Answer Session::map_device(const Json& body) {
  auto fd = take_fd();
  if (!fd) return tl::unexpected(fd.error());
  WORKER_TRY(const auto arena, base::get<std::string>(body, "arena"));
  WORKER_TRY(const auto address, protocol::get_hex(body, "address"));
  WORKER_TRY(const auto bytes, base::get<std::int64_t>(body, "bytes"));
  const auto mapped = m_device->map(arena, std::move(*fd), address, bytes);
  if (!mapped) return tl::unexpected(protocol::refuse(mapped.error()));
  return Json::object();
}

Session::Answer Session::share(const Json& body) {
  if (m_device) return share_device(body);
  auto fd = take_fd(); // taken first: a refusal must leave the stream in step
  if (!fd) return tl::unexpected(fd.error());
  WORKER_TRY(const auto bytes, base::get<std::int64_t>(body, "bytes"));
  if (!m_measure) return invalid("not configured yet");
  if (bytes <= 0 || static_cast<std::uint64_t>(bytes) > protocol::k_evict_range)
    return invalid("the eviction buffer does not fit into its range");
  WORKER_TRY(m_evict, base::Mapping::map(fd->get(), static_cast<std::size_t>(bytes),
                                         protocol::k_evict_address, base::Access::read));
  if (ako_measure_use_eviction(m_measure.get(), m_evict.data(), m_evict.size()) != AKO_MEASURE_OK)
    return invalid("the eviction buffer cannot be used");
  return Json::object();
}

Session::Answer Session::load(const Json& body) {
  if (!m_configured || m_library) return invalid("load comes once, after configure");
  WORKER_TRY(const auto path, base::get<std::string>(body, "library"));
  WORKER_TRY(const auto hash, base::get<std::string>(body, "hash"));
  auto file = seal_file(path);
  if (!file) return tl::unexpected(file.error());
  if (!hash.empty() && file->hash != hash)
    return tl::unexpected(Refusal{"stale", "the library is not the one that was built",
                                  Json{{"found", file->hash}, {"expected", hash}}});
  m_file = std::move(*file);
  m_state = ProcessState::capture();
  // From here on foreign code may run: what is mapped now stays as it is.
  if (m_filtered && !seal_memory(m_evict.size() > 0 ? Eviction::mapped : Eviction::none))
    return tl::unexpected(Refusal{"environment", "the sandbox could not be closed", {}});
  if (base::get_or<bool>(body, "images", false)) return load_images(body);
  const int threads_before = thread_count();
  const auto begin = base::monotonic_ns();
  protocol::Outcome<Library> library;
  Json guest = Json::object();
  const auto ran = guarded(
      [&] { library = m_guest ? m_guest->load(*m_file, body, guest) : load_library(*m_file); });
  const auto took = base::monotonic_ns() - begin;
  if (!ran) return tl::unexpected(ran.error());
  if (!library) return tl::unexpected(library.error());
  m_library = std::move(*library);
  if (m_device) m_device->sampler().forget();
  const auto missing = [&](const char* key, ako_call_fn function) {
    return base::get_or<bool>(body, key, false) && !function;
  };
  if (missing("prepare", m_library->prepare) || missing("plan", m_library->plan))
    return tl::unexpected(
        Refusal{"load_failed", "the artifact lacks ako_prepare or ako_plan", Json::object()});
  ako_measure_facts facts{};
  facts.size = sizeof facts;
  ako_measure_get_facts(m_measure.get(), &facts);
  return Json{{"hash", m_file->hash},
              {"has_prepare", m_library->prepare != nullptr},
              {"has_plan", m_library->plan != nullptr},
              {"libraries", m_library->libraries},
              {"threads_before", threads_before},
              {"threads_after", thread_count()},
              {"load_ns", took},
              {"interposed", m_library->interposed},
              {"changed", restored()},
              {"guest", guest},
              {"measure",
               {{"ticks_per_ns", facts.ticks_per_ns},
                {"timer_overhead_ns", facts.timer_overhead_ns},
                {"timer_noise_ns", facts.timer_noise_ns},
                {"cache_bytes", facts.cache_bytes},
                {"evict_bytes", facts.evict_bytes},
                {"counters", facts.counters != 0},
                {"clock", facts.tick_from == 0 ? "processor" : "monotonic"}}}};
}

Session::Answer Session::map(const Json& body) {
  if (m_device) return map_device(body);
  auto fd = take_fd();
  if (!fd) return tl::unexpected(fd.error());
  WORKER_TRY(const auto arena, base::get<std::string>(body, "arena"));
  WORKER_TRY(const auto address, protocol::get_hex(body, "address"));
  WORKER_TRY(const auto bytes, base::get<std::int64_t>(body, "bytes"));
  WORKER_TRY(auto mapping, base::Mapping::map(fd->get(), static_cast<std::size_t>(bytes), address,
                                              base::Access::read_write));
  m_arenas[arena] = std::move(mapping);
  return Json::object();
}

Session::Answer Session::unmap(const Json& body) {
  WORKER_TRY(const auto arena, base::get<std::string>(body, "arena"));
  if (m_device ? !m_device->unmap(arena) : m_arenas.erase(arena) == 0)
    return invalid("no such arena is mapped");
  return Json::object();
}

Session::Answer Session::use(const Json& body) {
  WORKER_TRY(const auto integers, base::get<Json>(body, "integers"));
  WORKER_TRY(const auto scalars, base::get<Json>(body, "scalars"));
  WORKER_TRY(const auto sets, base::get<Json>(body, "pointers"));
  WORKER_TRY(const auto bytes, base::get<Json>(body, "bytes"));
  m_integers.clear();
  m_scalars.clear();
  m_bytes.clear();
  m_pointers.clear();
  for (const auto& value : integers)
    m_integers.push_back(value.is_number_integer() ? value.get<std::int64_t>() : 0);
  for (const auto& value : scalars)
    m_scalars.push_back(value.is_number() ? value.get<double>() : 0);
  for (const auto& value : bytes)
    m_bytes.push_back(value.is_number_integer() ? value.get<std::int64_t>() : 0);
  for (const auto& set : sets) {
    auto& pointers = m_pointers.emplace_back();
    for (const auto& text : set) {
      WORKER_TRY(const auto address,
                 protocol::from_hex(text.is_string() ? text.get<std::string>() : ""));
      pointers.push_back(reinterpret_cast<void*>(address));
    }
    if (pointers.size() != m_bytes.size()) return invalid("as many sizes as tensors are needed");
  }
  if (m_guest) {
    Answer taken;
    if (auto ran = guarded([&] { taken = m_guest->ask("use", body); }); !ran)
      return tl::unexpected(ran.error());
    if (!taken) return tl::unexpected(taken.error());
    if (m_device) m_device->sampler().forget();
  }
  return Json::object();
}

} // namespace ako::worker
