#include "fake_evaluator.hpp"

#include "drive/driver.hpp"
#include "loop/reading.hpp"
#include "loop/state.hpp"
#include "model/contract_toml.hpp"
#include "workspace/commit.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <csignal>
#include <cstdlib>
#include <fmt/format.h>

namespace ako::test {
namespace {

using base::Expected;
using base::Status;
using model::OutcomeKind;

constexpr double k_first_ns = 1000, k_device_seconds = 2;

double speed_of(const model::Sources& sources) {
  for (const auto& text : sources.texts)
    if (const auto at = text.content.find("// speed: "); at != std::string::npos)
      return std::atof(text.content.c_str() + at + 10);
  return k_first_ns;
}

bool says(const model::Sources& sources, const char* word) {
  for (const auto& text : sources.texts)
    if (text.content.find(word) != std::string::npos) return true;
  return false;
}

/// As often as TASK.busy says, the machine is at fault.
bool is_busy(const loop::Session& session) {
  const base::fs::path file = session.workdir().task().string() + ".busy";
  auto left = base::read_file(file);
  const int times = left ? std::atoi(left->c_str()) : 0;
  return times > 0 && base::write_file_atomic(file, std::to_string(times - 1)).has_value();
}

model::Verdict verdict_of(OutcomeKind kind, double old_ns, double new_ns, std::string against) {
  model::Verdict out;
  out.outcome = {
      kind, model::default_fault(kind), fmt::format("{} ns after {} ns", new_ns, old_ns), {}};
  out.against = std::move(against);
  if (kind == OutcomeKind::incorrect || kind == OutcomeKind::build_failed) return out;
  out.placements = 1;
  out.gain = 1 - new_ns / old_ns;
  out.interval = {out.gain, out.gain};
  out.confirmed = kind == OutcomeKind::improved;
  return out;
}

class Fake : public drive::Evaluator {
public:
  Expected<drive::Evaluated> evaluate(const loop::Session& session,
                                      const loop::TryRequest& request) override {
    AKO_TRY(const base::FileLock lock, session.lock());
    AKO_TRY(loop::Facts facts, session.facts());
    facts.direction_given = !request.direction.empty();
    AKO_TRY(const auto cited,
            loop::cited_by(request.hypothesis, request.cites, facts.standing.iterations));
    facts.citation = cited.empty() ? loop::Citation::none : loop::Citation::given;
    AKO_TRY_STATUS(loop::pass(loop::closed_gates(loop::Claim::iteration, facts), request.waivers));
    if (std::getenv("AKO_FAKE_FAILS") != nullptr &&
        request.hypothesis.find(std::getenv("AKO_FAKE_FAILS")) != std::string::npos)
      return base::fail(base::ErrorKind::environment, "the fake fails", {.where = "fake"});
    AKO_TRY(const model::Sources now,
            workspace::take_snapshot(session.workdir(), session.contract()));
    AKO_TRY(const loop::Incumbent incumbent, loop::incumbent_of(session));
    AKO_TRY(const model::Sources standing, loop::standing_sources(session, incumbent));
    const double old_ns = speed_of(incumbent.iteration > 0 ? incumbent.sources : standing);
    const double new_ns = speed_of(now);
    if (now.snapshot.hash == standing.snapshot.hash)
      return base::fail(base::ErrorKind::invalid, "nothing to try", {.where = "solution"});
    const OutcomeKind kind = says(now, "BROKEN")  ? OutcomeKind::build_failed
                             : says(now, "WRONG") ? OutcomeKind::incorrect
                             : says(now, "BUSY") || is_busy(session)
                                 ? OutcomeKind::invalid_measurement
                             : new_ns < 0.95 * old_ns ? OutcomeKind::improved
                                                      : OutcomeKind::equivalent;
    ledger::Iteration iteration;
    iteration.number = facts.standing.iterations + 1;
    iteration.hypothesis = request.hypothesis;
    iteration.direction = request.direction;
    iteration.lane = model::to_string(session.contract().kernel.lane);
    iteration.contract = session.contract().hash;
    iteration.explore = request.explore;
    iteration.snapshot = now.snapshot;
    iteration.verdict = verdict_of(kind, old_ns, new_ns, "incumbent");
    const loop::Step step = loop::decide(iteration.verdict, std::nullopt);
    iteration.decision = step.decision;
    iteration.decision_reason = step.reason;
    iteration.seconds = k_device_seconds;
    if (step.decision == model::Decision::keep)
      iteration.versus_baseline = verdict_of(kind, k_first_ns, new_ns, "baseline:first");
    AKO_TRY_STATUS(record(session, iteration, now, request));
    return settle(session, facts, iteration, request, standing);
  }

