#include "loop/recompute.hpp"

#include "evaluation/measuring.hpp"
#include "loop/setup.hpp"
#include "model/contract_toml.hpp"
#include "model/resolved.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace ako::loop {
namespace {

using evaluation::Round;
using Result = Recomputed::Result;

/// Two numbers that went through the same arithmetic. What is not finite is null on record.
bool same(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) == std::isfinite(b);
  return std::fabs(a - b) <= 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)});
}

bool is_of(const model::Sample& row, Round round) {
  const bool second = (row.flags & model::sample_flag::second_opinion) != 0;
  return second == (round == Round::second_opinion) && row.side != model::Side::reference;
}

/// The pairs as the test saw them: of a block that was run again, the last attempt.
stats::Series series_of(const std::vector<model::Sample>& rows,
                        const std::vector<model::ResolvedShape>& shapes, Round round) {
  std::map<int, std::map<int, std::map<int, stats::Pair>>> placements; // placement, shape, pair
  for (const auto& row : rows) {
    if (!is_of(row, round)) continue;
    stats::Pair& pair = placements[row.placement][row.shape][row.pair];
    const bool old_side = row.side == model::Side::incumbent;
    (old_side ? pair.old_ns : pair.new_ns) = row.device_ns;
    if (old_side) pair.order = row.order == 0 ? stats::Order::old_first : stats::Order::new_first;
    pair.condition = (row.flags & model::sample_flag::disturbed) != 0 ? stats::Condition::disturbed
                                                                      : stats::Condition::quiet;
  }
  stats::Series out;
  for (const auto& shape : shapes) out.shapes.push_back({shape.tag, shape.weight});
  for (const auto& [number, by_shape] : placements) {
    if (by_shape.size() != shapes.size()) continue; // cut short by what ended it
    stats::Placement placement;
    for (const auto& [shape, pairs] : by_shape) {
      placement.pairs.emplace_back();
      for (const auto& [at, pair] : pairs) placement.pairs.back().push_back(pair);
    }
    out.placements.push_back(std::move(placement));
  }
  return out;
}

std::string words_of(const stats::Decision& decision) {
  return fmt::format("{}, gain {:.4f} [{:.4f}, {:.4f}] over {} placements and {} pairs",
                     stats::to_string(decision.state), decision.gain.value, decision.gain.low,
                     decision.gain.high, decision.placements, decision.pairs);
}

std::string words_of(const model::Verdict& verdict) {
  return fmt::format("{}, gain {:.4f} [{:.4f}, {:.4f}] over {} placements and {} pairs",
                     model::to_string(verdict.outcome.kind), verdict.gain, verdict.interval.low,
                     verdict.interval.high, verdict.placements, verdict.pairs);
}

bool same_numbers(const model::Verdict& verdict, const stats::Decision& decision) {
  if (verdict.placements != decision.placements || verdict.pairs != decision.pairs ||
      !same(verdict.gain, decision.gain.value) || !same(verdict.interval.low, decision.gain.low) ||
      !same(verdict.interval.high, decision.gain.high) ||
      verdict.shapes.size() != decision.shapes.size())
    return false;
  for (std::size_t i = 0; i < verdict.shapes.size(); ++i) {
    const auto& recorded = verdict.shapes[i];
    const auto& found = decision.shapes[i];
    if (recorded.tag != found.tag || !same(recorded.gain, found.gain.value) ||
        !same(recorded.old_ns, found.old_ns) || !same(recorded.new_ns, found.new_ns) ||
        recorded.within_regression != (found.regression != stats::Regression::beyond))
      return false;
  }
  return true;
}

/// Whether the samples' decision allows what was concluded from it. What other evidence ended may
/// say anything but that it is better.
bool allows(const stats::Decision& decision, const model::Verdict& verdict,
            const model::Contract& contract) {
  using K = model::OutcomeKind;
  switch (verdict.outcome.kind) {
  case K::improved:
    return decision.state == stats::State::improved && decision.gain.low > contract.accept.min_gain;
  case K::equivalent: return decision.state == stats::State::equivalent;
  case K::regressed: return decision.state == stats::State::regressed;
  default: return true;
  }
}

bool by_time(model::OutcomeKind kind) {
  return kind == model::OutcomeKind::improved || kind == model::OutcomeKind::equivalent ||
         kind == model::OutcomeKind::regressed || kind == model::OutcomeKind::undecided;
}

