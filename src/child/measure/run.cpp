// One pass over the sets: warm up, then call each once and time it.
#include "measure/context.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace ako::measure {
namespace {

/// A run in flight; the timed loops are members so that they share no call with anything else.
class Pass {
public:
  Pass(ako_measure& context, const ako_measure_job& job, ako_measure_result& result)
      : m_context(context), m_job(job), m_result(result) {}

  int warm_up() {
    const auto begin = raw_clock_ns(CLOCK_MONOTONIC);
    const auto least = static_cast<std::int64_t>(m_job.warmup_ns);
    while (m_job.warmup_sets > 0) {
      for (std::uint32_t i = 0; i < m_job.warmup_sets; ++i) {
        if (const int code = invoke(m_job.warmup_tensors[i])) return returned(code, i);
        ++m_result.warmup_calls;
      }
      if (raw_clock_ns(CLOCK_MONOTONIC) - begin >= least) break;
    }
    m_result.warmup_spent_ns = raw_clock_ns(CLOCK_MONOTONIC) - begin;
    return AKO_MEASURE_OK;
  }

  int time_each() {
    for (std::uint32_t i = 0; i < m_job.sets; ++i) {
      prepare_caches(i);
      if (i == 0) begin_part();
      m_context.counters.start();
      const auto begin = m_context.ticks.now();
      const int code = invoke(m_job.tensors[i]);
      const auto end = m_context.ticks.now();
      m_context.counters.stop();
      if (code != 0) return returned(code, i);
      m_context.intervals[i] = end - begin;
      ++m_result.calls;
    }
    end_part();
    return AKO_MEASURE_OK;
  }

  int time_pass() {
    for (std::uint32_t i = 0; i < m_job.sets; ++i) warm_spans(i, AKO_MEASURE_WARM);
    begin_part();
    m_context.counters.start();
    const auto begin = m_context.ticks.now();
    std::uint32_t done = 0;
    int code = 0;
    for (; done < m_job.sets && code == 0; ++done) code = invoke(m_job.tensors[done]);
    const auto end = m_context.ticks.now();
    m_context.counters.stop();
    if (code != 0) return returned(code, done - 1);
    m_context.intervals[0] = end - begin;
    m_result.calls = m_job.sets;
    end_part();
    return AKO_MEASURE_OK;
  }

private:
  int invoke(void* const* tensors) const {
    return m_job.call(tensors, m_job.integers, m_job.scalars, m_job.stream);
  }

  int returned(int code, std::uint32_t set) {
    m_result.code = code;
    m_result.failed_set = set;
    return m_context.fail(AKO_MEASURE_RETURNED, "the kernel returned an error code");
  }

  void prepare_caches(std::uint32_t set) {
    if (m_job.cache == AKO_MEASURE_WARM) return warm_spans(set, AKO_MEASURE_WARM);
    const auto begin = raw_clock_ns(CLOCK_MONOTONIC);
    if (set == 0 || m_job.eviction == AKO_MEASURE_EVERY_CALL)
      m_context.evict.sweep(m_context.cache.line);
    warm_spans(set, AKO_MEASURE_COLD);
    m_result.evict_spent_ns += raw_clock_ns(CLOCK_MONOTONIC) - begin;
  }

  // In a warm job all spans are read; in a cold one those alone that ask to be warm.
  void warm_spans(std::uint32_t set, int job_cache) {
    if (!m_job.spans) return;
    for (std::uint32_t i = 0; i < m_job.span_count; ++i) {
      const auto& span = m_job.spans[set][i];
      if (job_cache == AKO_MEASURE_WARM || span.cache == AKO_MEASURE_WARM)
        read_lines(span.data, span.bytes, m_context.cache.line);
    }
  }

  void begin_part() {
    m_cpu = raw_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    m_result.first_ns = raw_clock_ns(CLOCK_MONOTONIC);
  }

  void end_part() {
    m_result.last_ns = raw_clock_ns(CLOCK_MONOTONIC);
    m_result.cpu_ns = raw_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - m_cpu;
  }

  ako_measure& m_context;
  const ako_measure_job& m_job;
  ako_measure_result& m_result;
  std::int64_t m_cpu = 0;
};

int check(ako_measure& context, const ako_measure_job& job) {
  if (!job.call || job.sets == 0 || !job.tensors)
    return context.fail(AKO_MEASURE_INVALID, "a job needs a function and at least one set");
  if (job.cache > AKO_MEASURE_WARM || job.timing > AKO_MEASURE_PASS)
    return context.fail(AKO_MEASURE_INVALID, "cache or timing is none of the enumerators");
  if (job.eviction > AKO_MEASURE_ONCE)
    return context.fail(AKO_MEASURE_INVALID, "eviction is none of the enumerators");
  if (job.span_count > 0 && !job.spans)
    return context.fail(AKO_MEASURE_INVALID, "span_count is set and spans is not");
  if (job.warmup_sets > 0 && !job.warmup_tensors)
    return context.fail(AKO_MEASURE_INVALID, "warmup_sets is set and warmup_tensors is not");
  if (job.cache == AKO_MEASURE_COLD) {
    if (job.timing == AKO_MEASURE_PASS)
      return context.fail(AKO_MEASURE_INVALID, "cold calls are timed one by one, never as a pass");
    if (context.evict.bytes() == 0)
      return context.fail(AKO_MEASURE_NO_EVICTION, "no eviction buffer: warm jobs alone");
  }
  return AKO_MEASURE_OK;
}

} // namespace

int run(ako_measure& context, const ako_measure_job& job, ako_measure_sink sink, void* user,
        ako_measure_result& result) {
  if (const int status = check(context, job)) return status;
  const bool whole = job.timing == AKO_MEASURE_PASS ||
                     (job.timing == AKO_MEASURE_AUTO && job.cache == AKO_MEASURE_WARM);
  const std::uint32_t count = whole ? 1 : job.sets;
  context.intervals.assign(count, 0);
  context.counters.reset();
  Pass pass(context, job, result);
  if (const int status = pass.warm_up()) return status;
  if (const int status = whole ? pass.time_pass() : pass.time_each()) return status;

  context.ticks.refine();
  for (std::uint32_t i = 0; i < count; ++i) {
    const double ns =
        std::max(0.0, context.ticks.to_ns(context.intervals[i]) - context.ticks.overhead_ns());
    result.total_ns += ns;
    if (sink) sink(user, i, ns);
  }
  std::uint64_t values[3];
  context.counters.read(values);
  result.cycles = values[0];
  result.instructions = values[1];
  result.cache_misses = values[2];
  return AKO_MEASURE_OK;
}

} // namespace ako::measure
