#include "loop/incumbent.hpp"

#include "loop/lane.hpp"
#include "model/contract_toml.hpp"
#include "workspace/snapshot.hpp"

#include <fmt/format.h>
#include <utility>

namespace ako::loop {

base::Expected<std::string> fastest_baseline(const Session& session) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(auto baseline, reader.last<ledger::Baseline>());
  if (baseline && !baseline->payload.fastest.empty()) return baseline->payload.fastest;
  if (!session.contract().baselines.empty()) return session.contract().baselines.front().name;
  return base::fail(base::ErrorKind::invalid, "the contract names no baseline",
                    {.where = "task.toml",
                     .found = {},
                     .allowed = "[[baseline]] with name and entry",
                     .next = "add the kernel as it is in the target repository as a [[baseline]]"});
}

namespace {

/// [kernel] of the contract that an iteration was kept under, where it is not today's.
base::Expected<std::optional<model::Kernel>> kernel_of(const Session& session,
                                                       std::int64_t number) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const auto recorded, reader.iteration(number));
  std::optional<model::Kernel> out;
  if (!recorded || recorded->payload.contract == session.contract().hash) return out;
  AKO_TRY(const auto contracts, reader.all<ledger::ContractSeen>());
  for (const auto& each : contracts) {
    if (each.payload.hash != recorded->payload.contract) continue;
    AKO_TRY(model::Contract then,
            model::parse_contract(each.payload.echo, "the contract on record"));
    if (!(then.kernel == session.contract().kernel)) out = std::move(then.kernel);
    return out;
  }
  return out;
}

} // namespace

base::Expected<Incumbent> incumbent_of(const Session& session) {
  AKO_TRY(ledger::Standing standing, session.standing());
  Incumbent out;
  if (!standing.incumbent) {
    // A waiver may have let the loop start without a baseline on record.
    if (standing.baseline_event) {
      AKO_TRY(out.baseline, fastest_baseline(session));
    } else if (!session.contract().baselines.empty()) {
      out.baseline = session.contract().baselines.front().name;
    } else {
      return fastest_baseline(session).map([](const std::string&) { return Incumbent{}; });
    }
    out.label = "baseline:" + out.baseline;
    return out;
  }
  out.iteration = standing.incumbent->number;
  out.label = fmt::format("iteration {}", out.iteration);
  AKO_TRY(out.sources,
          workspace::read_snapshot(session.workdir(), workspace::kept_name(out.iteration)));
  if (out.sources.snapshot.hash != standing.incumbent->snapshot)
    return base::fail(base::ErrorKind::stale, "the kept sources are not those on record",
                      {.where = "refs of " + out.label,
                       .found = out.sources.snapshot.hash.substr(0, 12),
                       .allowed = standing.incumbent->snapshot.substr(0, 12),
                       .next = "ako verify"});
  AKO_TRY(out.kernel, kernel_of(session, out.iteration));
  return out;
}

base::Expected<model::Sources> standing_sources(const Session& session,
                                                const Incumbent& incumbent) {
  const model::Lane lane = session.contract().kernel.lane;
  if (incumbent.kernel && incumbent.kernel->lane != lane)
    return workspace::read_snapshot(session.workdir(), lane_start_name(lane));
  if (incumbent.iteration > 0) return incumbent.sources;
  return workspace::read_snapshot(session.workdir(), workspace::kept_name(0));
}

base::Expected<BuildOutcome> build_incumbent_side(Builder& builder, const Incumbent& incumbent) {
  if (incumbent.iteration == 0) return builder.baseline(incumbent.baseline);
  if (incumbent.kernel)
    return builder.from_kernel(incumbent.sources, lanes::Role::incumbent, *incumbent.kernel);
  return builder.from_sources(incumbent.sources, lanes::Role::incumbent);
}

base::Expected<Built> build_incumbent(Builder& builder, const Incumbent& incumbent) {
  return must_build(build_incumbent_side(builder, incumbent));
}

} // namespace ako::loop