/// On a device the shape with the fewest calls in a block decides.
double tick_of(const std::vector<model::Sample>& rows, Round round) {
  double tick = 0;
  for (const auto& row : rows)
    if (is_of(row, round) && row.calls > 0)
      tick = std::max(tick, evaluation::tick_ns_of_block(static_cast<int>(row.calls)));
  return tick;
}

/// The plan of this round, and those that earlier records were made under.
std::vector<stats::Plan> plans_of(const model::Contract& contract,
                                  const std::vector<model::Sample>& rows, Round round) {
  std::vector<stats::Plan> out = {evaluation::stats_plan(contract, round)};
  if (contract.kernel.lane != model::Lane::cpu) {
    out.push_back(out.front()); // before ticks counted
    out.front().tick_ns = tick_of(rows, round);
  }
  if (round != Round::second_opinion) return out;
  stats::Plan earlier = out.front();
  earlier.alpha = std::max(contract.accept.alpha, 0.01);
  earlier.most_placements = std::max(earlier.first_look, earlier.most_placements / 2);
  out.push_back(earlier);
  return out;
}

class Recomputing {
public:
  explicit Recomputing(ledger::Reader& reader) : m_reader(reader) {}

  base::Expected<std::vector<Recomputed>> run() {
    AKO_TRY(const auto contracts, m_reader.all<ledger::ContractSeen>());
    for (const auto& each : contracts) m_echoes[each.payload.hash] = each.payload.echo;
    AKO_TRY_STATUS(baselines());
    AKO_TRY_STATUS(iterations());
    AKO_TRY_STATUS(second_opinions());
    AKO_TRY_STATUS(compares());
    AKO_TRY_STATUS(validations());
    std::sort(m_out.begin(), m_out.end(),
              [](const auto& a, const auto& b) { return a.event < b.event; });
    return std::move(m_out);
  }

private:
  struct Setting {
    model::Contract contract;
    std::vector<model::ResolvedShape> shapes;
  };

  base::Expected<Setting*> setting(const base::Hash& hash) {
    const auto known = m_settings.find(hash);
    if (known != m_settings.end()) return &known->second;
    const auto echo = m_echoes.find(hash);
    if (echo == m_echoes.end())
      return base::fail(base::ErrorKind::invalid, "the contract of a verdict is not on record",
                        {.where = "ledger",
                         .found = hash.substr(0, 12),
                         .allowed = "a contract event of that hash",
                         .next = "ako verify"});
    Setting made;
    AKO_TRY(made.contract, model::parse_contract(echo->second, "contract " + hash.substr(0, 12)));
    AKO_TRY(made.shapes, model::resolve_all(made.contract));
    return &m_settings.emplace(hash, std::move(made)).first->second;
  }

  base::Status compare(std::string what, std::int64_t event, const model::Verdict& verdict,
                       const std::vector<model::Sample>& rows, const base::Hash& hash,
                       Round round) {
    Recomputed out{std::move(what), event, Result::untimed, words_of(verdict), {}};
    if (verdict.placements == 0 && verdict.shapes.empty()) {
      m_out.push_back(std::move(out));
      return {};
    }
    AKO_TRY(const Setting* under, setting(hash));
    const stats::Series series = series_of(rows, under->shapes, round);
    for (const stats::Plan& plan : plans_of(under->contract, rows, round)) {
      Recomputed tried = out;
      AKO_TRY_STATUS(decide_again(series, plan, verdict, under->contract, tried));
      if (out.result == Result::untimed || tried.result == Result::same) out = std::move(tried);
      if (out.result == Result::same) break;
    }
    m_out.push_back(std::move(out));
    return {};
  }

  base::Status decide_again(const stats::Series& series, const stats::Plan& plan,
                            const model::Verdict& verdict, const model::Contract& contract,
                            Recomputed& out) {
    stats::Series prefix{series.shapes, {}};
    out.result = Result::different;
    out.found = "no samples";
    for (std::size_t i = 0; i < series.placements.size(); ++i) {
      prefix.placements.push_back(series.placements[i]);
      // What was decided by time was decided on all of it; what something else ended, on what was
      // there when it was looked at last.
      const bool last = i + 1 == series.placements.size();
      if (!last && by_time(verdict.outcome.kind)) continue;
      AKO_TRY(const stats::Decision decision, stats::look(prefix, plan));
      out.found = words_of(decision);
      if (same_numbers(verdict, decision) && allows(decision, verdict, contract)) {
        out.result = Result::same;
        break;
      }
    }
    return {};
  }

