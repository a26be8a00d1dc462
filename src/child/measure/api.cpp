// The C interface: sizes are checked here, exceptions end here.
#include "measure/context.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <sched.h>
#include <type_traits>

namespace ako::measure {
int run(ako_measure& context, const ako_measure_job& job, ako_measure_sink sink, void* user,
        ako_measure_result& result);
}

namespace {

/// Takes a caller's struct of an older, smaller size; the rest keeps its default.
template <class T> bool take(T& into, const T* from) {
  if (!from || from->size < sizeof(from->size)) return false;
  std::memcpy(&into, from, std::min<std::size_t>(from->size, sizeof(T)));
  into.size = sizeof(T);
  return true;
}

/// Gives a result back, as much of it as the caller's struct holds.
template <class T> void give(T* to, T from) {
  from.size = to->size;
  std::memcpy(to, &from, std::min<std::size_t>(to->size, sizeof(T)));
}

template <class F> int guarded(ako_measure& context, F&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    context.message.clear();
    return AKO_MEASURE_MEMORY;
  } catch (...) {
    // The kernel under test threw: its own caller is to see that, not an error of ours.
    throw;
  }
}

std::uint64_t evict_size(const ako_measure_options& options,
                         const ako::measure::CacheFacts& cache) {
  return options.evict_bytes != 0 ? options.evict_bytes : 2 * cache.bytes;
}

} // namespace

uint32_t ako_measure_abi(void) { return AKO_MEASURE_ABI; }

int ako_measure_open(const ako_measure_options* given, ako_measure** out) {
  ako_measure_options options{};
  options.cpu = -1;
  if (!out || (given && !take(options, given))) return AKO_MEASURE_INVALID;
  *out = nullptr;
  if (options.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (options.cpu >= CPU_SETSIZE) return AKO_MEASURE_INVALID;
    CPU_SET(static_cast<std::size_t>(options.cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) return AKO_MEASURE_INVALID;
  }
  try {
    auto context = std::make_unique<ako_measure>();
    context->cache = ako::measure::find_cache();
    if (!options.no_counters) context->counters.open();
    if (!options.no_eviction) {
      const auto bytes = evict_size(options, context->cache);
      context->evict = options.evict_buffer
                           ? ako::measure::EvictBuffer(options.evict_buffer, bytes)
                           : ako::measure::EvictBuffer::make(bytes, context->cache.line);
      if (context->evict.bytes() == 0) return AKO_MEASURE_MEMORY;
    }
    *out = context.release();
  } catch (const std::bad_alloc&) {
    return AKO_MEASURE_MEMORY;
  }
  return AKO_MEASURE_OK;
}

void ako_measure_close(ako_measure* context) { delete context; }

const char* ako_measure_message(const ako_measure* context) {
  return context ? context->message.c_str() : "";
}

int ako_measure_get_facts(ako_measure* context, ako_measure_facts* facts) {
  ako_measure_facts result{};
  if (!context || !take(result, facts)) return AKO_MEASURE_INVALID;
  result.counters = context->counters.available();
  result.ticks_per_ns = context->ticks.per_ns();
  result.timer_overhead_ns = context->ticks.overhead_ns();
  result.timer_noise_ns = context->ticks.noise_ns();
  result.cache_bytes = context->cache.bytes;
  result.cache_line = context->cache.line;
  result.evict_bytes = context->evict.bytes();
  result.cache_from = static_cast<uint32_t>(context->cache.from);
  result.tick_from = context->ticks.from_counter() ? 0 : 1;
  give(facts, result);
  return AKO_MEASURE_OK;
}

int ako_measure_run(ako_measure* context, const ako_measure_job* given, ako_measure_sink sink,
                    void* user, ako_measure_result* out) {
  if (!context) return AKO_MEASURE_INVALID;
  ako_measure_job job{};
  ako_measure_result result{};
  if (!take(job, given) || !out || out->size < sizeof(out->size))
    return context->fail(AKO_MEASURE_INVALID, "a struct's size is not set");
  const int status =
      guarded(*context, [&] { return ako::measure::run(*context, job, sink, user, result); });
  give(out, result);
  return status;
}

int ako_measure_use_eviction(ako_measure* context, const void* buffer, uint64_t bytes) {
  if (!context || !buffer || bytes == 0) return AKO_MEASURE_INVALID;
  context->evict = ako::measure::EvictBuffer(buffer, bytes);
  return AKO_MEASURE_OK;
}

int64_t ako_measure_evict(ako_measure* context) {
  if (!context) return AKO_MEASURE_INVALID;
  if (context->evict.bytes() == 0) return AKO_MEASURE_NO_EVICTION;
  const auto begin = ako::measure::raw_clock_ns(1);
  context->evict.sweep(context->cache.line);
  return ako::measure::raw_clock_ns(1) - begin;
}

int ako_measure_probe(ako_measure* context, const void* data, uint64_t bytes,
                      ako_measure_residency* out) {
  ako_measure_residency result{};
  if (!context || !data || !take(result, out)) return AKO_MEASURE_INVALID;
  if (bytes < 64 * 4096)
    return context->fail(AKO_MEASURE_INVALID, "the probe needs a span of at least 64 pages");
  if (context->evict.bytes() == 0)
    return context->fail(AKO_MEASURE_NO_EVICTION, "no eviction buffer to probe");
  return guarded(*context, [&] {
    const auto found = ako::measure::probe_residency(context->ticks, context->evict, data, bytes,
                                                     context->cache.line);
    result.lines = found.lines;
    result.cached_line_ns = found.cached_ns;
    result.evicted_line_ns = found.evicted_ns;
    result.memory_line_ns = found.memory_ns;
    result.resident_share = found.resident_share;
    result.evict_ns = found.evict_ns;
    give(out, result);
    return static_cast<int>(AKO_MEASURE_OK);
  });
}

double ako_measure_core_clock(ako_measure* context, int64_t ns) {
  return context ? ako::measure::core_clock(context->ticks, ns) : 0;
}
