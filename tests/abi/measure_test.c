/* The C interface used as a stand-alone benchmark uses it, from C99. */
#include "ako/measure.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d: %s\n", __LINE__, #condition);                                               \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

#define N 4096
static float g_in[4][N], g_out[4][N];
static int g_calls = 0;

/* integers[0] = elements, integers[1] = repetitions of the work */
static int scale(void* const* tensors, const int64_t* integers, const double* scalars,
                 void* stream) {
  const float* in = (const float*)tensors[0];
  volatile float* out = (volatile float*)tensors[1];
  (void)stream;
  ++g_calls;
  for (int64_t round = 0; round < integers[1]; ++round)
    for (int64_t i = 0; i < integers[0]; ++i) out[i] = in[i] * (float)scalars[0];
  return 0;
}

static int refuse(void* const* tensors, const int64_t* integers, const double* scalars,
                  void* stream) {
  (void)tensors, (void)integers, (void)scalars, (void)stream;
  return 9;
}

struct seen {
  uint32_t count;
  double sum;
};

static void keep(void* user, uint32_t index, double ns) {
  struct seen* seen = (struct seen*)user;
  CHECK(index == seen->count);
  ++seen->count;
  seen->sum += ns;
}

static void* g_pointers[4][2];
static void* const* g_sets[4];
static int64_t g_integers[2] = {N, 1};
static int64_t g_twice[2] = {N, 2};
static const double g_scalars[1] = {3.0};

static ako_measure_job make_job(const int64_t* integers) {
  ako_measure_job job;
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.cache = AKO_MEASURE_WARM;
  job.sets = 4;
  job.call = scale;
  job.tensors = g_sets;
  job.integers = integers;
  job.scalars = g_scalars;
  job.warmup_sets = 1;
  job.warmup_tensors = g_sets;
  return job;
}

static void test_pass(ako_measure* context) {
  ako_measure_job job = make_job(g_integers);
  struct seen seen = {0, 0};
  ako_measure_result result;
  memset(&result, 0, sizeof result);
  result.size = sizeof result;
  g_calls = 0;
  CHECK(ako_measure_run(context, &job, keep, &seen, &result) == AKO_MEASURE_OK);
  CHECK(g_calls == 5 && result.calls == 4 && result.warmup_calls == 1);
  CHECK(seen.count == 1 && seen.sum == result.total_ns);
  CHECK(result.total_ns > 0 && result.total_ns <= (double)(result.last_ns - result.first_ns));
  for (int set = 0; set < 4; ++set) CHECK(g_out[set][N - 1] == 3.0f * g_in[set][N - 1]);

  job.timing = AKO_MEASURE_EACH;
  seen.count = 0;
  CHECK(ako_measure_run(context, &job, keep, &seen, &result) == AKO_MEASURE_OK);
  CHECK(seen.count == 4);
}

static void test_cold(ako_measure* context) {
  ako_measure_job job = make_job(g_integers);
  ako_measure_result result;
  memset(&result, 0, sizeof result);
  result.size = sizeof result;
  job.cache = AKO_MEASURE_COLD;
  CHECK(ako_measure_run(context, &job, NULL, NULL, &result) == AKO_MEASURE_OK);
  CHECK(result.evict_spent_ns > 0 && result.calls == 4);
  CHECK(ako_measure_evict(context) > 0);
  const int64_t each = result.evict_spent_ns;
  job.eviction = AKO_MEASURE_ONCE; /* one sweep for four sets: well below half of four */
  CHECK(ako_measure_run(context, &job, NULL, NULL, &result) == AKO_MEASURE_OK);
  CHECK(result.calls == 4 && result.evict_spent_ns > 0 && result.evict_spent_ns < each / 2);
  job.eviction = 7;
  CHECK(ako_measure_run(context, &job, NULL, NULL, &result) == AKO_MEASURE_INVALID);
  job.eviction = AKO_MEASURE_EVERY_CALL;
  job.timing = AKO_MEASURE_PASS; /* cold calls are never timed as one pass */
  CHECK(ako_measure_run(context, &job, NULL, NULL, &result) == AKO_MEASURE_INVALID);
  CHECK(strlen(ako_measure_message(context)) > 0);
}

