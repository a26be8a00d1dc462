// What the scripted driver cannot show: each question about the real driver asked in a process of
// its own, answered on a line of its own. One that fails ends no other.
//   ako-gpu-rim LIBRARY.so        all questions on the first device
#include "base/json.hpp"
#include "base/time.hpp"
#include "device/inventory.hpp"
#include "device/sampler.hpp"
#include "device/telemetry.hpp"
#include "protocol/crash.hpp"
#include "worker/crash.hpp"
#include "worker/namespaces.hpp"
#include "worker/sandbox.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace ako;
using base::Json;

constexpr std::uint64_t k_address = 0x7e90'0000'0000;
constexpr std::int64_t k_bytes = 64 << 20;

std::string g_uuid, g_library;

double ms_since(std::int64_t begin) {
  return static_cast<double>(base::monotonic_ns() - begin) / 1e6;
}

/// Runs one question in a child; what it prints goes to the terminal.
void ask(const char* name, int seconds, const std::function<void()>& body) {
  std::fflush(stdout);
  const auto begin = base::monotonic_ns();
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(static_cast<unsigned>(seconds));
    body();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  fmt::print("== {}: {} {} ({:.0f} ms)\n", name, WIFSIGNALED(status) ? "SIGNAL" : "exit",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), ms_since(begin));
}

template <class T> T must(base::Expected<T> value) {
  if (value) return std::move(*value);
  fmt::print("FAILED {}\n", value.error().text());
  std::fflush(stdout);
  _exit(3);
}
void must(const base::Status& status) {
  if (status) return;
  fmt::print("FAILED {}\n", status.error().text());
  std::fflush(stdout);
  _exit(3);
}

struct Bench {
  device::Gpu gpu;
  std::unique_ptr<device::Sampler> sampler;
  device::Shared evict;
};

std::unique_ptr<Bench> bench(double factor = 2) {
  auto t = base::monotonic_ns();
  auto gpu = must(device::Gpu::open(g_uuid));
  auto out = std::unique_ptr<Bench>(new Bench{std::move(gpu), nullptr, {}});
  const double open_ms = ms_since(t);
  t = base::monotonic_ns();
  out->sampler = must(device::Sampler::make(out->gpu));
  const double sampler_ms = ms_since(t);
  t = base::monotonic_ns();
  auto image = must(device::compile_kernels(out->gpu.facts(), "/tmp/ako-rim-cache"));
  const double compile_ms = ms_since(t);
  t = base::monotonic_ns();
  auto kernels = must(device::Kernels::load(out->gpu, image));
  const auto bytes =
      static_cast<std::int64_t>(factor * static_cast<double>(out->gpu.facts().l2_bytes));
  out->evict = must(device::Shared::make(out->gpu, bytes, 0));
  must(out->gpu.ok(out->gpu.api().set_bytes(out->evict.at(), 0x5a, static_cast<std::size_t>(bytes),
                                            out->gpu.stream()),
                   "set"));
  must(out->gpu.wait());
  must(out->sampler->use(std::move(kernels), out->evict.at(), static_cast<std::uint64_t>(bytes)));
  fmt::print("open {:.1f} ms, sampler {:.1f} ms ({}), kernels {:.1f} ms, load and evict {:.1f} ms, "
             "gate '{}'\n",
             open_ms, sampler_ms, out->sampler->fallback(), compile_ms, ms_since(t),
             out->sampler->gate().unavailable());
  return out;
}

void show(const char* what, const base::Expected<device::SampleResult>& result) {
  if (!result) {
    fmt::print("{}: FAILED {}\n", what, result.error().text());
    return;
  }
  auto sorted = result->call_ns;
  std::sort(sorted.begin(), sorted.end());
  double mean = 0, busy = 0;
  int kernels = 0, copies = 0, sets = 0;
  for (double v : sorted) mean += v / static_cast<double>(sorted.size());
  for (const auto& call : result->calls) {
    busy += call.busy_ns / static_cast<double>(result->calls.size());
    kernels += call.kernels;
    copies += call.copies;
    sets += call.sets;
  }
  fmt::print("{}: how {} gate '{}' early {} n {} mean {:.1f} median {:.1f} min {:.1f} p95 {:.1f} "
             "busy {:.1f} "
             "kernels {} copies {} sets {} stray {} code {} fault '{}' label '{}' evict {:.1f} us, "
             "wall {:.2f} ms\n",
             what, result->how, result->gate, result->gate_opened_early, sorted.size(), mean,
             sorted.empty() ? 0 : sorted[sorted.size() / 2], sorted.empty() ? 0 : sorted.front(),
             sorted.empty() ? 0 : sorted[sorted.size() * 95 / 100], busy, kernels, copies, sets,
             result->stray, result->code, result->fault, result->label,
             static_cast<double>(result->evict_spent_ns) / 1e3 /
                 std::max<double>(1, static_cast<double>(sorted.size())),
             static_cast<double>(result->last_ns - result->first_ns) / 1e6);
}

