#include "base/time.hpp"
#include "evaluation/failures.hpp"
#include "evaluation/rounds.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::evaluation {
namespace {

/// Of a first alarm.
constexpr int k_second_pairs = 8, k_most_second_pairs = 40;
/// A pair beside which others work says nothing: it is taken so often again, after a rest.
constexpr int k_disturbed_pairs = 2;
constexpr std::int64_t k_settle_ns = 20'000'000;
/// A block in which a share of a hundredth is more than the outside clock's noise. What is updated
/// in place is called once a block: more of these.
constexpr double k_long_ns = 8e6;
constexpr int k_long_pairs = 6, k_in_place_pairs = 16;
/// Of an alarm: six pairs' spread is too loose a guess to accuse anybody by.
constexpr int k_alarmed_pairs = 16;
constexpr double k_most_long_calls = 1e6;
/// Pairs of lone cold calls, fewer where they tell, more where the first do not, within so much
/// time of all shapes.
constexpr int k_swept_pairs = 8, k_most_swept_pairs = 24;
constexpr std::int64_t k_swept_ns = 500'000'000;

} // namespace

base::Status Rounds::check_claims() {
  const bool win = m_out.decision.state == stats::State::improved;
  for (std::size_t s = 0; s < m_claims.size() && !m_out.ended; ++s) {
    m_index = s;
    if (const auto pairs = m_claims[s].saving().pairs; win && pairs < judge::k_least_claims)
      m_out.unproven.push_back(
          fmt::format("{}: whether what is saved is missing outside as well: {} undisturbed pairs, "
                      "{} are needed",
                      shape().tag, pairs, judge::k_least_claims));
    auto evidence = m_claims[s].evidence(place());
    if (on_host()) AKO_TRY_STATUS(look_again(win, evidence));
    if (m_out.ended) return {};
    AKO_TRY_STATUS(take(Side::candidate, std::move(evidence)));
  }
  return {};
}

base::Status Rounds::look_again(bool win, std::vector<model::Evidence>& evidence) {
  const judge::Saving told = m_claims[m_index].saving();
  const bool alarm = m_claims[m_index].untimed(place()).has_value();
  if (!alarm && !(win && told.shown && judge::may_be_untimed(told))) return {};
  AKO_TRY(const Claims again, without_preparation());
  if (m_out.ended) return {};
  const auto standing = judge::standing(told, again.saving());
  if (alarm) {
    if (standing == judge::Standing::stands && !again.untimed(place()))
      std::erase_if(evidence, [](const auto& each) { return each.guard == "untimed_work"; });
  } else if (auto found = judge::prepared_ahead(place(), told, again.saving())) {
    evidence.push_back(*found);
  } else if (auto outside = again.untimed(place())) {
    evidence.push_back(*outside);
  } else if (standing == judge::Standing::unclear || judge::may_be_untimed(again.saving())) {
    m_out.unproven.push_back(fmt::format("{}: whether the timed work is done ahead: of {:.0f} ns "
                                         "saved in a block {:.0f} ns are left where it cannot be",
                                         shape().tag, told.claimed_ns, again.saving().claimed_ns));
  }
  return {};
}

base::Expected<bool> Rounds::sample_both(const Sampled& sample,
                                         client::SampleReport (&reports)[2]) {
  for (int attempt = 0; attempt <= k_disturbed_pairs; ++attempt) {
    AKO_TRY_STATUS(m_watch.begin());
    const bool old_first = m_coins.flip();
    for (int turn = 0; turn < 2; ++turn) {
      const Side side = (turn == 0) == old_first ? Side::incumbent : Side::candidate;
      AKO_TRY(auto report, sample(side));
      if (stopped() || !report) return false;
      reports[side == Side::candidate] = std::move(*report);
    }
    AKO_TRY(const Watch::Seen seen, m_watch.end());
    if (stats::disturbance(seen.watch, m_policy).empty()) return true;
    if (attempt < k_disturbed_pairs) m_stage.settle(k_settle_ns);
  }
  return false;
}

base::Expected<Claims> Rounds::without_preparation() {
  AKO_TRY_STATUS(open(blocks().sets()));
  const Sampled sample = [&](Side side) -> base::Expected<std::optional<client::SampleReport>> {
    // What it keeps for all calls, a table above all, is warm; what it will be asked is not there.
    if (auto called = m_stage.call(side, blocks().warmup().front()); !called) {
      end(called.error(), side);
      return std::nullopt;
    }
    AKO_TRY_STATUS(renew_content());
    auto job = timed_job();
    job.sets = drawn_order();
    job.warmup_sets.clear();
    AKO_TRY(auto observed, observe(side, job));
    return observed ? std::optional(std::move(observed->report)) : std::nullopt;
  };
  Claims again(m_request.contract->limits.threads);
  // An alarm is heard out, one that comes up here as well: whoever looks after every pair and stops
  // at the first sees one sooner or later. A win that the outside clock leaves open is asked for as
  // long as it may tell: behind evictions of milliseconds it never tells of microseconds.
  const judge::Saving told = m_claims[m_index].saving();
  const bool alarm = m_claims[m_index].untimed(place()).has_value();
  const auto open_still = [&] {
    const judge::Saving saving = again.saving();
    return judge::may_be_untimed(saving) &&
           (alarm || judge::may_tell(told, saving, k_most_second_pairs));
  };
  const auto more = [&] {
    return m_pair < k_second_pairs || (m_pair < k_most_second_pairs && open_still());
  };
  for (m_pair = 0; !stopped() && more(); ++m_pair) {
    client::SampleReport reports[2];
    AKO_TRY(const bool quiet, sample_both(sample, reports));
    if (quiet) again.add_pair(reports[0], reports[1]);
  }
  return again;
}