static void test_refusals(ako_measure* context) {
  ako_measure_job job = make_job(g_integers);
  ako_measure_result result;
  memset(&result, 0, sizeof result);
  result.size = sizeof result;
  job.call = refuse;
  job.warmup_sets = 0;
  CHECK(ako_measure_run(context, &job, NULL, NULL, &result) == AKO_MEASURE_RETURNED);
  CHECK(result.code == 9 && result.failed_set == 0);
  job.call = NULL;
  CHECK(ako_measure_run(context, &job, NULL, NULL, &result) == AKO_MEASURE_INVALID);
  job = make_job(g_integers);
  job.size = 0;
  CHECK(ako_measure_run(context, &job, NULL, NULL, &result) == AKO_MEASURE_INVALID);
  CHECK(ako_measure_run(NULL, &job, NULL, NULL, &result) == AKO_MEASURE_INVALID);
}

/* A caller built against an older header knows fewer fields: none of the others is touched. */
static void test_smaller_struct(ako_measure* context) {
  ako_measure_facts facts;
  memset(&facts, 0x77, sizeof facts);
  facts.size = (uint32_t)offsetof(ako_measure_facts, timer_overhead_ns);
  CHECK(ako_measure_get_facts(context, &facts) == AKO_MEASURE_OK);
  CHECK(facts.ticks_per_ns > 0.01 && facts.ticks_per_ns < 100);
  CHECK(facts.evict_bytes == 0x7777777777777777u);
  facts.size = sizeof facts;
  CHECK(ako_measure_get_facts(context, &facts) == AKO_MEASURE_OK);
  CHECK(facts.cache_bytes >= 1u << 16 && facts.evict_bytes >= 2 * facts.cache_bytes);
  CHECK(facts.timer_overhead_ns >= 0 && facts.timer_overhead_ns < 2000);
}

static void test_pairs(ako_measure* context) {
  const ako_measure_job once = make_job(g_integers), twice = make_job(g_twice);
  double first[41], second[41];
  ako_measure_summary a, b;
  a.size = sizeof a;
  b.size = sizeof b;
  CHECK(ako_measure_pairs(context, &once, &twice, 41, 5, NULL, NULL, first, second) ==
        AKO_MEASURE_OK);
  CHECK(ako_measure_summarise(first, 41, &a) == AKO_MEASURE_OK);
  CHECK(ako_measure_summarise(second, 41, &b) == AKO_MEASURE_OK);
  CHECK(a.minimum <= a.median && a.median <= a.p95);
  if (b.minimum < 1.5 * a.minimum || b.minimum > 2.7 * a.minimum)
    printf("once %.1f ns, twice %.1f ns\n", a.minimum, b.minimum);
  CHECK(b.minimum > 1.5 * a.minimum && b.minimum < 2.7 * a.minimum);
  CHECK(ako_measure_summarise(first, 0, &a) == AKO_MEASURE_INVALID);
}

static void test_summary(void) {
  const double values[11] = {5, 1, 4, 2, 3, 9, 8, 6, 7, 100, 0};
  ako_measure_summary summary;
  summary.size = sizeof summary;
  CHECK(ako_measure_summarise(values, 11, &summary) == AKO_MEASURE_OK);
  CHECK(summary.median == 5 && summary.minimum == 0 && summary.trimmed_mean == 5);
}

int main(void) {
  ako_measure* context = NULL;
  CHECK(ako_measure_abi() == AKO_MEASURE_ABI);
  for (int set = 0; set < 4; ++set) {
    for (int i = 0; i < N; ++i) g_in[set][i] = (float)(i + set);
    g_pointers[set][0] = g_in[set];
    g_pointers[set][1] = g_out[set];
    g_sets[set] = (void* const*)g_pointers[set];
  }
  CHECK(ako_measure_open(NULL, NULL) == AKO_MEASURE_INVALID);
  CHECK(ako_measure_open(NULL, &context) == AKO_MEASURE_OK);
  if (!context) return 1;
  test_summary();
  test_pass(context);
  test_cold(context);
  test_refusals(context);
  test_smaller_struct(context);
  test_pairs(context);
  CHECK(ako_measure_core_clock(context, 1000000) > 0.1);
  ako_measure_close(context);
  return failures == 0 ? 0 : 1;
}
