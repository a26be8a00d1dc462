#include "drive/evaluator.hpp"

#include "base/log.hpp"
#include "base/time.hpp"
#include "executors/runner.hpp"
#include "loop/baseline.hpp"
#include "loop/check.hpp"
#include "loop/profile.hpp"

#include <fmt/format.h>
#include <utility>

namespace ako::drive {
namespace {

std::string compiler_text(const std::vector<model::CompilerMessage>& messages) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(messages.size(), 8); ++i)
    out += fmt::format("- {}:{}: {}: {}\n", messages[i].file, messages[i].line,
                       messages[i].severity, messages[i].text);
  return out;
}

/// The loop says itself how the last iteration ended; this is what it does not.
std::string text_of_result(const loop::TryResult& result) {
  std::string out = compiler_text(result.messages);
  if (result.not_built())
    out += "The candidate does not build. Its files are as you left them: mend them.\n";
  if (result.stalled) {
    out += "Three in a row were correct and not better. What they teach:\n";
    for (const auto& lesson : result.lessons) out += "- " + lesson + "\n";
  }
  return out;
}

double seconds_since(std::int64_t started) {
  return static_cast<double>(base::monotonic_ns() - started) / 1e9;
}

std::string why_no_commit(const std::vector<std::string>& warnings) {
  for (const auto& warning : warnings)
    if (warning.find("no commit") != std::string::npos) return warning;
  return "no commit was made";
}

class Real : public Evaluator {
public:
  explicit Real(loop::TextWriter write_texts) : m_write_texts(std::move(write_texts)) {}

  base::Expected<Evaluated> evaluate(const loop::Session& session,
                                     const loop::TryRequest& request) override {
    const std::int64_t started = base::monotonic_ns();
    AKO_TRY(const loop::TryResult result, loop::try_candidate(session, request, m_write_texts));
    for (const auto& warning : result.warnings) base::info("{}", warning);
    Evaluated out;
    out.iteration = result.number;
    out.outcome = result.iteration.verdict.outcome.kind;
    out.fault = result.iteration.verdict.outcome.fault;
    out.decision = result.step.decision;
    out.seconds = seconds_since(started); // what a stall asks for, too
    out.device_seconds =
        static_cast<double>(result.phases.total_ns + result.further_device_ns) / 1e9;
    out.stalled = result.stalled;
    out.text = text_of_result(result);
    if (result.commit.empty()) out.no_commit = why_no_commit(result.warnings);
    return out;
  }

  base::Expected<Spent> prepare(const loop::Session& session) override {
    const std::int64_t started = base::monotonic_ns();
    AKO_TRY(bool worked, prove(session));
    AKO_TRY(loop::Facts facts, session.facts());
    for (const auto& gate : loop::closed_gates(loop::Claim::iteration, facts))
      if (gate.gate == loop::Gate::baseline) {
        base::info("measuring the baseline");
        AKO_TRY_STATUS(
            loop::measure_baseline(session, std::nullopt, m_write_texts).map([](const auto&) {}));
        worked = true;
      }
    worked |= look(session);
    if (!worked) return Spent{};
    const double seconds = seconds_since(started);
    return Spent{seconds, seconds};
  }

private:
  /// Whether anything was due.
  base::Expected<bool> prove(const loop::Session& session) {
    AKO_TRY(loop::Facts facts, session.facts());
    bool due = false;
    for (const auto& gate : loop::closed_gates(loop::Claim::baseline, facts))
      due |= gate.gate == loop::Gate::contract_proven;
    if (!due) return false;
    base::info("proving that the contract can judge");
    AKO_TRY(const loop::CheckResult result, loop::check_contract(session, loop::CheckDepth::whole));
    if (result.unsettled)
      return base::fail(base::ErrorKind::environment, result.unsettled->reason,
                        {.where = "ako check",
                         .found = {},
                         .allowed = "a machine that is quiet while it is measured on",
                         .next = "run the campaign again when it is"});
    if (result.test.passed) return true;
    if (result.why) {
      base::Error why = *result.why;
      why.kind = base::ErrorKind::refused;
      why.message = "the contract cannot judge: " + why.message;
      return tl::unexpected(std::move(why));
    }
    return base::fail(base::ErrorKind::refused, "the contract cannot judge",
                      {.where = "task.toml",
                       .found = "steps of `ako check` that do not hold",
                       .allowed = {},
                       .next = "ako check --all"});
  }

  /// One look at the kernel, so that the first prompt has something to go by. No look is no error.
  bool look(const loop::Session& session) {
    auto reader = session.reader();
    if (!reader) return false;
    auto seen = reader->last(ledger::EventKind::profile);
    if (!seen || *seen) return false;
    loop::ProfileRequest request;
    request.side = "incumbent";
    if (auto looked = loop::profile(session, request, executors::local_runner()); !looked)
      base::info("the incumbent was not profiled: {}", looked.error().text());
    return true;
  }

  loop::TextWriter m_write_texts;
};

} // namespace

bool machines_fault(model::OutcomeKind kind) {
  return kind == model::OutcomeKind::invalid_measurement ||
         kind == model::OutcomeKind::environment || kind == model::OutcomeKind::stale;
}

base::Expected<Evaluated> evaluate_patiently(Evaluator& evaluator, const loop::Session& session,
                                             const loop::TryRequest& request) {
  constexpr int k_attempts = 3;
  double seconds = 0, device_seconds = 0;
  std::int64_t first = 0;
  for (int attempt = 1;; ++attempt) {
    AKO_TRY(Evaluated out, evaluator.evaluate(session, request));
    if (attempt == 1) first = out.iteration;
    seconds += out.seconds;
    device_seconds += out.device_seconds;
    if (machines_fault(out.outcome) && attempt < k_attempts) continue;
    out.first_iteration = first;
    out.last_device_seconds = std::exchange(out.device_seconds, device_seconds);
    out.seconds = seconds;
    return out;
  }
}

std::unique_ptr<Evaluator> real_evaluator(loop::TextWriter write_texts) {
  return std::make_unique<Real>(std::move(write_texts));
}

} // namespace ako::drive
