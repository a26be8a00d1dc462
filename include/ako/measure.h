/* ako/measure.h: time a kernel as ako does. C99, no dependencies; link libako_measure.so.
 *
 * Also the entry protocol of native artifacts. A library that ako loads exports
 *
 *     int ako_call(void* const* tensors, const int64_t* integers, const double* scalars, void*
 * stream);
 *
 * and may export ako_prepare and ako_plan of the same type.
 *   tensors   one pointer per tensor of the contract, in its order (packed elements)
 *   integers  one value per axis of the contract, in its order; a dtype axis gives its enumerator
 *   scalars   one double per scalar of the contract, in its order
 *   stream    NULL on the cpu lane
 *   returns   0, or an error code of its own
 *
 * Rules of this interface. A C++ exception that leaves the kernel leaves ako_measure_run too. Every
 * struct that the caller fills begins with its own size: set `size = sizeof(struct)` and zero the
 * rest; fields are only ever added at the end. Functions return AKO_MEASURE_OK or a negative
 * status; ako_measure_message() says more. A context belongs to one thread at a time. Pointers in
 * structs stay the caller's and are not kept past the call, except the eviction buffer, which must
 * outlive its context. Times are nanoseconds of CLOCK_MONOTONIC unless they are differences. */
#ifndef AKO_MEASURE_H
#define AKO_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AKO_MEASURE_ABI 1u
#if defined(__GNUC__)
#define AKO_MEASURE_API __attribute__((visibility("default")))
#else
#define AKO_MEASURE_API
#endif

/* ABI of the library that is loaded; use it only when it equals AKO_MEASURE_ABI. */
AKO_MEASURE_API uint32_t ako_measure_abi(void);

typedef int (*ako_call_fn)(void* const* tensors, const int64_t* integers, const double* scalars,
                           void* stream);

typedef enum ako_measure_status {
  AKO_MEASURE_OK = 0,
  AKO_MEASURE_INVALID = -1, /* an argument makes no sense */
  AKO_MEASURE_MEMORY = -2,
  AKO_MEASURE_RETURNED = -3,   /* the kernel returned non-zero: result.code, result.failed_set */
  AKO_MEASURE_NO_EVICTION = -4 /* a cold job, but the context has no eviction buffer */
} ako_measure_status;

typedef struct ako_measure ako_measure; /* opaque */

typedef struct ako_measure_options {
  uint32_t size;
  int32_t cpu;              /* pin the calling thread here; -1 = leave it where it is */
  const void* evict_buffer; /* written long ago and not since; NULL = the library makes one */
  uint64_t evict_bytes;     /* of that buffer, or to be made: 0 = twice the last-level cache */
  uint32_t no_eviction;     /* non-zero: make no buffer; cold jobs are refused */
  uint32_t no_counters;     /* non-zero: leave hardware counters alone */
} ako_measure_options;

/* options may be NULL for the defaults (cpu left alone, own eviction buffer). The context is freed
 * by ako_measure_close. */
AKO_MEASURE_API int ako_measure_open(const ako_measure_options* options, ako_measure** out);
AKO_MEASURE_API void ako_measure_close(ako_measure* context);
/* Words for the last status that was not OK; valid until the next call. */
AKO_MEASURE_API const char* ako_measure_message(const ako_measure* context);

typedef struct ako_measure_facts {
  uint32_t size;
  uint32_t counters;        /* non-zero: hardware counters are read */
  double ticks_per_ns;      /* of the tick counter, calibrated against CLOCK_MONOTONIC */
  double timer_overhead_ns; /* of an empty timed interval; subtracted from every time */
  double timer_noise_ns;    /* p95 less median of empty intervals */
  uint64_t cache_bytes;     /* last-level cache */
  uint64_t cache_line;
  uint64_t evict_bytes; /* 0 = no eviction */
  uint32_t cache_from;  /* 0 sysfs, 1 cpuid, 2 assumed */
  uint32_t tick_from;   /* 0 the processor's counter, 1 CLOCK_MONOTONIC itself */
} ako_measure_facts;
AKO_MEASURE_API int ako_measure_get_facts(ako_measure* context, ako_measure_facts* facts);

/* Memory that a call touches: for warming and probing. */
typedef struct ako_measure_span {
  const void* data;
  uint64_t bytes;
  uint32_t cache; /* enum ako_measure_cache: state this span is to have when the call begins */
  uint32_t reserved;
} ako_measure_span;

enum ako_measure_cache { AKO_MEASURE_COLD = 0, AKO_MEASURE_WARM = 1 };
/* ONCE is right where no two sets share memory: what a call finds was last touched before the
 * sweep.
 */