ako_call_fn load_candidate() {
  void* handle = dlopen(g_library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fmt::print("FAILED dlopen {}\n", dlerror());
    _exit(3);
  }
  return reinterpret_cast<ako_call_fn>(dlsym(handle, "ako_call"));
}

void sample_modes(Bench& b, std::uint64_t at, std::initializer_list<int> modes) {
  auto call = load_candidate();
  std::vector<void*> pointers{reinterpret_cast<void*>(at),
                              reinterpret_cast<void*>(at + (16 << 20))};
  for (int mode : modes) {
    const std::int64_t integers[] = {mode, 64, 4096};
    device::SampleJob job;
    job.call = call;
    for (int i = 0; i < 40; ++i) job.sets.push_back(pointers.data());
    job.warmup = {pointers.data(), pointers.data()};
    job.integers = integers;
    for (int i = 0; i < 40; ++i)
      job.spans.push_back({{at, 64 * 4096 * 4, device::Cache::cold},
                           {at + (16 << 20), 64 * 4096 * 4, device::Cache::cold}});
    show(fmt::format("mode {} cold", mode).c_str(), b.sampler->run(job));
    for (auto& spans : job.spans)
      for (auto& span : spans) span.cache = device::Cache::warm;
    job.cache = device::Cache::warm;
    show(fmt::format("mode {} warm", mode).c_str(), b.sampler->run(job));
    if (mode == 3) continue;
    for (auto clock : {device::Clock::graph, device::Clock::events, device::Clock::call}) {
      job.clock = clock;
      show(fmt::format("mode {} clock {}", mode, static_cast<int>(clock)).c_str(),
           b.sampler->run(job));
    }
    job.clock = device::Clock::device;
  }
}

void inventory() { fmt::print("{}\n", base::dump_json(device::inventory(), 1)); }

void telemetry() {
  const auto watch = must(device::Telemetry::open(g_uuid));
  for (int i = 0; i < 3; ++i) {
    const auto begin = base::monotonic_ns();
    const auto state = watch.read();
    fmt::print("read {:.3f} ms {}\n", ms_since(begin), base::dump_json(device::to_json(state)));
  }
  auto table = must(device::nvml());
  device::abi::NvmlDevice handle = nullptr;
  (void)table->by_uuid(g_uuid.c_str(), &handle);
  const auto time = [](const char* name, const std::function<int()>& call) {
    const auto begin = base::monotonic_ns();
    const int result = call();
    fmt::print("{} -> {} in {:.3f} ms\n", name, result, ms_since(begin));
  };
  unsigned v = 0, count = 64;
  unsigned long long reasons = 0;
  device::abi::NvmlProcess list[64];
  device::abi::NvmlUtilization use{};
  for (int i = 0; i < 2; ++i) {
    time("clock", [&] { return table->clock(handle, 1, &v); });
    time("power", [&] { return table->power(handle, &v); });
    time("temperature", [&] { return table->temperature(handle, 0, &v); });
    time("reasons", [&] { return table->reasons(handle, &reasons); });
    time("processes", [&] {
      count = 64;
      return table->processes(handle, &count, list);
    });
    time("utilization", [&] { return table->utilization(handle, &use); });
  }
}

