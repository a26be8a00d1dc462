// Raw observations of a run to evidence, and evidence to an outcome. Decisive evidence decides;
// weak signs only ask for more scrutiny.
#pragma once

#include "base/json.hpp"
#include "inputs/poison.hpp"
#include "judge/compare.hpp"
#include "model/outcome.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ako::judge {

/// Where it was seen: enough to run it again.
struct Place {
  std::string shape, tensor;
  std::uint64_t seed = 0;
  int placement = -1, set = -1;
  std::int64_t call = -1;       ///< number of the call in its worker, from 0
  std::string phase;            ///< "load", "check", "unmarked", "timed", "second_opinion"
  std::string recipe = "plain"; ///< of the inputs
  std::uint32_t epoch = 0;      ///< of the content under `seed`
};
base::Json to_json(const Place& place);

/// Each returns nothing where all is well.
using Found = std::optional<model::Evidence>;

enum class Proof { one_run, two_sentinels }; ///< what stands behind a poison finding
enum class Side { before, after };           ///< of the buffer
enum class Measured { candidate, baseline };

// Memory.
Found unwritten(const Place& place, const inputs::PoisonFound& found, Proof proof);
Found gap_damage(const Place& place, const inputs::PoisonFound& found);
Found red_zone(const Place& place, const inputs::RedZoneDamage& damage, Side side);
Found changed_input(const Place& place, std::uint64_t before, std::uint64_t after);
Found compared(const Place& place, const CompareResult& result, const model::ResolvedTensor& tensor,
               const model::ResolvedShape& shape);

/// Threads and processes of a worker: when it had loaded, and after one command.
struct WorkerState {
  int threads_before = 0, threads_after = 0;
  int allowed_threads = 0; ///< that may have come since: a pool's, or the lane's own
  int children_before = 0, children_after = 0;
};
std::vector<model::Evidence> stray_work(const Place& place, const WorkerState& state);

/// Reported against outside time. Parent time includes the frame's way there and back.
struct BlockTimes {
  double reported_ns = 0; ///< sum the worker claims for its timed calls
  double wall_ns = 0;     ///< the parent's clock around the command
  double overhead_ns = 0; ///< of the command apart from its calls (fills, checks, frames), measured
  double cpu_ns = 0;      ///< cpu time of the worker over the command; 0 = not known
  std::int64_t calls_claimed = 0, calls_ordered = 0;
};
/// Longer than the whole command is no time at all: decisive, an invalid measurement.
std::vector<model::Evidence> time_claims(const Place& place, const BlockTimes& times);

/// One pair of blocks: each side's whole command on a clock outside the worker, the time that the
/// worker claims for the timed calls in it, and what is left there for its evictions.
struct PairClaims {
  double old_outside_ns = 0, old_claimed_ns = 0, old_evict_ns = 0;
  double new_outside_ns = 0, new_claimed_ns = 0, new_evict_ns = 0;
};
inline constexpr std::size_t k_least_claims = 6; ///< pairs that a saving is told from
/// Of pairs, medians and their errors. `shown`: surely something is saved.
struct Saving {
  double claimed_ns = 0, claimed_error_ns = 0;   ///< by the candidate's own clock
  double returned_ns = 0, returned_error_ns = 0; ///< of it, in the untimed part of the commands
  std::size_t pairs = 0;
  bool shown = false;
};
Saving saving_of(const std::vector<PairClaims>& pairs);
/// Whether the pairs are enough, and quiet enough, to tell that half of `saved_ns` came back.
bool would_show(const Saving& saving, double saved_ns);
/// What the candidate claims to save must be missing outside as well. Decisive where at least half
/// of it comes back in the untimed part of the same commands (paired, median, five standard errors
/// clear): work done ahead, afterwards or elsewhere, or a timer that was tampered with. Needs 6
/// pairs.
Found untimed_work(const Place& place, const std::vector<PairClaims>& pairs);
/// Whether so much may have come back, as far as the pairs tell.
bool may_be_untimed(const Saving& saving);
/// What was saved (`told`), and what is where nothing could be done ahead (`again`).
enum class Standing { stands, unclear, gone };
Standing standing(const Saving& told, const Saving& again);
/// Whether `pairs` of them may tell what those of `again` leave open, were the noise half of what
/// they show: few pairs tell it poorly.
bool may_tell(const Saving& told, const Saving& again, std::size_t pairs);
/// Decisive where it is gone.
Found prepared_ahead(const Place& place, const Saving& told, const Saving& again);
/// Evictions are read by the candidate's process: those of its blocks that are shorter than the
/// incumbent's by 30 % and more were not what they must be. Decisive. Needs 6 pairs.
Found eviction_skipped(const Place& place, const std::vector<PairClaims>& pairs);
/// Lone calls behind a sweep that the candidate had no hand in. `saved_ns`: pair by pair, what it
/// needs less than the incumbent; `claimed_ns`: the same of a call in its blocks. Decisive where
/// surely less than half of the claim is left: what was timed as cold was not.
Found not_cold(const Place& place, const std::vector<double>& saved_ns, double claimed_ns);
bool would_show_warmth(const std::vector<double>& saved_ns, double claimed_ns);