  Expected<drive::Spent> prepare(const loop::Session& session) override {
    AKO_TRY(const loop::Facts facts, session.facts());
    if (facts.standing.baseline_event && facts.baseline_contract == facts.contract)
      return drive::Spent{};
    const char* dies_in = std::getenv("AKO_FAKE_DIES_IN");
    if (dies_in != nullptr && model::lane_from(dies_in) == session.contract().kernel.lane)
      ::raise(SIGKILL);
    AKO_TRY(const model::Sources start,
            workspace::take_snapshot(session.workdir(), session.contract()));
    AKO_TRY_STATUS(
        workspace::keep_snapshot(session.workdir(), start, "iter-0").map([](const auto&) {}));
    AKO_TRY(ledger::Writer writer, session.writer());
    const std::string judge = session.contract().reference.entry.file;
    AKO_TRY(const base::Hash hash, base::sha256_file(session.workdir().task() / judge));
    AKO_TRY_STATUS(
        writer.append(ledger::ContractSeen{facts.contract, model::echo_toml(session.contract())})
            .map([](const auto&) {}));
    ledger::SelfTest test;
    test.contract = facts.contract;
    test.passed = true;
    test.files = {{"reference", judge, hash}};
    AKO_TRY_STATUS(writer.append(test).map([](const auto&) {}));
    ledger::Baseline baseline;
    baseline.contract = facts.contract;
    baseline.environment = facts.environment;
    baseline.fastest = "first";
    baseline.files = test.files;
    AKO_TRY_STATUS(writer.append(baseline).map([](const auto&) {}));
    const char* takes = std::getenv("AKO_FAKE_PREPARE_SECONDS");
    const double seconds = takes != nullptr ? std::atof(takes) : 0;
    return drive::Spent{seconds, seconds};
  }

private:
  Status record(const loop::Session& session, const ledger::Iteration& iteration,
                const model::Sources& now, const loop::TryRequest& request) {
    AKO_TRY_STATUS(
        workspace::keep_snapshot(session.workdir(), now, fmt::format("iter-{}", iteration.number))
            .map([](const auto&) {}));
    AKO_TRY(ledger::Writer writer, session.writer());
    AKO_TRY(const ledger::Appended appended, writer.append(iteration));
    m_head = appended.hash;
    if (request.direction.empty()) return {};
    AKO_TRY(const ledger::Appended turned,
            writer.append(ledger::Direction{request.direction, "cpu", iteration.number - 1}));
    m_head = turned.hash;
    return {};
  }

  Expected<drive::Evaluated> settle(const loop::Session& session, const loop::Facts& before,
                                    const ledger::Iteration& iteration,
                                    const loop::TryRequest& request,
                                    const model::Sources& incumbent) {
    drive::Evaluated out;
    out.iteration = iteration.number;
    out.outcome = iteration.verdict.outcome.kind;
    out.fault = iteration.verdict.outcome.fault;
    out.decision = iteration.decision;
    out.seconds = out.device_seconds = k_device_seconds;
    out.stalled =
        loop::stalls(before.standing, iteration.verdict, request.explore, request.direction);
    if (out.stalled) {
      AKO_TRY(ledger::Writer writer, session.writer());
      AKO_TRY(const ledger::Appended appended,
              writer.append(ledger::Stall{iteration.number, 3, {}, {}}));
      m_head = appended.hash;
    }
    const bool goes_back =
        out.outcome == OutcomeKind::equivalent || out.outcome == OutcomeKind::incorrect;
    if (goes_back)
      AKO_TRY_STATUS(workspace::restore_sources(session.workdir(), session.contract(), incumbent,
                                                fmt::format("iter-{}", iteration.number))
                         .map([](const auto&) {}));
    workspace::IterationCommit commit;
    commit.number = static_cast<int>(iteration.number);
    commit.hypothesis = request.hypothesis;
    commit.ledger_head = m_head;
    if (auto made = workspace::commit_iteration(session.workdir(), commit); !made)
      out.no_commit = "no commit was made: " + made.error().text();
    out.text = iteration.verdict.outcome.reason + "\n";
    return out;
  }

  base::Hash m_head;
};

} // namespace

std::unique_ptr<drive::Evaluator> fake_evaluator() { return std::make_unique<Fake>(); }

} // namespace ako::test