bool Rounds::confirms() const {
  // On a device others launch what was captured (replay.hpp). The last opinion is enough.
  return on_host() && (m_round == Round::second_opinion || !m_request.second_opinion);
}

base::Status Rounds::confirm() {
  if (!confirms()) return {};
  for (m_index = 0; m_index < m_request.shapes.size() && !stopped(); ++m_index) {
    if (!(m_out.decision.shapes[m_index].gain.low > 0)) continue;
    AKO_TRY_STATUS(open(blocks().timed_sets)); // nothing is called before it is timed
    if (!m_out.ended) AKO_TRY_STATUS(confirm_clock());
    if (!m_out.ended && blocks().cache == model::CacheState::cold) AKO_TRY_STATUS(confirm_cold());
  }
  return {};
}

base::Status Rounds::confirm_clock() {
  auto job = timed_job();
  job.cache = model::CacheState::warm; // an eviction would drown the calls
  job.warm_tensors.clear();
  job.warmup_sets.clear();
  const Sampled sample = [&](Side side) -> base::Expected<std::optional<client::SampleReport>> {
    AKO_TRY_STATUS(renew_content());
    job.sets = drawn_order();
    AKO_TRY(auto observed, observe(side, job));
    return observed ? std::optional(std::move(observed->report)) : std::nullopt;
  };
  client::SampleReport reports[2];
  AKO_TRY([[maybe_unused]] const bool as_usual, sample_both(sample, reports)); // how long a pass is
  if (m_out.ended) return {};
  const bool in_place = has_inouts(shape());
  if (!in_place)
    job.repeat = static_cast<int>(std::clamp(k_long_ns / std::max(reports[0].pass_ns, 1.0), 1.0,
                                             k_most_long_calls / blocks().timed_sets));
  Claims claims(m_request.contract->limits.threads);
  const int pairs = in_place ? k_in_place_pairs : k_long_pairs;
  const auto more = [&] {
    return m_pair < pairs || (m_pair < k_alarmed_pairs && claims.untimed(place()));
  };
  for (m_pair = 0; !stopped() && more(); ++m_pair) {
    AKO_TRY(const bool quiet, sample_both(sample, reports));
    if (quiet) claims.add_pair(reports[0], reports[1]);
  }
  if (m_out.ended) return {};
  if (auto found = claims.untimed(place())) return take(Side::candidate, {*found});
  const double least = m_out.decision.shapes[m_index].gain.low * reports[0].pass_ns;
  if (!judge::would_show(claims.saving(), std::max(least, claims.saving().claimed_ns)))
    m_out.unproven.push_back(
        fmt::format("{}: a clock bent by as much as is saved: the outside clock is too restless to "
                    "tell in {} quiet pairs of blocks of {:.1f} ms",
                    shape().tag, claims.saving().pairs, reports[0].pass_ns / 1e6));
  return {};
}

base::Status Rounds::confirm_cold() {
  const auto& told = m_out.decision.shapes[m_index];
  const double claimed = told.old_ns - told.new_ns;
  // Where the cache is emptied once a block, the first call of all finds no code either: it is not
  // counted. Which set comes then is drawn, so that nobody can fetch it ahead.
  const bool second =
      blocks().eviction == client::SampleJob::Eviction::once && blocks().timed_sets > 1;
  const Sampled sample = [&](Side side) -> base::Expected<std::optional<client::SampleReport>> {
    AKO_TRY_STATUS(renew_content());
    auto job = timed_job();
    job.sets = drawn_order();
    job.sets.resize(second ? 2 : 1);
    job.warmup_sets.clear();
    AKO_TRY(auto observed, observe(side, job, Swept::by_keeper));
    return observed ? std::optional(std::move(observed->report)) : std::nullopt;
  };
  std::vector<double> saved;
  const auto until =
      base::monotonic_ns() + k_swept_ns / static_cast<std::int64_t>(m_request.shapes.size());
  const auto more = [&] {
    return !judge::would_show_warmth(saved, claimed) &&
           (m_pair < k_swept_pairs ||
            (m_pair < k_most_swept_pairs && base::monotonic_ns() < until));
  };
  for (m_pair = 0; !stopped() && more(); ++m_pair) {
    client::SampleReport reports[2];
    AKO_TRY(const bool quiet, sample_both(sample, reports));
    if (!quiet || reports[0].call_ns.empty() || reports[1].call_ns.empty()) continue;
    saved.push_back(reports[0].call_ns.back() - reports[1].call_ns.back());
  }
  if (m_out.ended) return {};
  if (auto found = judge::not_cold(place(), saved, claimed)) return take(Side::candidate, {*found});
  if (!judge::would_show_warmth(saved, claimed))
    m_out.unproven.push_back(fmt::format("{}: whether its blocks began cold: {} lone calls behind "
                                         "a sweep are too restless to tell",
                                         shape().tag, saved.size()));
  return {};
}

} // namespace ako::evaluation
