#include "judge/guards.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace ako::judge {
namespace {

using model::Evidence;

enum class Weight { decisive, weak };

Evidence make(std::string guard, std::string text, const Place& place, base::Json data,
              Weight weight = Weight::decisive) {
  data["place"] = to_json(place);
  return {std::move(guard), std::move(text), std::move(data), weight == Weight::decisive};
}

std::string where(const Place& place) {
  std::string out = fmt::format("shape {}", place.shape);
  if (!place.tensor.empty()) out = fmt::format("\"{}\" at {}", place.tensor, out);
  if (place.set >= 0) out += fmt::format(", set {}", place.set);
  return out;
}

/// Two reports may differ by scheduling: this much of a command's wall time is never explained.
constexpr double k_wall_slack_ns = 2e5;
/// A block that claims less than this share of what its processor time and wall time leave is odd.
constexpr double k_claim_share = 0.5;
constexpr double k_floor_slack = 1e-3;
/// Two clocks may run apart by so much.
constexpr double k_clock_slack = 0.01;
/// Of what is claimed to be saved, the share that may come back outside the timed calls.
constexpr double k_returned_share = 0.5;
constexpr double k_found_cold_ns = 20e3;
/// Of an eviction, the share that may be missing; below so much there is nothing to tell.
constexpr double k_missing_share = 0.3, k_least_eviction_ns = 1e5;
/// Blocks in a row that take memory: what is taken once, or grown once more, is no leak.
constexpr std::size_t k_least_leaks = 3;
/// A driver's own housekeeping is smaller.
constexpr std::int64_t k_least_leaked_bytes = 16 << 20;
/// Standard errors of few pairs that are no accident in a thousand verdicts of several shapes.
constexpr double k_sure = 5;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

/// Standard error of the median, from the spread around it.
double median_error(std::vector<double> values) {
  const double centre = median_of(values);
  for (double& value : values) value = std::fabs(value - centre);
  return 1.2533 * 1.4826 * median_of(values) / std::sqrt(static_cast<double>(values.size()));
}

} // namespace

base::Json to_json(const Place& place) {
  return {{"shape", place.shape},
          {"tensor", place.tensor},
          {"seed", fmt::format("0x{:016x}", place.seed)},
          {"placement", place.placement},
          {"set", place.set},
          {"call", place.call},
          {"phase", place.phase},
          {"recipe", place.recipe},
          {"epoch", place.epoch}};
}

Found unwritten(const Place& place, const inputs::PoisonFound& found, Proof proof) {
  if (found.count == 0) return std::nullopt;
  return make("unwritten_elements",
              fmt::format("{} elements of {} were not written, the first at index {}", found.count,
                          where(place), found.first),
              place,
              {{"count", found.count},
               {"first", found.first},
               {"last", found.last},
               {"proof", proof == Proof::one_run ? "one run" : "two sentinels"}});
}

Found gap_damage(const Place& place, const inputs::PoisonFound& found) {
  if (found.gap_damage == 0) return std::nullopt;
  return make("gap_damage",
              fmt::format("{} elements between the strides of {} were written", found.gap_damage,
                          where(place)),
              place, {{"count", found.gap_damage}});
}

Found red_zone(const Place& place, const inputs::RedZoneDamage& damage, Side side) {
  if (damage.bytes == 0) return std::nullopt;
  const char* word = side == Side::before ? "before" : "after";
  return make(
      "red_zone", fmt::format("{} bytes {} {} were overwritten", damage.bytes, word, where(place)),
      place,
      {{"bytes", damage.bytes}, {"side", word}, {"first", damage.first}, {"last", damage.last}});
}

Found changed_input(const Place& place, std::uint64_t before, std::uint64_t after) {
  if (before == after) return std::nullopt;
  return make(
      "changed_input", fmt::format("input {} was modified", where(place)), place,
      {{"before", fmt::format("0x{:016x}", before)}, {"after", fmt::format("0x{:016x}", after)}});
}

