#include "model/outcome.hpp"

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

namespace {

struct OutcomeRow {
  OutcomeKind kind;
  const char* text;
  Fault fault;
  int code;
};

constexpr OutcomeRow k_outcome_rows[] = {
#define AKO_X(name, fault, code) {OutcomeKind::name, #name, Fault::fault, code},
    AKO_OUTCOMES(AKO_X)
#undef AKO_X
};

const OutcomeRow& outcome_row(OutcomeKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  AKO_CHECK(index < std::size(k_outcome_rows), "an OutcomeKind is one of its enumerators");
  return k_outcome_rows[index];
}

constexpr Fault k_faults[] = {Fault::none, Fault::candidate, Fault::task, Fault::machine,
                              Fault::ako};

std::string outcome_list() {
  std::string out;
  for (const OutcomeRow& each : k_outcome_rows)
    out += (out.empty() ? "" : ", ") + std::string(each.text);
  return out;
}

Expected<Evidence> evidence_from_json(const Json& json) {
  Evidence evidence;
  AKO_TRY(evidence.guard, base::get<std::string>(json, "guard"));
  AKO_TRY(evidence.text, base::get<std::string>(json, "text"));
  AKO_TRY(evidence.data, base::get<Json>(json, "data"));
  AKO_TRY(evidence.decisive, base::get<bool>(json, "decisive"));
  return evidence;
}

} // namespace

const char* to_string(OutcomeKind kind) { return outcome_row(kind).text; }

const char* to_string(Fault fault) {
  switch (fault) {
  case Fault::none: return "none";
  case Fault::candidate: return "candidate";
  case Fault::task: return "task";
  case Fault::machine: return "machine";
  case Fault::ako: return "ako";
  }
  return "ako";
}

const char* to_string(Decision decision) {
  switch (decision) {
  case Decision::keep: return "keep";
  case Decision::revert: return "revert";
  case Decision::flag: return "flag";
  }
  return "revert";
}

std::optional<OutcomeKind> outcome_from(std::string_view text) {
  for (const OutcomeRow& each : k_outcome_rows)
    if (text == each.text) return each.kind;
  return std::nullopt;
}

std::optional<Decision> decision_from(std::string_view text) {
  for (Decision each : {Decision::keep, Decision::revert, Decision::flag})
    if (text == to_string(each)) return each;
  return std::nullopt;
}

Fault default_fault(OutcomeKind kind) { return outcome_row(kind).fault; }

int exit_code(OutcomeKind kind) { return outcome_row(kind).code; }

Json to_json(const Outcome& outcome) {
  Json evidence = Json::array();
  for (const Evidence& each : outcome.evidence)
    evidence.push_back({{"guard", each.guard},
                        {"text", each.text},
                        {"data", each.data},
                        {"decisive", each.decisive}});
  return Json{{"kind", to_string(outcome.kind)},
              {"fault", to_string(outcome.fault)},
              {"reason", outcome.reason},
              {"evidence", std::move(evidence)}};
}

Expected<Outcome> outcome_from_json(const Json& json) {
  Outcome outcome;
  AKO_TRY(const std::string kind, base::get<std::string>(json, "kind"));
  const auto known = outcome_from(kind);
  if (!known)
    return fail(ErrorKind::invalid, "unknown outcome",
                {.where = "kind", .found = kind, .allowed = outcome_list(), .next = {}});
  outcome.kind = *known;
  AKO_TRY(const std::string fault, base::get<std::string>(json, "fault"));
  bool fault_known = false;
  for (Fault each : k_faults)
    if (fault == to_string(each)) {
      outcome.fault = each;
      fault_known = true;
    }
  if (!fault_known)
    return fail(ErrorKind::invalid, "unknown fault",
                {.where = "fault",
                 .found = fault,
                 .allowed = "none, candidate, task, machine, ako",
                 .next = {}});
  AKO_TRY(outcome.reason, base::get<std::string>(json, "reason"));
  AKO_TRY(const Json evidence, base::get<Json>(json, "evidence"));
  if (!evidence.is_array())
    return fail(
        ErrorKind::invalid, "evidence must be a list",
        {.where = "evidence", .found = evidence.type_name(), .allowed = "array", .next = {}});
  for (const Json& each : evidence) {
    AKO_TRY(Evidence one, evidence_from_json(each));
    outcome.evidence.push_back(std::move(one));
  }
  return outcome;
}

} // namespace ako::model
