#include "device/sampler.hpp"

#include "base/time.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <random>
#include <utility>

namespace ako::device {
namespace {

constexpr unsigned k_threads = 256;
/// Launches queued behind one closed gate: a stream takes about a thousand before the host waits.
constexpr int k_most_queued = 320;
constexpr std::size_t k_most_group = 64;

/// An H200 that idled for 20 ms reads the first 128 MB some 30 us slower.
constexpr std::uint64_t k_wake_ns = 200'000;
/// The smallest page that drivers use for device memory.
constexpr std::uint64_t k_touch_step = 64 << 10;

bool is_ours(const Record& record) { return record.name.starts_with("ako_"); }

} // namespace

base::Expected<std::unique_ptr<Sampler>> Sampler::make(const Gpu& gpu) {
  std::unique_ptr<Sampler> sampler(new Sampler(gpu));
  auto activity = Activity::start();
  if (activity) sampler->m_activity = *activity;
  else sampler->m_fallback = activity.error().text();
  AKO_TRY_STATUS(gpu.ok(gpu.api().stream_make(&sampler->m_stream, abi::k_stream_non_blocking),
                        "making a stream"));
  AKO_TRY(sampler->m_sink, Memory::take(gpu, 64));
  AKO_TRY_STATUS(sampler->m_gate.open_on(gpu));
  return sampler;
}

Sampler::~Sampler() {
  // A lost context took its streams along, or a kernel ended this one itself.
  if (m_stream && m_gpu.lost().empty()) (void)m_gpu.api().stream_end(m_stream);
}

base::Status Sampler::use(Kernels kernels, std::uint64_t evict_at, std::uint64_t evict_bytes) {
  m_kernels.emplace(std::move(kernels));
  m_evict_at = evict_at;
  m_evict_bytes = evict_bytes;
  // Modules are loaded at a function's first launch, which waits for the device: behind a closed
  // gate it would wait for ever.
  for (const char* name : {"ako_sweep", "ako_warm", "ako_mark"})
    AKO_TRY_STATUS(m_kernels->launch(name, ReadParams{0, 0, m_sink.at()}, 1, 32, m_stream));
  // One arena of nothing to touch: only for the modules to be loaded.
  SampleJob nothing;
  nothing.spans = {{{m_sink.at(), 8, Cache::cold}}};
  AKO_TRY(const int woken, wake(nothing, 0, 1));
  static_cast<void>(woken);
  return m_gpu.ok(m_gpu.api().stream_wait(m_stream), "loading ako's kernels");
}

void Sampler::note_early() {
  // Once may be a function's first launch; a kernel that waits for the device does it every time.
  m_early = m_gate.opened_early() ? m_early + 1 : 0;
  if (m_early >= 2) m_gate.give_up("none: the kernel waits for the device itself");
}

int Sampler::invoke(const SampleJob& job, void* const* tensors) const {
  return job.call(tensors, job.integers, job.scalars, m_stream);
}

base::Status Sampler::evict() {
  const ReadParams params{m_evict_at, m_evict_bytes, m_sink.at()};
  return m_kernels->launch("ako_sweep", params,
                           std::max(1u, m_kernels->blocks_for(m_evict_bytes / 32, k_threads) / 2),
                           k_threads, m_stream); // half: all of them at once
}

base::Expected<int> Sampler::wake(const SampleJob& job, std::size_t begin, std::size_t end) {
  int queued = 0;
  std::uint64_t low = UINT64_MAX, high = 0;
  for (std::size_t i = begin; i < std::min(end, job.spans.size()); ++i)
    for (const auto& span : job.spans[i])
      if (span.bytes > 0) low = std::min(low, span.at), high = std::max(high, span.at + span.bytes);
  if (low + 8 <= high) { // one arena holds them all, and what lies between them
    constexpr unsigned k_wide = 512;
    const auto blocks = static_cast<unsigned>(
        std::max(1, m_gpu.facts().sm_count * m_gpu.facts().threads_per_sm) / k_wide);
    const TouchParams params{low / 8 * 8, (high - low) / 8 * 8, m_sink.at(), k_touch_step};
    AKO_TRY_STATUS(m_kernels->launch("ako_touch", params, std::max(1u, blocks), k_wide, m_stream));
    ++queued;
  }
  if (!can_evict()) return queued;
  AKO_TRY_STATUS(m_kernels->launch(
      "ako_wake", WakeParams{m_evict_at, m_evict_bytes, m_sink.at(), k_wake_ns},
      std::max(1u, m_kernels->blocks_for(m_evict_bytes / 32, k_threads) / 2), // all at once
      k_threads, m_stream));
  return queued + 1;
}

/// Queues what brings the caches into the wanted state before a call; how many kernels that took.
base::Expected<int> Sampler::prepare(const SampleJob& job, std::size_t set) {
  int queued = 0;
  if (job.cache == Cache::cold) {
    AKO_TRY_STATUS(evict());
    ++queued;
  }
  if (set < job.spans.size())
    for (const auto& span : job.spans[set]) {
      if (span.cache != Cache::warm || span.bytes < 32) continue;
      const ReadParams params{span.at, span.bytes, m_sink.at()};
      AKO_TRY_STATUS(m_kernels->launch("ako_warm", params,
                                       m_kernels->blocks_for(span.bytes / 32, k_threads), k_threads,
                                       m_stream));
      ++queued;
    }
  if (queued > 0) return queued;
  AKO_TRY_STATUS(m_kernels->launch("ako_mark", ReadParams{0, 0, m_sink.at()}, 1, 32, m_stream));
  return 1;
}

/// Waits for all that was queued; a lost context becomes the result's fault.
base::Status Sampler::finish(SampleResult& result) {
  m_gate.open();
  auto code = m_gpu.api().stream_wait(m_stream);
  if (code == abi::k_success) code = m_gpu.api().context_wait();
  if (code == abi::k_success) return {};
  const auto done = m_gpu.ok(code, "running the kernel");
  // The stream was good when the call began: whoever ended it ended the context.
  const bool gone = code == abi::k_invalid_context || code == abi::k_invalid_handle;
  if (gone) m_gpu.give_up("the context was taken away: " + words_of(m_gpu.api(), code));
  if (m_gpu.lost().empty()) return done;
  result.fault = m_gpu.lost();
  return {};
}

void Sampler::forget() {
  if (m_activity) (void)m_activity->collect();
}

/// Operations of the candidate that came after its last call had been waited for.
base::Expected<int> Sampler::left_behind() {
  if (!m_activity) return 0;
  AKO_TRY(const auto records, m_activity->collect());
  return static_cast<int>(std::count_if(records.begin(), records.end(),
                                        [](const auto& each) { return !is_ours(each); }));
}

std::int64_t Sampler::free_bytes() const {
  const auto room = m_gpu.room();
  return room ? room->free : 0;
}

base::Status Sampler::warm_up(const SampleJob& job, SampleResult& result) {
  AKO_TRY(const int late, left_behind());
  result.left_behind = std::exchange(m_late, 0) + late;
  const auto begin = base::monotonic_ns();
  do {
    for (std::size_t i = 0; i < job.warmup.size(); ++i) {
      const int code = invoke(job, job.warmup[i]);
      AKO_TRY_STATUS(finish(result));
      if (code == 0 && result.fault.empty()) {
        ++result.warmup_calls;
        continue;
      }
      result.code = code;
      result.failed = i;
      result.in_warmup = true;
      return {};
    }
  } while (!job.warmup.empty() && base::monotonic_ns() - begin < job.warmup_ns);
  result.warmup_spent_ns = base::monotonic_ns() - begin;
  if (m_activity && result.warmup_calls > 0) {
    AKO_TRY(const auto records, m_activity->collect());
    m_operations = std::max<int>(
        1, static_cast<int>(static_cast<std::int64_t>(records.size()) / result.warmup_calls));
  }
  return {};
}

base::Expected<SampleResult> Sampler::run(const SampleJob& job) {
  if (!m_kernels)
    return base::fail(base::ErrorKind::internal, "nothing was shared with this worker yet");
  if (job.cache == Cache::cold && m_evict_bytes == 0)
    return base::fail(base::ErrorKind::internal, "a cold job without an eviction buffer");
  SampleResult result;
  const bool host = job.clock == Clock::call;
  if (m_activity && host) m_activity->pause();
  if (m_activity && !host) m_activity->resume();
  AKO_TRY_STATUS(warm_up(job, result));
  if (result.code != 0 || !result.fault.empty()) return result;
  const auto free_before = free_bytes();
  result.first_ns = base::monotonic_ns();
  const bool records = job.clock == Clock::device && m_activity;
  if (job.clock == Clock::device && !m_activity) result.label = m_fallback;
  AKO_TRY_STATUS(host      ? run_host(job, result)
                 : records ? run_records(job, result)
                           : run_events(job, result));
  result.last_ns = base::monotonic_ns();
  if (result.fault.empty()) result.memory_taken = free_before - free_bytes();
  return result;
}

base::Status Sampler::queue_group(const SampleJob& job, std::size_t begin, std::size_t end,
                                  SampleResult& result, std::vector<int>& marks) {
  AKO_TRY_STATUS(m_gate.close(m_stream));
  AKO_TRY(int woken, wake(job, begin, end));
  for (std::size_t i = begin; i < end; ++i) {
    AKO_TRY(const int queued, prepare(job, i));
    marks.push_back(std::exchange(woken, 0) + queued);
    if (const int code = invoke(job, job.sets[i])) {
      result.code = code;
      result.failed = i;
      return {};
    }
  }
  return m_kernels->launch("ako_mark", ReadParams{0, 0, m_sink.at()}, 1, 32, m_stream);
}

base::Status Sampler::run_records(const SampleJob& job, SampleResult& result) {
  result.how = "cupti";
  const auto group = std::clamp<std::size_t>(
      static_cast<std::size_t>(k_most_queued / (m_operations + 3)), 1, k_most_group);
  for (std::size_t begin = 0; begin < job.sets.size(); begin += group) {
    const auto end = std::min(begin + group, job.sets.size());
    std::vector<int> marks;
    auto queued = queue_group(job, begin, end, result, marks);
    AKO_TRY_STATUS(finish(result));
    result.gate_opened_early += m_gate.opened_early();
    note_early();
    if (!result.fault.empty() || result.code != 0) return {};
    AKO_TRY_STATUS(queued);
    AKO_TRY(const auto records, m_activity->collect());
    std::vector<TimedCall> calls;
    AKO_TRY_STATUS(assign(records, marks, calls, result.stray));
    for (const auto& record : records)
      if (record.name == "ako_sweep")
        result.evict_spent_ns += static_cast<std::int64_t>(record.end_ns - record.start_ns);
    for (const auto& call : calls) {
      result.calls.push_back(call);
      result.call_ns.push_back(call.span_ns);
    }
  }
  result.gate = m_gate.unavailable().empty() ? "held" : m_gate.unavailable();
  return {};
}

base::Status Sampler::run_host(const SampleJob& job, SampleResult& result) {
  result.how = "host";
  result.gate = "none";
  for (std::size_t i = 0; i < job.sets.size(); ++i) {
    AKO_TRY_STATUS(prepare(job, i));
    AKO_TRY_STATUS(finish(result));
    const auto begin = base::monotonic_ns();
    result.code = invoke(job, job.sets[i]);
    AKO_TRY_STATUS(finish(result));
    const auto end = base::monotonic_ns();
    result.failed = i;
    if (result.code != 0 || !result.fault.empty()) return {};
    result.call_ns.push_back(static_cast<double>(end - begin));
  }
  return {};
}

base::Expected<Sampler::Single> Sampler::call_once(ako_call_fn call, void* const* tensors,
                                                   const std::int64_t* integers,
                                                   const double* scalars) {
  if (m_activity) {
    m_activity->resume();
    AKO_TRY(const int late, left_behind());
    m_late += late;
  }
  Single single;
  SampleResult result;
  const auto begin = base::monotonic_ns();
  single.code = call(tensors, integers, scalars, m_stream);
  AKO_TRY_STATUS(finish(result));
  single.ns = base::monotonic_ns() - begin;
  single.fault = result.fault;
  if (m_activity && single.fault.empty()) {
    AKO_TRY(const auto records, m_activity->collect());
    single.operations = static_cast<int>(records.size());
    m_operations = std::max(1, single.operations);
  }
  return single;
}

namespace {

/// From the end of one kernel of ours to the begin of the next.
struct CallWindow {
  const Record& before;
  const Record& after;
  double length() const {
    return after.start_ns > before.end_ns ? static_cast<double>(after.start_ns - before.end_ns) : 0;
  }
  bool holds(const Record& record) const {
    const bool early = record.stream == before.stream && record.start_ns >= before.start_ns &&
                       record.end_ns >= before.end_ns;
    return (record.start_ns >= before.end_ns || early) && record.end_ns <= after.start_ns;
  }
};

} // namespace

base::Status assign(const std::vector<Record>& records, const std::vector<int>& marks,
                    std::vector<TimedCall>& calls, int& stray) {
  std::vector<const Record*> ours;
  for (const auto& record : records)
    if (is_ours(record)) ours.push_back(&record);
  const auto wanted = static_cast<std::size_t>(std::accumulate(marks.begin(), marks.end(), 1));
  if (ours.size() != wanted)
    return base::fail(base::ErrorKind::environment, "device timestamps are missing",
                      {.found = fmt::format("{} of ako's own kernels", ours.size()),
                       .allowed = fmt::format("{}", wanted)});
  calls.assign(marks.size(), {});
  std::size_t next = 0;
  std::vector<CallWindow> windows;
  for (const int count : marks) {
    next += static_cast<std::size_t>(count);
    windows.push_back({*ours[next - 1], *ours[next]});
    calls[windows.size() - 1].window_ns = windows.back().length();
  }
  std::vector<std::uint64_t> first(marks.size(), UINT64_MAX), last(marks.size(), 0);
  std::vector<std::uint64_t> reached(marks.size(), 0);
  for (const auto& record : records) {
    if (is_ours(record)) continue;
    const auto at = std::find_if(windows.begin(), windows.end(),
                                 [&](const CallWindow& window) { return window.holds(record); });
    if (at == windows.end()) {
      ++stray;
      continue;
    }
    const auto i = static_cast<std::size_t>(at - windows.begin());
    auto& call = calls[i];
    (record.kind == Record::Kind::kernel ? call.kernels
     : record.kind == Record::Kind::copy ? call.copies
                                         : call.sets) += 1;
    first[i] = std::min(first[i], record.start_ns);
    last[i] = std::max(last[i], record.end_ns);
    // Records come by start: what lies beyond all before it is new busy time.
    const auto from = std::max(record.start_ns, reached[i]);
    if (record.end_ns > from) call.busy_ns += static_cast<double>(record.end_ns - from);
    reached[i] = std::max(reached[i], record.end_ns);
  }
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (last[i] > first[i]) calls[i].span_ns = static_cast<double>(last[i] - first[i]);
  return {};
}

} // namespace ako::device