Found compared(const Place& place, const CompareResult& result, const model::ResolvedTensor& tensor,
               const model::ResolvedShape& shape) {
  if (result.pass) return std::nullopt;
  Evidence out = evidence_of(result, tensor, shape);
  out.data["place"] = to_json(place);
  if (result.reference_at_fault) out.guard = "reference";
  return out;
}

std::vector<Evidence> stray_work(const Place& place, const WorkerState& state) {
  std::vector<Evidence> out;
  const int spare = state.threads_after - state.threads_before;
  if (spare > state.allowed_threads)
    out.push_back(make("stray_threads",
                       fmt::format("{} threads are there at {} that were not when it was loaded",
                                   spare, where(place)),
                       place,
                       {{"before", state.threads_before},
                        {"after", state.threads_after},
                        {"allowed", state.allowed_threads}},
                       Weight::weak));
  if (state.children_after > state.children_before)
    out.push_back(make("stray_processes",
                       fmt::format("{} processes were left running at {}",
                                   state.children_after - state.children_before, where(place)),
                       place,
                       {{"before", state.children_before}, {"after", state.children_after}}));
  return out;
}

std::vector<Evidence> time_claims(const Place& place, const BlockTimes& times) {
  std::vector<Evidence> out;
  base::Json data = {{"reported_ns", base::number_or_null(times.reported_ns)},
                     {"wall_ns", base::number_or_null(times.wall_ns)},
                     {"overhead_ns", base::number_or_null(times.overhead_ns)},
                     {"cpu_ns", base::number_or_null(times.cpu_ns)},
                     {"calls_claimed", times.calls_claimed},
                     {"calls_ordered", times.calls_ordered}};
  if (times.calls_claimed != times.calls_ordered)
    out.push_back(make("skipped_calls",
                       fmt::format("{} calls were ordered at {}, {} are claimed",
                                   times.calls_ordered, where(place), times.calls_claimed),
                       place, data));
  if (!std::isfinite(times.reported_ns) || times.reported_ns <= 0)
    out.push_back(
        make("time_claim",
             fmt::format("a time of {} ns is claimed at {}", times.reported_ns, where(place)),
             place, data));
  else if (times.wall_ns > 0 && times.reported_ns > times.wall_ns * (1 + k_clock_slack))
    out.push_back(make("beyond_wall",
                       fmt::format("{:.0f} ns are claimed at {}, more than the {:.0f} ns that the "
                                   "whole command took",
                                   times.reported_ns, where(place), times.wall_ns),
                       place, data));
  // Processor time that neither the calls nor what surrounds them explain: work that was not timed.
  const double unexplained = times.cpu_ns - times.overhead_ns - times.reported_ns;
  if (times.cpu_ns > 0 && times.reported_ns > 0 && unexplained > k_wall_slack_ns * 50 &&
      times.reported_ns < k_claim_share * (times.cpu_ns - times.overhead_ns))
    out.push_back(make("unexplained_cpu_time",
                       fmt::format("{:.2f} ms of processor time at {} lie outside the timed calls",
                                   unexplained / 1e6, where(place)),
                       place, data, Weight::weak));
  return out;
}

Saving saving_of(const std::vector<PairClaims>& pairs) {
  Saving out;
  out.pairs = pairs.size();
  if (pairs.empty()) return out;
  std::vector<double> saved, returned;
  for (const PairClaims& pair : pairs) {
    saved.push_back(pair.old_claimed_ns - pair.new_claimed_ns);
    returned.push_back((pair.new_outside_ns - pair.new_claimed_ns) -
                       (pair.old_outside_ns - pair.old_claimed_ns));
  }
  out.claimed_ns = median_of(saved);
  out.claimed_error_ns = median_error(saved);
  out.returned_ns = median_of(returned);
  out.returned_error_ns = median_error(returned);
  out.shown = out.claimed_ns > k_sure * out.claimed_error_ns;
  return out;
}

