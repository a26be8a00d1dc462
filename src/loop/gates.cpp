#include "loop/gates.hpp"

namespace ako::loop {

const char* to_string(Gate gate) {
  switch (gate) {
#define AKO_X(name, text)                                                                          \
  case Gate::name: return text;
    AKO_GATES(AKO_X)
#undef AKO_X
  }
  return "";
}

namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::optional<ClosedGate> contract_gate(Claim claim, const Facts& facts) {
  if (!facts.standing.self_test_event)
    return ClosedGate{Gate::contract_proven, "nothing shows yet that this contract can judge",
                      "ako check"};
  if (facts.self_test_contract != facts.contract)
    return ClosedGate{Gate::contract_proven, "task.toml changed since it was checked", "ako check"};
  if (!facts.changed_since_check.empty())
    return ClosedGate{Gate::contract_proven,
                      "changed since the contract was checked: " +
                          listed(facts.changed_since_check),
                      "ako check"};
  // What is on record already stands as it was proven then.
  if (!facts.check_names_files && claim != Claim::report)
    return ClosedGate{
        Gate::contract_proven,
        "the check on record does not say which files judged: it is from an older ako",
        "ako check"};
  if (!facts.self_test_passed)
    return ClosedGate{Gate::contract_proven, "the last `ako check` of this contract failed",
                      "ako check"};
  return std::nullopt;
}

std::optional<ClosedGate> baseline_gate(Claim claim, const Facts& facts) {
  if (facts.baseline_contract.empty())
    return ClosedGate{Gate::baseline, "no baseline is on record", "ako baseline"};
  if (facts.baseline_contract != facts.contract)
    return ClosedGate{Gate::baseline, "task.toml changed since the baseline was measured",
                      "ako baseline"};
  if (!facts.changed_since_baseline.empty())
    return ClosedGate{Gate::baseline,
                      "changed since the baseline was measured: " +
                          listed(facts.changed_since_baseline),
                      "ako baseline"};
  if (!facts.baseline_names_files && claim != Claim::report)
    return ClosedGate{Gate::baseline,
                      "the baseline on record does not say from which files it was built: it is "
                      "from an older ako",
                      "ako baseline"};
  if (facts.baseline_environment != facts.environment)
    return ClosedGate{Gate::baseline, "the baseline was measured on another machine or system",
                      "ako baseline"};
  return std::nullopt;
}

std::optional<ClosedGate> reading_gate(Claim claim, const Facts& facts) {
  if (!facts.reading_trouble.empty())
    return ClosedGate{Gate::reading, "what must be read is not known: " + facts.reading_trouble,
                      "ako refs"};
  const bool port = claim == Claim::port;
  const auto& unread = port ? facts.unread_for_port : facts.unread;
  if (unread.empty()) return std::nullopt;
  return ClosedGate{Gate::reading, "required and not on record as read: " + listed(unread),
                    port ? "ako refs read --required --claim port" : "ako refs read --required"};
}

std::optional<ClosedGate> citation_gate(const Facts& facts) {
  if (facts.citation != Citation::none) return std::nullopt;
  return ClosedGate{Gate::citation, "the hypothesis cites neither a guide nor a finding",
                    "ako try --cites ID --hypothesis \"...\" (ids: ako refs --all; ako refs search "
                    "WORDS)"};
}

} // namespace

std::vector<ClosedGate> closed_gates(Claim claim, const Facts& facts) {
  std::vector<ClosedGate> out;
  auto add = [&](std::optional<ClosedGate> gate) {
    if (gate) out.push_back(std::move(*gate));
  };
  if (!facts.harness_trouble.empty())
    add(ClosedGate{Gate::clean_harness, facts.harness_trouble, "ako preflight"});
  add(contract_gate(claim, facts));
  if (claim == Claim::baseline) return out;
  if (claim == Claim::iteration || claim == Claim::port) add(reading_gate(claim, facts));
  add(baseline_gate(claim, facts));
  if (claim == Claim::iteration) {
    if (facts.standing.stall_event && !facts.direction_given)
      add(ClosedGate{Gate::direction,
                     "the last iterations were correct and not better: a new direction is due",
                     "ako try --direction \"...\""});
    add(citation_gate(facts));
    return out;
  }
  if (claim == Claim::port && !facts.library_trouble.empty())
    add(ClosedGate{Gate::library_baseline, facts.library_trouble,
                   "ako scope --no-library \"why\" (or a [[baseline]] with kind = \"library\")"});
  if (facts.standing.incumbent && !facts.standing.second_opinion_event)
    add(ClosedGate{Gate::second_opinion, "the incumbent has no second opinion on record",
                   "ako try --hypothesis \"...\""});
  return out;
}

Waivers waive_all(const std::vector<ClosedGate>& closed, const std::optional<std::string>& why) {
  Waivers out;
  if (why)
    for (const auto& gate : closed) out[gate.gate] = *why;
  return out;
}

base::Status pass(const std::vector<ClosedGate>& closed, const Waivers& waived) {
  std::string all;
  const ClosedGate* first = nullptr;
  for (const auto& gate : closed) {
    if (waived.count(gate.gate) != 0) continue;
    if (first == nullptr) first = &gate;
    all += (all.empty() ? "" : ", ") + std::string(to_string(gate.gate));
  }
  if (first == nullptr) return {};
  return base::fail(base::ErrorKind::refused, first->missing,
                    {.where = "gate " + std::string(to_string(first->gate)),
                     .found = "closed: " + all,
                     .allowed = "looking is always free (compare, bench, status, log); going on "
                                "needs it on record or --waive \"why\"",
                     .next = first->command});
}

base::Status pass(const std::vector<ClosedGate>& closed, const std::optional<std::string>& why) {
  return pass(closed, waive_all(closed, why));
}

} // namespace ako::loop