enum ako_measure_eviction { AKO_MEASURE_EVERY_CALL = 0, AKO_MEASURE_ONCE = 1 };
enum ako_measure_timing {
  AKO_MEASURE_AUTO = 0, /* cold: each call; warm: the pass */
  AKO_MEASURE_EACH = 1, /* every call is an interval of its own */
  AKO_MEASURE_PASS = 2  /* one interval around all calls; not with eviction */
};

/* One pass: every set called exactly once, in the order given.
 * cold  before each call (or before the first alone: see `eviction`) the last-level cache is
 * evicted by reading the eviction buffer, which leaves no dirty line; spans marked WARM are read
 * after that. Outside the timed interval. warm the spans of all sets (PASS) or of the next set
 * (EACH) are read before, outside it. */
typedef struct ako_measure_job {
  uint32_t size;
  uint32_t cache;  /* enum ako_measure_cache */
  uint32_t timing; /* enum ako_measure_timing */
  uint32_t sets;   /* number of sets to call */
  ako_call_fn call;
  void* const* const* tensors; /* tensors[set] = the pointers for that set */
  const int64_t* integers;
  const double* scalars;
  void* stream;
  const ako_measure_span* const* spans; /* spans[set][0 .. span_count); NULL = none known */
  uint32_t span_count;
  uint32_t warmup_sets; /* called before, untimed, at least once each; may be 0 */
  void* const* const* warmup_tensors;
  uint64_t warmup_ns; /* go on warming up at least this long */
  uint32_t eviction;  /* enum ako_measure_eviction, of a cold job */
  uint32_t reserved;
} ako_measure_job;

typedef struct ako_measure_result {
  uint32_t size;
  uint32_t calls;   /* timed */
  double total_ns;  /* sum over the timed calls, timer overhead subtracted, never negative */
  int64_t first_ns; /* begin of the first timed call and end of the last */
  int64_t last_ns;
  int64_t cpu_ns; /* processor time of all threads of this process between those */
  uint64_t warmup_calls;
  int64_t warmup_spent_ns;
  int64_t evict_spent_ns;
  int32_t code;        /* what the kernel returned when it was not 0 */
  uint32_t failed_set; /* index into tensors (or warmup_tensors when calls == 0) */
  uint64_t cycles, instructions, cache_misses; /* UINT64_MAX = not known */
} ako_measure_result;

/* Called after the pass, once per timed interval, with its index and time: EACH calls it `sets`
 * times with the time of one call, PASS once with the time of the pass. */
typedef void (*ako_measure_sink)(void* user, uint32_t index, double ns);

AKO_MEASURE_API int ako_measure_run(ako_measure* context, const ako_measure_job* job,
                                    ako_measure_sink sink, void* user, ako_measure_result* result);

/* From now on evict with this buffer, which must outlive the context. */
AKO_MEASURE_API int ako_measure_use_eviction(ako_measure* context, const void* buffer,
                                             uint64_t bytes);

/* Evict the last-level cache now; the time it took, or a negative status. */
AKO_MEASURE_API int64_t ako_measure_evict(ako_measure* context);

/* Residency probe over a span of at least 64 pages: mean time to read one line of each page. */
typedef struct ako_measure_residency {
  uint32_t size;
  uint32_t lines;         /* read per state */
  double cached_line_ns;  /* just after reading them */
  double evicted_line_ns; /* just after an eviction */
  double memory_line_ns;  /* after their lines were flushed one by one (0: not possible here) */
  double resident_share;  /* of lines still cached after an eviction, by their time; in [0, 1] */
  int64_t evict_ns;       /* of one eviction */
} ako_measure_residency;
AKO_MEASURE_API int ako_measure_probe(ako_measure* context, const void* data, uint64_t bytes,
                                      ako_measure_residency* result);

/* The core's clock by a chain of dependent additions for about `ns`: additions per ns (one a
 * cycle). */
AKO_MEASURE_API double ako_measure_core_clock(ako_measure* context, int64_t ns);

/* Robust figures of n values, which are left as they are. n = 0 is INVALID. */
typedef struct ako_measure_summary {
  uint32_t size;
  uint32_t n;
  double median, mean, trimmed_mean /* middle 80 % */, minimum, p05, p95;
} ako_measure_summary;
AKO_MEASURE_API int ako_measure_summarise(const double* values, uint32_t n,
                                          ako_measure_summary* summary);

/* Two jobs in turn, `pairs` times, the order of each pair by a coin keyed by `seed`. Between blocks
 * `refresh` (may be NULL) is called with the side (0, 1) that runs next, to make new contents; a
 * non-zero return ends the comparison as INVALID. times0 and times1 (pairs values each) get the
 * mean time of one call in each block. */
AKO_MEASURE_API int ako_measure_pairs(ako_measure* context, const ako_measure_job* job0,
                                      const ako_measure_job* job1, uint32_t pairs, uint64_t seed,
                                      int (*refresh)(void* user, int side), void* user,
                                      double* times0, double* times1);

#ifdef __cplusplus
}
#endif
#endif