/// A contained worker, as ako starts it: driver and CUPTI first, then the sandbox, then memory that
/// another process made.
void contained(const std::vector<int>& modes, bool kill_it) {
  auto gpu = must(device::Gpu::open(g_uuid));
  auto t = base::monotonic_ns();
  auto shared = must(device::Shared::make(gpu, k_bytes, k_address));
  fmt::print("made {:.2f} ms at {:#x}\n", ms_since(t), shared.at());
  std::vector<unsigned> pattern(1024, 0x12345678);
  must(gpu.copy_in(shared.at(), std::as_bytes(std::span(pattern))));
  const int fd = must(shared.export_fd());
  fcntl(fd, F_SETFD, 0);
  int crash[2], ready[2];
  if (pipe(crash) != 0 || pipe(ready) != 0) _exit(4);
  std::fflush(stdout);
  const pid_t child = fork(); // as a fresh process: execs itself
  if (child == 0) {
    std::string list;
    for (int mode : modes) list += (list.empty() ? "" : ",") + std::to_string(mode);
    execl("/proc/self/exe", "rim", g_library.c_str(), "worker", g_uuid.c_str(),
          std::to_string(fd).c_str(), std::to_string(crash[1]).c_str(),
          std::to_string(ready[1]).c_str(), list.c_str(), nullptr);
    _exit(5);
  }
  close(crash[1]);
  close(ready[1]);
  if (kill_it) {
    char byte = 0;
    if (read(ready[0], &byte, 1) != 1) fmt::print("the worker ended before its endless kernel\n");
    usleep(300'000);
    t = base::monotonic_ns();
    kill(child, SIGKILL);
  } else {
    usleep(700'000);
    kill(child, SIGSTOP);
    usleep(50'000);
    kill(child, SIGCONT);
  }
  int status = 0;
  waitpid(child, &status, 0);
  fmt::print("worker ended with {:#x} after {:.1f} ms\n", status, kill_it ? ms_since(t) : 0);
  protocol::CrashRecord record;
  pollfd entry{crash[0], POLLIN, 0};
  if (poll(&entry, 1, 100) > 0 && read(crash[0], &record, sizeof record) == sizeof record)
    fmt::print("crash record: signal {} system call {} ({})\n", record.signal, record.system_call,
               protocol::system_call_name(record.system_call));
  t = base::monotonic_ns();
  must(gpu.copy_out(std::as_writable_bytes(std::span(pattern)), shared.at() + (16 << 20)));
  fmt::print("keeper still works: {:.2f} ms, word {:#x}\n", ms_since(t), pattern[0]);
  t = base::monotonic_ns();
  auto again = device::Shared::make(gpu, k_bytes, 0);
  fmt::print("keeper makes memory: {} {:.2f} ms\n", again ? "ok" : again.error().text(),
             ms_since(t));
}

int worker_role(char** argv) {
  g_library = argv[1];
  g_uuid = argv[3];
  const int fd = std::atoi(argv[4]), crash = std::atoi(argv[5]), ready = std::atoi(argv[6]);
  const std::string modes = argv[7];
  worker::run_contained({}, [&](const worker::Namespaces& entered) {
    worker::install_crash_handlers(crash);
    fmt::print("namespaces user {} pid {} net {} mount {}\n", entered.user, entered.pid,
               entered.network, entered.mount);
    std::fflush(stdout);
    auto b = bench();
    auto before = device::Shared::adopt(b->gpu, fd, k_bytes, 0, device::Mapped::read);
    fmt::print("adopted before the sandbox: {}\n", before ? "ok" : before.error().text());
    worker::SandboxPlan plan;
    plan.scratch = "/tmp";
    plan.file_bytes = 64 << 20;
    plan.own_proc = entered.pid && entered.mount;
    for (const auto& entry : std::filesystem::directory_iterator("/dev"))
      if (entry.path().filename().string().starts_with("nvidia"))
        plan.device_paths.push_back(entry.path().string());
    plan.read_paths = {std::filesystem::path(g_library).parent_path().string()};
    const auto state = worker::enter_sandbox(plan);
    fmt::print("landlock {} seccomp {} devices {}\n", state.landlock, state.seccomp,
               plan.device_paths.size());
    std::fflush(stdout);
    auto t = base::monotonic_ns();
    auto shared =
        must(device::Shared::adopt(b->gpu, fd, k_bytes, k_address, device::Mapped::read_write));
    fmt::print("adopted {:.2f} ms at {:#x}\n", ms_since(t), shared.at());
    std::vector<unsigned> words(1024, 0);
    must(b->gpu.copy_out(std::as_writable_bytes(std::span(words)), shared.at()));
    fmt::print("the maker's word: {:#x}\n", words[0]);
    auto again = device::Shared::adopt(b->gpu, fd, k_bytes, 0, device::Mapped::read);
    if (again) {
      const auto wrote = b->gpu.copy_in(again->at() + (32 << 20), std::as_bytes(std::span(words)));
      fmt::print("read-only mapping: writing {}\n", wrote ? "WORKED" : wrote.error().text());
    } else {
      fmt::print("read-only mapping: {}\n", again.error().text());
    }
    std::fflush(stdout);
    std::vector<int> list;
    for (const char* at = modes.c_str(); *at; ++at)
      if (*at != ',') list.push_back(*at - '0');
    if (list.size() == 1 && list[0] == 2 && write(ready, "x", 1) != 1) return 1;
    for (int mode : list) sample_modes(*b, shared.at(), {mode});
    std::fflush(stdout);
    return 0;
  });
}

void spin() {
  auto b = bench();
  const auto sink = must(device::Memory::take(b->gpu, 64));
  static device::Kernels* kernels = nullptr;
  static const device::Gpu* gpu = nullptr;
  static std::uint64_t ns = 0, out = 0;
  auto own = must(device::Kernels::load(b->gpu, b->sampler->kernels().image()));
  kernels = &own;
  gpu = &b->gpu;
  out = sink.at();
  // Named other than ako_*, the sampler would take it for its own; so the launch goes by a copy.
  for (std::uint64_t wanted :
       {0, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 1000000, 10000000}) {
    ns = wanted;
    const auto call = [](void* const*, const std::int64_t*, const double*, void* stream) {
      return kernels->launch("spin_kernel", device::SpinParams{ns, 0, 0, out}, 1, 32,
                             static_cast<device::abi::Stream>(stream))
                 ? 0
                 : 1;
    };
    void* const* none = nullptr;
    device::SampleJob job;
    job.call = call;
    job.cache = device::Cache::warm;
    job.sets.assign(wanted >= 1000000 ? 20 : 200, none);
    job.warmup.assign(3, none);
    show(fmt::format("spin {}", wanted).c_str(), b->sampler->run(job));
    std::uint64_t took = 0;
    must(gpu->copy_out(std::as_writable_bytes(std::span(&took, 1)), out));
    fmt::print("  own timer {}\n", took);
    if (wanted <= 100000 && wanted >= 500) {
      job.clock = device::Clock::graph;
      show("   graph", b->sampler->run(job));
      job.clock = device::Clock::events;
      show("   events", b->sampler->run(job));
    }
  }
}

void queue_depth() {
  auto b = bench();
  const auto sink = must(device::Memory::take(b->gpu, 64));
  for (int round = 0; round < 2; ++round) {
    must(b->sampler->gate().close(b->sampler->stream()));
    int i = 0;
    double worst = 0;
    const auto begin = base::monotonic_ns();
    for (; i < 4000; ++i) {
      const auto t = base::monotonic_ns();
      must(b->sampler->kernels().launch("ako_mark", device::ReadParams{0, 0, sink.at()}, 1, 32,
                                        b->sampler->stream()));
      worst = ms_since(t);
      if (worst > 10) break;
    }
    fmt::print("queue took {} launches in {:.2f} ms; the last waited {:.1f} ms; opened early {}\n",
               i, ms_since(begin), worst, b->sampler->gate().opened_early());
    b->sampler->gate().open();
    must(b->gpu.ok(b->gpu.api().context_wait(), "wait"));
  }
}

void residency() {
  for (double factor : {0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0}) {
    auto b = bench(factor);
    const auto data = must(device::Memory::take(b->gpu, 4 << 20));
    for (int i = 0; i < 2; ++i) {
      const auto r = must(b->sampler->probe(data.at(), 4 << 20));
      fmt::print("factor {}: cached {} evicted {} memory {} cycles, resident {:.3f}\n", factor,
                 r.cached_cycles, r.evicted_cycles, r.memory_cycles, r.resident_share);
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc >= 8 && std::string_view(argv[2]) == "worker") return worker_role(argv);
  if (argc == 3 && std::string_view(argv[1]) == "compile") { // needs NVRTC, no device
    device::GpuFacts facts;
    facts.major = std::atoi(argv[2]) / 10;
    facts.minor = std::atoi(argv[2]) % 10;
    const auto begin = base::monotonic_ns();
    const auto image = must(device::compile_kernels(facts, ""));
    fmt::print("{} bytes in {:.0f} ms\n", image.size(), ms_since(begin));
    return 0;
  }
  if (argc != 2) return 2;
  g_library = argv[1];
  ask("inventory", 30, inventory);
  // The parent makes no context of its own: a fork of one would be of no use to its children.
  int ends[2];
  if (pipe(ends) != 0) return 1;
  ask("uuid", 30, [&] {
    const auto all = must(device::list_gpus());
    if (!all.empty()) (void)!write(ends[1], all[0].uuid.data(), all[0].uuid.size());
  });
  char text[64] = {};
  const auto got = read(ends[0], text, sizeof text - 1);
  if (got <= 0) return 1;
  g_uuid = std::string(text, static_cast<std::size_t>(got));
  ask("telemetry", 30, telemetry);
  ask("plain worker", 60, [] {
    auto b = bench();
    const auto data = must(device::Memory::take(b->gpu, k_bytes));
    sample_modes(*b, data.at(), {0, 4, 5, 3});
  });
  ask("contained worker", 60, [] { contained({0, 4}, false); });
  ask("illegal access", 60, [] { contained({1}, false); });
  ask("endless kernel killed", 90, [] { contained({2}, true); });
  ask("spin", 90, spin);
  ask("queue depth", 30, queue_depth);
  ask("residency", 90, residency);
  return 0;
}
