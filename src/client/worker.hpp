// An untrusted child: loads one artifact, calls and times it on command. Every member waits for the
// answer or for the deadline, on the parent's clock, while it drains the worker's output.
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "client/arena.hpp"
#include "client/failure.hpp"
#include "client/keeper.hpp"
#include "model/artifact.hpp"
#include "model/contract.hpp"
#include "model/device.hpp"
#include "model/resolved.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ako::client {

enum class Sandbox { full, none }; ///< none: debuggers and profilers that must look inside

struct WorkerOptions {
  std::filesystem::path program; ///< empty = find_child_program()
  model::LaunchSpec spec;
  Sandbox sandbox = Sandbox::full;
  model::ResourceLimits limits;          ///< load_seconds, call_seconds, output_bytes are used
  std::optional<model::DeviceId> device; ///< where it runs; absent = the host
  std::vector<int> cores;                ///< affinity; empty = all that ako may use
  enum class Loads { library, images } loads = Loads::library; ///< images: for a replay
  std::int64_t flood_bytes = 64 << 20; ///< printed in all before it is ended
  std::int64_t disk_bytes = 64 << 20;  ///< in its private folder before it is ended
  /// Running at once before it is ended: several pools of one thread a core on the largest hosts.
  int most_threads = 4096;
};

/// What of the sandbox the kernel gave: each member true = in force.
struct SandboxReport {
  bool landlock = false, seccomp = false, user_namespace = false, pid_namespace = false,
       network_namespace = false, ipc_namespace = false, mount_namespace = false;
  bool counters = false;                    ///< hardware counters of its own calls may be read
  std::string label;                        ///< "full", or what is missing: "no landlock"
  base::Json device = base::Json::object(); ///< {uuid, timestamps: "cupti"|"events", fallback}
  base::Json guest = base::Json::object();  ///< an interpreter's facts: versions, time of imports
};

struct LoadReport {
  base::Hash hash; ///< of the bytes that were loaded
  bool has_prepare = false, has_plan = false;
  std::vector<std::string> libraries; ///< mapped because of the candidate
  int threads_before = 0, threads_after = 0;
  std::int64_t load_ns = 0;
  std::vector<std::string> interposed; ///< symbols of libc or of ako that the candidate defines too
  std::vector<std::string> changed;    ///< process state that loading changed: see CallReport
  SandboxReport sandbox;
  base::Json measure; ///< timer overhead, tick, cache, counters: the library's own facts
  base::Json guest = base::Json::object(); ///< an interpreter's: modules with path and hash
};

/// Arguments of calls at one shape: addresses per set, integers and scalars in contract order.
struct Binding {
  std::string tag;
  std::vector<std::int64_t> integers;
  std::vector<double> scalars;
  std::vector<std::vector<std::uint64_t>> pointers; ///< [set][tensor]
  std::vector<std::int64_t> bytes;                  ///< [tensor]: of its span
  /// What an interpreter needs to know besides: {tensors: [{name, role, dtype, shape, strides}],
  /// axes: [name], scalars: [name]}.
  base::Json described = base::Json::object();
};
/// All tensors in one arena.
base::Expected<Binding> bind(const model::Contract& contract, const model::ResolvedShape& shape,
                             const Arena& arena);
/// Tensors that lie in `own` (the reference's outputs and inouts) there, the rest in `shared`.
base::Expected<Binding> bind_reference(const model::Contract& contract,
                                       const model::ResolvedShape& shape, const Arena& shared,
                                       const Arena& own);

enum class Function { call, prepare, plan };

struct CallReport {
  std::int64_t ns = 0;
  int threads_before = 0, threads_after = 0;
  /// Process state that the call left changed and the worker put back: "cwd", "signal:11",
  /// "rounding", "flush_to_zero", "timer", "umask", "affinity", "environment", "rlimit".
  std::vector<std::string> changed;
  std::vector<std::string> libraries; ///< mapped since the answer before
  std::int64_t parent_wall_ns = 0;    ///< of the whole command, outside the worker
  /// What an interpreter compiled or tuned for this call: {compiled: [...], compile_ns, tuned:
  /// [...]}; empty = nothing.
  base::Json guest = base::Json::object();
};

/// One block: every set called exactly once, in the given order.
struct SampleJob {
  std::vector<int> sets;
  /// More: a warm pass over the sets so often, none of them read before it.
  int repeat = 1;
  std::vector<int> warmup_sets; ///< called before, untimed; may be called many times
  std::int64_t warmup_ns = 0;   ///< at least this long, at least once each
  /// cold: the cache is evicted by reads before every call (or before the first), and every call is
  /// timed alone.
  /// warm: the sets' lines are read first (not by the candidate), then the pass is timed as a
  /// whole.
  model::CacheState cache = model::CacheState::cold;
  /// once: right where no two sets share memory that is to be cold.
  enum class Eviction { every_call, once } eviction = Eviction::every_call;
  /// Tensors by index whose cache state differs from `cache`.
  std::vector<int> warm_tensors;
  model::Clock clock = model::Clock::device; ///< on a device; the host has one clock
  enum class Timing { automatic, each_call, whole_pass } timing = Timing::automatic;
};