  base::Status iterations() {
    return m_reader.each(
        ledger::EventKind::iteration, [&](const ledger::Event& event) -> base::Status {
          AKO_TRY(const auto it, ledger::payload_from<ledger::Iteration>(event.payload));
          m_iterations[it.number] = {event.seq, it.contract};
          AKO_TRY(const auto rows, m_reader.samples(event.seq));
          return compare(fmt::format("iteration {}", it.number), event.seq, it.verdict, rows,
                         it.contract, Round::first);
        });
  }

  base::Status second_opinions() {
    return m_reader.each(
        ledger::EventKind::second_opinion, [&](const ledger::Event& event) -> base::Status {
          AKO_TRY(const auto opinion, ledger::payload_from<ledger::SecondOpinion>(event.payload));
          const auto about = m_iterations.find(opinion.iteration);
          if (about == m_iterations.end()) return {};
          AKO_TRY(const auto rows, m_reader.samples(about->second.first));
          return compare(fmt::format("second opinion on iteration {}", opinion.iteration),
                         event.seq, opinion.verdict, rows, about->second.second,
                         Round::second_opinion);
        });
  }

  base::Status compares() {
    return m_reader.each(
        ledger::EventKind::compare, [&](const ledger::Event& event) -> base::Status {
          AKO_TRY(const auto seen, ledger::payload_from<ledger::Compare>(event.payload));
          // Files that were compared outside the loop are under a contract of their own.
          if (event.sample_rows == 0 || !seen.old_name.starts_with("baseline:")) return {};
          const auto about =
              std::find_if(m_iterations.begin(), m_iterations.end(), [&](const auto& each) {
                return seen.new_name == fmt::format("iteration {}", each.first);
              });
          if (about == m_iterations.end()) return {};
          AKO_TRY(const auto rows, m_reader.samples(event.seq));
          return compare(fmt::format("{} against {}", seen.new_name, seen.old_name), event.seq,
                         seen.verdict, rows, about->second.second, Round::first);
        });
  }

  base::Status validations() {
    return m_reader.each(
        ledger::EventKind::validation, [&](const ledger::Event& event) -> base::Status {
          AKO_TRY(const auto seen, ledger::payload_from<ledger::Validation>(event.payload));
          if (seen.name != "operator" || !seen.data.is_object() || !seen.data.contains("verdict"))
            return {};
          AKO_TRY(const model::Verdict verdict, model::verdict_from_json(seen.data["verdict"]));
          AKO_TRY(const auto rows, m_reader.samples(event.seq));
          return compare("operator in the target", event.seq, verdict, rows,
                         base::get_or<std::string>(seen.data, "contract", ""), Round::first);
        });
  }

  /// The fastest one's figures: its samples are those on record.
  base::Status baselines() {
    return m_reader.each(
        ledger::EventKind::baseline, [&](const ledger::Event& event) -> base::Status {
          AKO_TRY(const auto seen, ledger::payload_from<ledger::Baseline>(event.payload));
          AKO_TRY(const auto rows, m_reader.samples(event.seq));
          for (const auto& entry : seen.entries) {
            if (entry.name != seen.fastest) continue;
            Recomputed out{"baseline:" + entry.name, event.seq, Result::untimed, {}, {}};
            if (!rows.empty()) {
              AKO_TRY(const Setting* under, setting(seen.contract));
              model::Samples samples;
              samples.rows = rows;
              const auto found = figures(samples, under->shapes, model::Side::candidate);
              out.result = found.size() == entry.shapes.size() ? Result::same : Result::different;
              for (std::size_t i = 0; i < std::min(found.size(), entry.shapes.size()); ++i) {
                if (same(found[i].p50_ns, entry.shapes[i].p50_ns) &&
                    same(found[i].p95_ns, entry.shapes[i].p95_ns))
                  continue;
                out.result = Result::different;
                out.recorded =
                    fmt::format("{}: p50 {} ns", entry.shapes[i].tag, entry.shapes[i].p50_ns);
                out.found = fmt::format("{}: p50 {} ns", found[i].tag, found[i].p50_ns);
              }
            }
            m_out.push_back(std::move(out));
          }
          return {};
        });
  }

  ledger::Reader& m_reader;
  std::map<base::Hash, std::string> m_echoes;
  std::map<base::Hash, Setting> m_settings;
  std::map<std::int64_t, std::pair<std::int64_t, base::Hash>>
      m_iterations; // number: event, contract
  std::vector<Recomputed> m_out;
};

} // namespace

base::Expected<std::vector<Recomputed>> recompute_all(ledger::Reader& reader) {
  return Recomputing(reader).run();
}

} // namespace ako::loop
