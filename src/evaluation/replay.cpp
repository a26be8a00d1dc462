#include "evaluation/replay.hpp"

#include "evaluation/correctness.hpp"
#include "stats/summary.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::evaluation {
namespace {

using model::Side;

constexpr int k_rounds = 6, k_most_replayed_sets = 8;
constexpr double k_share = 0.05, k_constant_ns = 300;
/// Of the rounds that must lie beyond the limit.
constexpr double k_most_of_them = 0.8;

class ShapeReplay {
public:
  ShapeReplay(Stage& stage, const Request& request, const model::ResolvedShape& shape,
              const BlockPlan& blocks, std::uint64_t seed)
      : m_stage(stage), m_request(request), m_shape(shape), m_coins(seed),
        m_grader(stage, request, shape) {
    const int timed = std::min(blocks.timed_sets, k_most_replayed_sets);
    for (int i = 0; i < timed; ++i) m_job.sets.push_back(i);
    m_job.warmup_sets = {timed};
    m_job.cache = blocks.cache;
    m_job.warm_tensors = blocks.warm_tensors;
    m_job.clock = request.contract->accept.clock;
  }

  base::Expected<Replayed> run() {
    const int sets = static_cast<int>(m_job.sets.size()) + 1;
    AKO_TRY_STATUS(m_stage.open(m_shape, sets, m_coins.draw()));
    m_content = {inputs::Recipe::plain, m_coins.draw(), 0};
    AKO_TRY(Scales scales,
            scales_of(m_stage, m_request, m_shape, m_content.recipe, m_coins.draw()));
    m_grader.set_scales(std::move(scales));
    AKO_TRY_STATUS(m_stage.fill(m_content));
    if (auto ready = make_ready(m_stage, Side::candidate); !ready)
      return without(ready.error().text);
    std::vector<int> all = m_job.sets;
    all.push_back(m_job.warmup_sets.front());
    AKO_TRY(const std::string why, m_stage.hand_over(all));
    if (!why.empty()) return without(why);
    for (int round = 0; round < k_rounds && m_out.self_timed.empty(); ++round)
      AKO_TRY_STATUS(run_round());
    if (!m_out.self_timed.empty()) return std::move(m_out);
    if (auto found = replay_time(place(), m_claimed, m_replayed)) m_out.evidence.push_back(*found);
    m_out.shapes.push_back({{"shape", m_shape.tag},
                            {"claimed_ns", stats::median(m_claimed)},
                            {"replayed_ns", stats::median(m_replayed)},
                            {"rounds", m_claimed.size()}});
    return std::move(m_out);
  }

private:
  Replayed without(const std::string& why) {
    m_out.self_timed = fmt::format("shape {}: {}", m_shape.tag, why);
    return std::move(m_out);
  }
  judge::Place place() const {
    judge::Place out;
    out.shape = m_shape.tag;
    out.seed = m_content.seed;
    out.epoch = m_content.epoch;
    out.phase = "replay";
    return out;
  }

  /// One block of each, in an order drawn by coin, each on a content of its own: the reference
  /// never sees one that the candidate still has before it.
  base::Status run_round() {
    const bool replay_first = m_coins.flip();
    for (int turn = 0; turn < 2 && m_out.self_timed.empty(); ++turn) {
      ++m_content.epoch;
      AKO_TRY_STATUS(m_stage.fill(m_content));
      m_grader.renew(m_content);
      AKO_TRY_STATUS(m_stage.poison(inputs::Sentinel::first, m_job.sets));
      const bool replay = (turn == 0) == replay_first;
      auto report = replay ? m_stage.replay(m_job) : m_stage.sample(Side::candidate, m_job);
      if (!report) {
        m_out.self_timed = fmt::format("shape {}: {}", m_shape.tag, report.error().text);
        return {};
      }
      (replay ? m_replayed : m_claimed).push_back(report->ns_per_call());
      if (replay) AKO_TRY_STATUS(look_at_outputs());
    }
    return {};
  }

  base::Status look_at_outputs() {
    AKO_TRY(client::CheckReport checked, m_stage.check(m_job.sets));
    auto found = evidence_of(checked, m_shape, place());
    const int set = m_coins.below(static_cast<int>(m_job.sets.size()));
    if (found.empty() && m_request.judged && m_grader.expect(set)) {
      AKO_TRY(Graded graded, m_grader.grade(set, place()));
      found = std::move(graded.evidence);
    }
    if (!found.empty())
      m_out.self_timed =
          fmt::format("shape {}: what was captured does not make the outputs by itself: {}",
                      m_shape.tag, found.front().text);
    return {};
  }

  Stage& m_stage;
  const Request& m_request;
  const model::ResolvedShape& m_shape;
  Coins m_coins;
  Grader m_grader;
  client::SampleJob m_job;
  Content m_content;
  std::vector<double> m_claimed, m_replayed;
  Replayed m_out;
};

} // namespace

judge::Found replay_time(const judge::Place& place, const std::vector<double>& claimed_ns,
                         const std::vector<double>& replayed_ns) {
  const auto rounds = std::min(claimed_ns.size(), replayed_ns.size());
  if (rounds == 0) return std::nullopt;
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < rounds; ++i)
    beyond += replayed_ns[i] > claimed_ns[i] * (1 + k_share) + k_constant_ns;
  if (static_cast<double>(beyond) < k_most_of_them * static_cast<double>(rounds))
    return std::nullopt;
  const double claimed = stats::median(claimed_ns), replayed = stats::median(replayed_ns);
  return model::Evidence{
      "replay_time",
      fmt::format(
          "{:.0f} ns a call are claimed at shape {}; the same kernels launched by a process "
          "without the candidate's host code take {:.0f} ns",
          claimed, place.shape, replayed),
      {{"claimed_ns", claimed},
       {"replayed_ns", replayed},
       {"rounds", rounds},
       {"beyond", beyond},
       {"place", judge::to_json(place)}},
      true};
}

base::Expected<Replayed> replay_candidate(Stage& stage, const Request& request,
                                          const std::vector<BlockPlan>& blocks,
                                          std::uint64_t seed) {
  Replayed out;
  Coins coins(seed);
  for (std::size_t s = 0; s < request.shapes.size(); ++s) {
    AKO_TRY(Replayed one,
            ShapeReplay(stage, request, request.shapes[s], blocks[s], coins.draw()).run());
    for (auto& line : one.shapes) out.shapes.push_back(line);
    out.evidence.insert(out.evidence.end(), one.evidence.begin(), one.evidence.end());
    if (out.self_timed.empty()) out.self_timed = one.self_timed;
    if (!one.self_timed.empty() || !one.evidence.empty()) break;
  }
  return out;
}

} // namespace ako::evaluation