/// A call on one set: elements of other sets' outputs that it wrote. Work of several calls merged.
/// `taken`: bytes of the device that each of the last blocks of one side on one placement took and
/// kept. A kernel that allocates once has nothing to take in the later ones.
Found device_memory(const Place& place, const std::vector<std::int64_t>& taken);

Found merged_calls(const Place& place, std::int64_t written, int called_set);

/// Process state that a call left changed ("rounding", "affinity", ...): the worker puts it back, a
/// production process would go on with it. While loading it is a weak sign: the compiler's own
/// start-up code for -ffast-math does so.
Found process_state(const Place& place, const std::vector<std::string>& changed);

/// Ceilings of the machine; 0 = unknown, that term is left out.
struct Ceilings {
  double memory_bytes_per_s = 0, cache_bytes_per_s = 0, flops_per_s = 0;
};
struct Work {
  double cold_bytes = 0; ///< unique bytes that cannot be in a cache; 0 when warm
  double all_bytes = 0, flops = 0;
};
/// ns no implementation can beat; 0 = none known.
double floor_ns(const Work& work, const Ceilings& ceilings);
/// Below the floor (slack 1e-3): invalid for a candidate. A baseline below it: the contract's
/// fault.
Found below_floor(const Place& place, double measured_ns, double floor, Measured whose);

/// A call behind many others whose output is wrong while all that were graded before were right.
Found wrong_later(const Place& place, const CompareResult& result, std::int64_t calls_before);

/// What was loaded against what was built, and what else came along.
struct LoadedState {
  std::string expected_hash, loaded_hash;
  std::vector<std::string> new_libraries;     ///< mapped after load or during calls, names
  std::vector<std::string> allowed_libraries; ///< prefixes
  std::vector<std::string> patched_symbols;   ///< clock_gettime, memcmp, ... resolved elsewhere
  bool library_calls_forbidden = false;
};
std::vector<model::Evidence> load_claims(const Place& place, const LoadedState& state);

/// The outcome that the evidence forces: nullopt when nothing decisive is there. Order: stale,
/// task_error, incorrect, suspect, invalid_measurement. All evidence, weak signs too, is kept in
/// it.
std::optional<model::Outcome> decide(const std::vector<model::Evidence>& evidence);
/// How much more to look before a win counts: 0 no more than ever, 1 twice as many graded calls
/// and a second opinion whatever the contract says, 2 three times as many.
int scrutiny(const std::vector<model::Evidence>& evidence);
/// Timed calls to grade at a shape before a win counts. Whoever skips the work in a share of the
/// calls gains that share at most: a share as large as `gain` (what is shown of it, a fraction; at
/// least 1 % is assumed) stays unseen one time in a thousand. `scrutiny` multiplies.
std::int64_t calls_to_grade(double gain, int scrutiny);

} // namespace ako::judge
