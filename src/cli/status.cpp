#include "cli/command.hpp"
#include "cli/words.hpp"
#include "loop/session.hpp"
#include "loop/state.hpp"
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

base::Expected<Reply> run_status(const Context& context, const Arguments&) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  AKO_TRY(loop::Facts facts, session.facts());
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
      loop::next_step(facts.standing, missing, closed.empty() ? "" : closed.front().command);
  std::optional<ledger::Baseline> baseline;
  if (facts.standing.baseline_event) {
    AKO_TRY(ledger::Reader reader, session.reader());
    AKO_TRY(auto recorded, reader.last<ledger::Baseline>());
    if (recorded) baseline = std::move(recorded->payload);
  }
  Reply reply;
  reply.text =
      report::status_text(facts.standing, baseline,
                          {session.workdir().name(), next.stands, next.missing, next.command});
  reply.data = {{"task", session.workdir().name()},
                {"contract", facts.contract},
                {"iterations", facts.standing.iterations},
                {"outcomes", facts.standing.outcomes},
                {"incumbent", row_of_status(facts.standing.incumbent)},
                {"last", row_of_status(facts.standing.last)},
                {"not_better_in_a_row", facts.standing.not_better_in_a_row},
                {"closed_gates", std::move(gates)},
                {"waivers", facts.standing.waivers},
                {"head", facts.standing.head},
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