struct Counters { ///< -1 where the kernel gives none
  std::int64_t cycles = -1, instructions = -1, cache_misses = -1;
};

struct SampleReport {
  std::vector<double> call_ns; ///< per call, in the job's order; empty for whole_pass
  double pass_ns = 0;          ///< sum of the calls, or the pass; timer overhead subtracted
  int calls = 0;
  double ns_per_call() const { return pass_ns / calls; }
  std::int64_t first_ns = 0, last_ns = 0; ///< monotonic clock, first timed call to the last
  std::int64_t warmup_calls = 0, warmup_spent_ns = 0, evict_spent_ns = 0;
  std::int64_t timer_overhead_ns = 0;
  int threads_before = 0, threads_after = 0, children = 0;
  std::int64_t cpu_ns = 0; ///< all threads of the worker in the timed part, its own count
  Counters counters;
  std::vector<std::string> changed;   ///< as in CallReport
  std::vector<std::string> libraries; ///< as in CallReport
  std::int64_t parent_wall_ns = 0;    ///< the command by the parent's clock
  std::int64_t parent_cpu_ns =
      0; ///< processor time of the worker's processes meanwhile, from outside
  std::int64_t parent_wait_ns = 0; ///< time they were ready and did not run
  std::string cache_state;         ///< "cold-clean", "warm", or what was reached instead
  /// On a device: {how, gate, label, operations, stray, busy_ns: [...]}; else empty.
  base::Json device = base::Json::object();
  int stray_operations = 0;             ///< on a device, outside the window of every call
  std::int64_t device_memory_taken = 0; ///< bytes, by the timed calls
  double window_ns =
      0; ///< on a device, by its own clock: all that passed around the calls; 0 = not known
  base::Json guest = base::Json::object(); ///< as in CallReport
};

/// Residency probe: does eviction evict, and does warming warm? Times of one line, in ns.
struct ResidencyReport {
  double cached_line_ns = 0, evicted_line_ns = 0, memory_line_ns = 0;
  double resident_share = 0; ///< of lines still in the cache after an eviction
  std::int64_t evict_ns = 0; ///< one eviction
};

/// What the parent sees of the worker's processes in /proc, without asking it.
struct Activity {
  int processes = 0, threads = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t wait_ns = 0; ///< ready to run, but another task held the core: foreign load
};

class Worker {
public:
  /// Starts the process and its sandbox; nothing of the candidate is loaded yet.
  static Answer<Worker> start(WorkerOptions options);
  /// start() in two: the process alone, from a thread that lives as long as it is to live; then its
  /// greeting and its sandbox, which may wait elsewhere while other children start.
  static Answer<Worker> launch(WorkerOptions options);
  Answer<void> greet();
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker(); ///< kills every process of it; removes its private folder

  /// Shares the keeper's eviction buffer. Before load().
  Answer<void> share_eviction(const Keeper& keeper);
  Answer<LoadReport> load();
  Answer<void> map(const Arena& arena);
  Answer<void> unmap(const Arena& arena);
  /// Gives the arguments for call and sample; replaces the binding before.
  Answer<void> use(const Binding& binding);
  /// One call on one set, timed alone; returned_error when it returns non-zero.
  Answer<CallReport> call(int set, Function function = Function::call);
  Answer<SampleReport> sample(const SampleJob& job);
  Answer<ResidencyReport> residency(int set);

  /// On a device: what the calls on these sets launch, captured and not run. No nodes: `why`.
  struct Captured {
    base::Json nodes = base::Json::array();
    std::string why;
  };
  Answer<Captured> capture(const std::vector<int>& sets);
  /// Of a worker that loads images: what its calls on set 0, 1, ... launch. After use().
  Answer<void> replay(const base::Json& nodes);

  /// Stops every thread so that nothing of it runs while another side is measured. Idempotent.
  base::Status pause();
  base::Status resume();
  Activity activity() const;

  /// Processor time used between the last answer and now, while it had nothing to do: stray work.
  /// Small values are the answer's own tail and idle OpenMP teams spinning out.
  std::int64_t idle_cpu_ns() const;
  /// Time in which it was ready to run meanwhile and did not get a core: stray work on a busy
  /// machine.
  std::int64_t idle_wait_ns() const;

  /// Kills it while another thread waits for its answer, which is then that it died.
  void end_from_outside();

  const std::string& label() const;
  const SandboxReport& sandbox() const; ///< what the kernel gave it; known after greet()
  bool alive() const;
  std::string out() const; ///< kept output so far
  std::string err() const;
  int pid() const;
  /// Ends it in order; a worker that does not go is killed. Idempotent.
  void quit();

private:
  Worker();
  struct State;
  std::unique_ptr<State> m_state;
};

} // namespace ako::client