bool would_show(const Saving& saving, double saved_ns) {
  return saving.pairs >= k_least_claims &&
         k_sure * saving.returned_error_ns <= k_returned_share * saved_ns;
}

Found untimed_work(const Place& place, const std::vector<PairClaims>& pairs) {
  if (pairs.size() < k_least_claims) return std::nullopt;
  const Saving saving = saving_of(pairs);
  // Where nothing is surely saved there is nothing to give back.
  if (!saving.shown || !(saving.returned_ns - k_sure * saving.returned_error_ns >
                         k_returned_share * saving.claimed_ns))
    return std::nullopt;
  return make("untimed_work",
              fmt::format("{:.0f} ns a block are claimed to be saved at {}; {:.0f} ns more than "
                          "with what it replaces pass outside the timed calls",
                          saving.claimed_ns, where(place), saving.returned_ns),
              place,
              {{"claimed_ns", saving.claimed_ns},
               {"returned_ns", saving.returned_ns},
               {"standard_error_ns", saving.returned_error_ns},
               {"pairs", saving.pairs}});
}

bool may_be_untimed(const Saving& saving) {
  return !(saving.returned_ns + k_sure * saving.returned_error_ns <
           k_returned_share * saving.claimed_ns);
}

Standing standing(const Saving& told, const Saving& again) {
  const double least = (1 - k_returned_share) * told.claimed_ns;
  if (again.claimed_ns >= least) return Standing::stands;
  // Code and tables that are found cold once more cost some microseconds.
  const bool clear = again.claimed_ns + k_sure * again.claimed_error_ns < least;
  return clear && told.claimed_ns - again.claimed_ns > k_found_cold_ns ? Standing::gone
                                                                       : Standing::unclear;
}

bool may_tell(const Saving& told, const Saving& again, std::size_t pairs) {
  if (standing(told, again) == Standing::gone) return true; // it takes more to accuse
  Saving then = again;
  const double less =
      0.5 * std::sqrt(static_cast<double>(again.pairs) / static_cast<double>(pairs));
  then.claimed_error_ns *= less;
  then.returned_error_ns *= less;
  if (!may_be_untimed(then) || standing(told, then) == Standing::gone) return true;
  return then.claimed_ns > k_sure * then.claimed_error_ns &&
         then.returned_ns - k_sure * then.returned_error_ns >= k_returned_share * then.claimed_ns;
}

Found prepared_ahead(const Place& place, const Saving& told, const Saving& again) {
  if (standing(told, again) != Standing::gone) return std::nullopt;
  return make("untimed_work",
              fmt::format("{:.0f} ns a block are claimed to be saved at {}; where the untimed call "
                          "comes before the contents of the timed ones it is {:.0f} ns",
                          told.claimed_ns, where(place), again.claimed_ns),
              place,
              {{"claimed_ns", told.claimed_ns},
               {"standing_ns", again.claimed_ns},
               {"standard_error_ns", again.claimed_error_ns},
               {"pairs", again.pairs}});
}

Found eviction_skipped(const Place& place, const std::vector<PairClaims>& pairs) {
  if (pairs.size() < k_least_claims) return std::nullopt;
  std::vector<double> whole, missing;
  for (const PairClaims& pair : pairs) {
    whole.push_back(pair.old_evict_ns);
    missing.push_back(pair.old_evict_ns - pair.new_evict_ns);
  }
  const double eviction = median_of(whole), gone = median_of(missing);
  if (eviction < k_least_eviction_ns || !(gone > k_missing_share * eviction) ||
      !(gone > k_sure * median_error(missing)))
    return std::nullopt;
  return make("eviction_skipped",
              fmt::format("emptying the cache at {} takes {:.0f} ns less in the candidate's blocks "
                          "than the {:.0f} ns that it takes in those of what it replaces",
                          where(place), gone, eviction),
              place,
              {{"eviction_ns", eviction},
               {"missing_ns", gone},
               {"standard_error_ns", median_error(missing)},
               {"pairs", pairs.size()}});
}

