#include "cli/command.hpp"
#include "cli/words.hpp"
#include "loop/port/port.hpp"
#include "loop/session.hpp"
#include "loop/state.hpp"
#include "loop/try.hpp"
#include "report/text/tables.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Json row_of_status(const std::optional<ledger::IterationRow>& row) {
  if (!row) return {};
  return {{"number", row->number},
          {"outcome", model::to_string(row->outcome)},
          {"decision", model::to_string(row->decision)},
          {"hypothesis", row->hypothesis},
          {"snapshot", row->snapshot},
          {"confirmed", row->confirmed},
          {"gain", row->gain ? base::number_or_null(*row->gain) : base::Json()},
          {"baseline_gain", row->base_gain ? base::number_or_null(*row->base_gain) : base::Json()}};
}

/// How far the incumbent came in the target, and what brings it on.
struct Way {
  std::string state, text, command;
};

base::Expected<Way> way_of(const loop::Session& session, const loop::Facts& facts) {
  Way out;
  AKO_TRY(const model::PortSpec spec, model::load_port(session.workdir().task()));
  if (!facts.standing.incumbent || !spec.declared) return out;
  AKO_TRY(const auto port, loop::standing_port(session));
  if (!port) {
    out = {"measured", "the incumbent is not in the target yet", "ako port"};
    return out;
  }
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(out.state, loop::port_outcome(reader, *port));
  out.text = fmt::format("{} on branch {}", out.state, port->port.branch);
  out.command = out.state == loop::k_integrated ? "ako validate"
                : out.state == loop::k_confirmed
                    ? "ako report --archive " + session.workdir().name() + ".tar.gz"
                    : "";
  return out;
}

base::Json standing_stops_json(const std::vector<loop::Stop>& stops) {
  base::Json out = base::Json::array();
  for (const auto& stop : stops)
    out.push_back({{"kind", loop::to_string(stop.kind)}, {"text", stop.text}, {"next", stop.next}});
  return out;
}

/// What there is to show: of a finished task that has no ledger of its own, the record it came
/// with. The gates go by the task's own.
struct Shown {
  ledger::Standing standing;
  std::optional<ledger::Baseline> baseline;
};

base::Expected<Shown> shown(const loop::Session& session, const loop::Facts& facts) {
  Shown out{facts.standing, std::nullopt};
  const auto shipped = session.shipped_record();
  if (!shipped && !facts.standing.baseline_event) return out;
  AKO_TRY(ledger::Reader reader, shipped ? ledger::Reader::open(*shipped) : session.reader());
  AKO_TRY(auto baseline, reader.last<ledger::Baseline>());
  if (baseline) out.baseline = std::move(baseline->payload);
  if (!shipped) return out;
  AKO_TRY(out.standing, reader.standing());
  return out;
}

base::Expected<Reply> run_status(const Context& context, const Arguments&) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  AKO_TRY(loop::Facts facts, session.facts());
  AKO_TRY(const Shown seen, shown(session, facts));
  auto closed = loop::closed_gates(loop::Claim::iteration, facts);
  std::vector<std::string> missing;
  base::Json gates = base::Json::array();
  for (const auto& gate : closed) {
    missing.push_back(gate.missing);
    gates.push_back({{"gate", loop::to_string(gate.gate)},
                     {"missing", gate.missing},
                     {"command", gate.command}});
  }
  loop::Next next =
      loop::next_step(seen.standing, missing, closed.empty() ? "" : closed.front().command);
  AKO_TRY(const Way way, way_of(session, facts));
  std::string missing_for_port;
  // A confirmed incumbent that is not in the target is worth more than the next idea.
  if (closed.empty() && !way.command.empty() && facts.standing.second_opinion_event) {
    const auto before = loop::closed_gates(loop::Claim::port, facts);
    next.command = before.empty() ? way.command : before.front().command;
    if (!before.empty()) missing_for_port = before.front().missing;
  }
  std::vector<loop::Stop> stops;
  if (facts.standing.iterations > 0) {
    AKO_TRY(stops, loop::standing_stops(session));
  }
  Reply reply;
  say_whose_record(session, reply);
  reply.text =
      report::status_text(seen.standing, seen.baseline,
                          {session.workdir().name(), next.stands, next.missing, next.command});
  if (!way.text.empty()) reply.text += fmt::format("{:<12} {}\n", "target", way.text);
  if (!missing_for_port.empty())
    reply.text += fmt::format("{:<12} before a port: {}\n", "missing", missing_for_port);
  for (const auto& stop : stops)
    reply.text += fmt::format("{:<12} {}\n{:<12} {}\n", "stop", stop.text, "", stop.next);
  reply.data = {{"task", session.workdir().name()},
                {"port", way.state.empty() ? base::Json() : base::Json(way.state)},
                {"stops", standing_stops_json(stops)},
                {"contract", facts.contract},
                {"iterations", seen.standing.iterations},
                {"outcomes", seen.standing.outcomes},
                {"incumbent", row_of_status(seen.standing.incumbent)},
                {"last", row_of_status(seen.standing.last)},
                {"not_better_in_a_row", seen.standing.not_better_in_a_row},
                {"closed_gates", std::move(gates)},
                {"waivers", seen.standing.waivers},
                {"head", seen.standing.head},
                {"next", next.command}};
  return reply;
}

} // namespace

extern const Command k_status{"status",
                              "what stands, what is missing and the one command to run next",
                              "Reads only. Always runs.",
                              {},
                              {},
                              {"ako status", "ako -C tasks/rmsnorm status --json"},
                              run_status};

} // namespace ako::cli
