#include "loop/stops.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace ako::loop {
namespace {

constexpr int k_often = 2;
/// Of production's time: a win on less than this is no win for production.
constexpr double k_representative = 0.25;

/// Shapes at which the evidence stands; tags of edge and hidden shapes count as well.
std::set<std::string> shapes_of(const model::Outcome& outcome) {
  std::set<std::string> out;
  for (const auto& evidence : outcome.evidence) {
    if (!evidence.decisive || !evidence.data.is_object()) continue;
    std::string shape = base::get_or<std::string>(evidence.data, "shape", "");
    if (shape.empty() && evidence.data.contains("place"))
      shape = base::get_or<std::string>(evidence.data["place"], "shape", "");
    if (!shape.empty()) out.insert(shape);
  }
  return out;
}

/// Judging ends at the first wrong shape, in the contract's order: what came before it was right.
bool right_before(const std::set<std::string>& wrong, const std::vector<std::string>& shapes) {
  return !wrong.empty() && !shapes.empty() && !wrong.contains(shapes.front());
}

std::optional<Stop> shape_dependent(const StopFacts& facts) {
  std::set<std::string> places;
  int count = 0;
  for (const auto& it : facts.recent) {
    if (it.verdict.outcome.kind != model::OutcomeKind::incorrect) continue;
    const auto wrong = shapes_of(it.verdict.outcome);
    if (!right_before(wrong, facts.shapes)) continue;
    ++count;
    places.insert(wrong.begin(), wrong.end());
  }
  if (count < k_often) return std::nullopt;
  std::string names;
  for (const auto& each : places) names += (names.empty() ? "" : ", ") + each;
  return Stop{
      Stop::Kind::shape_dependent,
      fmt::format("correctness depends on the shape: {} recent iterations were right at {} and "
                  "wrong at {}",
                  count, facts.shapes.front(), names),
      "make tails and small sizes right first, or let the dispatch keep the old path there"};
}

std::optional<Stop> unrepresentative(const StopFacts& facts) {
  if (facts.recent.empty()) return std::nullopt;
  const auto& verdict = facts.recent.back().verdict;
  if (verdict.shapes.size() < 2 || verdict.placements == 0) return std::nullopt;
  double whole = 0, won = 0;
  std::string names;
  for (const auto& shape : verdict.shapes) {
    whole += shape.weight * shape.old_ns;
    if (shape.interval.low <= 0) continue;
    won += shape.weight * shape.old_ns;
    names += (names.empty() ? "" : ", ") + shape.tag;
  }
  if (whole <= 0 || won <= 0 || won / whole >= k_representative) return std::nullopt;
  return Stop{Stop::Kind::unrepresentative,
              fmt::format("it won at {} alone, which is {:.1f} % of production's time", names,
                          100 * won / whole),
              "look at the shapes that carry the weight: ako diagnose, ako bench incumbent"};
}

std::optional<Stop> micro_only(const StopFacts& facts) {
  if (facts.rejected_iteration == 0 || facts.confirmed_iteration >= facts.rejected_iteration)
    return std::nullopt;
  const auto kept_since =
      std::count_if(facts.recent.begin(), facts.recent.end(), [&](const auto& it) {
        return it.number > facts.rejected_iteration && it.decision == model::Decision::keep;
      });
  return Stop{
      Stop::Kind::micro_only,
      fmt::format("the microbench improves and the target does not: iteration {} was rejected "
                  "there ({}){}",
                  facts.rejected_iteration, facts.rejected_reason,
                  kept_since > 0 ? fmt::format(", and {} more were kept here since", kept_since)
                                 : std::string()),
      "ako port and ako validate before the next idea, or another lane: ako lane suggest"};
}

} // namespace

const char* to_string(Stop::Kind kind) {
  switch (kind) {
  case Stop::Kind::shape_dependent: return "shape-dependent";
  case Stop::Kind::unrepresentative: return "unrepresentative";
  case Stop::Kind::micro_only: return "micro-only";
  }
  return "";
}

std::vector<Stop> stops(const StopFacts& facts) {
  std::vector<Stop> out;
  for (auto found : {shape_dependent(facts), unrepresentative(facts), micro_only(facts)})
    if (found) out.push_back(std::move(*found));
  return out;
}

} // namespace ako::loop