bool would_show_warmth(const std::vector<double>& saved_ns, double claimed_ns) {
  return saved_ns.size() >= k_least_claims &&
         k_sure * median_error(saved_ns) <= k_returned_share * claimed_ns;
}

Found not_cold(const Place& place, const std::vector<double>& saved_ns, double claimed_ns) {
  if (saved_ns.size() < k_least_claims || !(claimed_ns > 0)) return std::nullopt;
  const double saved = median_of(saved_ns), error = median_error(saved_ns);
  if (!(saved + k_sure * error < (1 - k_returned_share) * claimed_ns)) return std::nullopt;
  return make("not_cold",
              fmt::format("{:.0f} ns a call are claimed to be saved at {}; of a call that comes "
                          "alone behind a sweep from outside it is {:.0f} ns: its blocks did not "
                          "begin cold",
                          claimed_ns, where(place), saved),
              place,
              {{"claimed_ns", claimed_ns},
               {"saved_ns", saved},
               {"standard_error_ns", error},
               {"pairs", saved_ns.size()}});
}

Found device_memory(const Place& place, const std::vector<std::int64_t>& taken) {
  if (taken.size() < k_least_leaks) return std::nullopt;
  const auto last = taken.end() - static_cast<std::ptrdiff_t>(k_least_leaks);
  if (std::any_of(last, taken.end(), [](std::int64_t bytes) { return bytes <= 0; }))
    return std::nullopt;
  const auto sum = std::accumulate(last, taken.end(), std::int64_t{0});
  if (sum < k_least_leaked_bytes) return std::nullopt;
  return make("device_memory",
              fmt::format("{:.1f} MiB of the device's memory were taken and not given back by the "
                          "last {} blocks at {}",
                          static_cast<double>(sum) / (1 << 20), k_least_leaks, where(place)),
              place, {{"taken_bytes", taken}});
}

Found merged_calls(const Place& place, std::int64_t written, int called_set) {
  if (written <= 0) return std::nullopt;
  return make("merged_calls",
              fmt::format("a call on set {} alone wrote {} elements of {}", called_set, written,
                          where(place)),
              place, {{"written", written}, {"called_set", called_set}});
}

Found process_state(const Place& place, const std::vector<std::string>& changed) {
  if (changed.empty()) return std::nullopt;
  const bool loading = place.phase == "load";
  return make("process_state",
              fmt::format("{} left process state changed: {}",
                          loading ? "loading" : "a call at " + where(place),
                          fmt::join(changed, ", ")),
              place, {{"changed", changed}}, loading ? Weight::weak : Weight::decisive);
}

double floor_ns(const Work& work, const Ceilings& ceilings) {
  double seconds = 0;
  if (ceilings.memory_bytes_per_s > 0)
    seconds = std::max(seconds, work.cold_bytes / ceilings.memory_bytes_per_s);
  if (ceilings.cache_bytes_per_s > 0)
    seconds = std::max(seconds, work.all_bytes / ceilings.cache_bytes_per_s);
  if (ceilings.flops_per_s > 0) seconds = std::max(seconds, work.flops / ceilings.flops_per_s);
  return std::isfinite(seconds) ? seconds * 1e9 : 0;
}

Found below_floor(const Place& place, double measured_ns, double floor, Measured whose) {
  if (floor <= 0 || !(measured_ns < floor * (1 - k_floor_slack))) return std::nullopt;
  const bool baseline = whose == Measured::baseline;
  return make(
      baseline ? "contract_floor" : "below_floor",
      fmt::format("{:.0f} ns at {} are less than the {:.0f} ns that the declared work takes "
                  "at this machine's ceilings{}",
                  measured_ns, where(place), floor,
                  baseline ? ": [cost] declares more work than there is" : ""),
      place, {{"measured_ns", measured_ns}, {"floor_ns", floor}});
}

