// Times calls on a device: queues them behind a gate, so that the host never paces them, and reads
// what each took from device timestamps, events, graph replays or the host's clock.
#pragma once

#include "ako/measure.h"
#include "device/activity.hpp"
#include "device/gate.hpp"
#include "device/kernels.hpp"
#include "device/replay.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ako::device {

enum class Clock { device, graph, call, events };
enum class Cache { cold, warm };

struct Span {
  std::uint64_t at = 0, bytes = 0;
  Cache cache = Cache::cold;
};

struct SampleJob {
  ako_call_fn call = nullptr;
  std::vector<void*const*> sets, warmup;
  const std::int64_t* integers = nullptr;
  const double* scalars = nullptr;
  std::vector<std::vector<Span>> spans; ///< [set]: what a call touches, and its state
  Clock clock = Clock::device;
  Cache cache = Cache::cold;
  std::int64_t warmup_ns = 0;
};

/// What one timed call did on the device.
struct TimedCall {
  double span_ns = 0; ///< begin of its first operation to the end of its last
  double busy_ns = 0; ///< of it, with at least one operation running
  /// Between ako's own kernels around it: what the call may have done without a record is in it.
  double window_ns = 0;
  int kernels = 0, copies = 0, sets = 0;
};

struct SampleResult {
  std::vector<double> call_ns;  ///< by the clock asked for
  std::vector<TimedCall> calls; ///< clock device alone
  std::string how;              ///< "cupti", "events", "graph", "host"
  std::string gate;             ///< "held", or why there is none
  int gate_opened_early = 0;    ///< groups of calls during which the watch opened it
  std::string label;            ///< of a fall-back; empty = as asked
  std::int64_t warmup_calls = 0, warmup_spent_ns = 0, evict_spent_ns = 0;
  std::int64_t first_ns = 0, last_ns = 0; ///< monotonic clock of this process
  int stray = 0;                          ///< operations that lay outside the window of every call
  int left_behind = 0;                    ///< that came when an earlier call had been waited for
  std::int64_t memory_taken = 0;          ///< of the device, by the timed part
  int code = 0;                           ///< the kernel's, when it was not 0
  std::size_t failed = 0;                 ///< index of the call that returned it
  bool in_warmup = false;
  std::string fault; ///< the driver's words when the context is lost; the process must end
};

/// Lives as long as the process measures. The eviction buffer was written long ago; it is only
/// read.
class Sampler {
public:
  static base::Expected<std::unique_ptr<Sampler>> make(const Gpu& gpu);
  ~Sampler();
  /// Kernels, and at least twice the last-level cache to read through.
  base::Status use(Kernels kernels, std::uint64_t evict_at, std::uint64_t evict_bytes);
  bool ready() const { return m_kernels.has_value(); }
  bool can_evict() const { return m_evict_bytes > 0; }
  const std::string& fallback() const { return m_fallback; } ///< why no device timestamps
  const Kernels& kernels() const { return *m_kernels; }
  Gate& gate() { return m_gate; }
  abi::Stream stream() const { return m_stream; }

  /// An error is ako's or the machine's; the kernel's failures are in the result.
  base::Expected<SampleResult> run(const SampleJob& job);
  /// Time of one call alone, synchronised; the code it returned.
  struct Single {
    std::int64_t ns = 0;
    int code = 0;
    int operations = -1; ///< on the device; -1 = not known
    std::string fault;
  };
  base::Expected<Single> call_once(ako_call_fn call, void* const* tensors,
                                   const std::int64_t* integers, const double* scalars);

  /// What one call puts into the stream when it is captured, which runs nothing. Kind unsupported,
  /// saying why, where that cannot be launched elsewhere.
  struct Captured {
    std::vector<Node> nodes;
    int code = 0; ///< what the call returned
  };
  base::Expected<Captured> capture_once(ako_call_fn call, void* const* tensors,
                                        const std::int64_t* integers, const double* scalars);

  /// What ran on the device until now is nobody's call: library constructors, allocations of an
  /// interpreter.
  void forget();

  struct Residency {
    double cached_cycles = 0, evicted_cycles = 0, memory_cycles = 0, resident_share = 0;
    double evict_ns = 0;
  };
  double clock_ghz() const; ///< the SM clock's datasheet maximum: for turning cycles into time
  base::Expected<Residency> probe(std::uint64_t data, std::uint64_t bytes);

private:
  explicit Sampler(const Gpu& gpu) : m_gpu(gpu) {}
  struct Group;
  int invoke(const SampleJob& job, void* const* tensors) const;
  base::Status evict();
  /// What a device in use has behind it and one that idled, or worked for another process, has not:
  /// addresses of the calls begin..end translated, memory at its own pace. How many kernels it
  /// took.
  base::Expected<int> wake(const SampleJob& job, std::size_t begin, std::size_t end);
  base::Expected<int> left_behind();
  std::int64_t free_bytes() const;
  base::Expected<int> prepare(const SampleJob& job, std::size_t set);
  base::Status finish(SampleResult& result);
  void note_early();
  base::Status warm_up(const SampleJob& job, SampleResult& result);
  base::Status run_records(const SampleJob& job, SampleResult& result);
  base::Status run_events(const SampleJob& job, SampleResult& result);
  base::Status run_host(const SampleJob& job, SampleResult& result);
  base::Status queue_group(const SampleJob& job, std::size_t begin, std::size_t end,
                           SampleResult& result, std::vector<int>& marks);
  base::Status read_lines(const std::vector<std::uint64_t>& lines, std::vector<std::uint32_t>& out);

  const Gpu& m_gpu;
  std::optional<Kernels> m_kernels;
  Activity* m_activity = nullptr;
  std::string m_fallback;
  abi::Stream m_stream = nullptr;
  Gate m_gate;
  Memory m_sink;
  std::uint64_t m_evict_at = 0, m_evict_bytes = 0;
  int m_operations = 1; ///< of one call, as last seen
  int m_late = 0;       ///< operations left behind by calls of before, still to be told
  int m_early = 0;      ///< groups in a row whose gate the watch opened
};

/// Sorts records into the windows between ako's own kernels: `marks[i]` of these were queued before
/// call i, and one after the last. Fails when there are not as many as were queued. A kernel of the
/// same stream may start while the one before it ends (programmatic dependent launch): it belongs
/// to the call behind that one, from its own begin on.
base::Status assign(const std::vector<Record>& records, const std::vector<int>& marks,
                    std::vector<TimedCall>& calls, int& stray);

} // namespace ako::device