Found wrong_later(const Place& place, const CompareResult& result, std::int64_t calls_before) {
  if (result.pass) return std::nullopt;
  return make("wrong_later",
              fmt::format("right at first, wrong after {} calls at {}: {}", calls_before,
                          where(place), result.reason),
              place, {{"calls_before", calls_before}, {"compare", to_json(result)}});
}

std::vector<Evidence> load_claims(const Place& place, const LoadedState& state) {
  std::vector<Evidence> out;
  if (!state.expected_hash.empty() && state.expected_hash != state.loaded_hash)
    out.push_back(make("loaded_hash", "the library that was loaded is not the one that was built",
                       place, {{"expected", state.expected_hash}, {"loaded", state.loaded_hash}}));
  std::vector<std::string> strange;
  for (const auto& library : state.new_libraries) {
    const std::string name = library.substr(library.rfind('/') + 1);
    const bool known =
        std::any_of(state.allowed_libraries.begin(), state.allowed_libraries.end(),
                    [&](const std::string& prefix) { return name.rfind(prefix, 0) == 0; });
    if (!known) strange.push_back(name);
  }
  if (!strange.empty())
    out.push_back(make(
        "library_call",
        fmt::format("libraries came along with the candidate: {}", fmt::join(strange, ", ")), place,
        {{"libraries", strange}}, state.library_calls_forbidden ? Weight::decisive : Weight::weak));
  if (!state.patched_symbols.empty())
    out.push_back(make(
        "patched_symbols",
        fmt::format("the candidate defines {} of its own", fmt::join(state.patched_symbols, ", ")),
        place, {{"symbols", state.patched_symbols}}, Weight::weak));
  return out;
}

namespace {

struct Rule {
  model::OutcomeKind kind;
  std::vector<std::string_view> guards;
};

/// In the order in which they decide.
const std::vector<Rule>& rules() {
  using K = model::OutcomeKind;
  static const std::vector<Rule> all = {
      {K::stale, {"loaded_hash"}},
      {K::task_error, {"reference", "contract_floor"}},
      {K::incorrect,
       {"unwritten_elements", "gap_damage", "red_zone", "changed_input", "compare", "wrong_later",
        "stability", "precision"}},
      {K::suspect,
       {"library_call", "skipped_calls", "merged_calls", "untimed_work", "eviction_skipped",
        "not_cold", "work_outside_stream", "device_memory", "stray_processes", "stray_threads",
        "unexplained_cpu_time", "patched_symbols", "process_state", "time_claim"}},
      {K::invalid_measurement, {"below_floor", "beyond_wall"}}};
  return all;
}

} // namespace

std::optional<model::Outcome> decide(const std::vector<Evidence>& evidence) {
  for (const Rule& rule : rules())
    for (const Evidence& each : evidence) {
      if (!each.decisive ||
          std::find(rule.guards.begin(), rule.guards.end(), each.guard) == rule.guards.end())
        continue;
      return model::Outcome{rule.kind, model::default_fault(rule.kind), each.text, evidence};
    }
  for (const Evidence& each : evidence)
    if (each.decisive)
      return model::Outcome{model::OutcomeKind::suspect, model::Fault::candidate, each.text,
                            evidence};
  return std::nullopt;
}

int scrutiny(const std::vector<Evidence>& evidence) {
  int out = 0;
  for (const Evidence& each : evidence) {
    if (each.guard == "patched_symbols" || each.guard == "unexplained_cpu_time") return 2;
    // What no replay stands behind is labelled; measuring it again shows no more.
    if (!each.decisive && each.guard != "self_timed") out = 1;
  }
  return out;
}

std::int64_t calls_to_grade(double gain, int scrutiny) {
  const double odds = std::log(0.001), share = std::clamp(gain, 0.01, 0.99);
  return (1 + scrutiny) * static_cast<std::int64_t>(std::ceil(odds / std::log1p(-share)));
}

} // namespace ako::judge
