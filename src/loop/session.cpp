#include "loop/session.hpp"

#include "loop/environment.hpp"
#include "loop/harness.hpp"
#include "loop/reading.hpp"
#include "loop/unknowns.hpp"
#include "model/contract_toml.hpp"
#include "workspace/sweep.hpp"

namespace ako::loop {

base::Expected<Session> Session::open(const base::fs::path& dir, Need need) {
  AKO_TRY(workspace::Workdir workdir, workspace::Workdir::find(dir));
  Session out(std::move(workdir), need);
  if (need == Need::record) return out;
  AKO_TRY(out.m_contract, model::load_contract(out.m_workdir.task()));
  AKO_TRY(out.m_shapes, model::resolve_all(out.m_contract));
  return out;
}

base::Expected<Target> Session::target() const {
  if (!m_target) {
    AKO_TRY(Target found, find_target(m_contract.kernel.lane, m_device_wish));
    m_target = std::move(found);
  }
  return *m_target;
}

base::Expected<ledger::Reader> Session::reader() const {
  AKO_TRY(base::fs::path path, m_workdir.ledger());
  std::error_code ignored;
  if (!base::fs::exists(path, ignored) && m_need == Need::record) {
    const base::fs::path shipped = m_workdir.task() / "record" / "ledger.sqlite";
    if (base::fs::exists(shipped, ignored)) return ledger::Reader::open(shipped);
  }
  if (!base::fs::exists(path, ignored))
    return base::fail(base::ErrorKind::refused, "nothing is on record for this task yet",
                      {.where = m_workdir.task().string(),
                       .found = {},
                       .allowed = {},
                       .next = "ako check, then ako baseline"});
  return ledger::Reader::open(path);
}

base::Expected<ledger::Writer> Session::writer() const {
  AKO_TRY(base::fs::path path, m_workdir.ledger());
  return ledger::Writer::open(path, ledger::Open::create);
}

base::Expected<base::FileLock> Session::lock() const {
  AKO_TRY(base::fs::path path, m_workdir.lock());
  auto lock = base::FileLock::take(path, base::FileLock::Wait::no);
  if (!lock && lock.error().kind == base::ErrorKind::refused)
    return base::fail(base::ErrorKind::refused, "another ako works on this task",
                      {.where = m_workdir.task().string(),
                       .found = lock.error().found,
                       .allowed = "one command that writes at a time; status and log always run",
                       .next = "wait for it, or end that process"});
  if (lock) workspace::sweep_task(m_workdir);
  return lock;
}

base::Expected<ledger::Standing> Session::standing() const {
  AKO_TRY(base::fs::path path, m_workdir.ledger());
  std::error_code ignored;
  if (!base::fs::exists(path, ignored)) return ledger::Standing{};
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  return reader.standing();
}

base::Expected<Facts> Session::facts() const {
  Facts out;
  out.contract = m_contract.hash;
  // Without the device that a task needs its record can still be read; no gate that asks for the
  // machine of the baseline opens then.
  if (auto where = target()) out.environment = environment_of(host_facts(), *where, "").identity;
  Unread unread = unread_of(*this);
  out.unread = std::move(unread.iteration);
  out.unread_for_port = std::move(unread.port);
  out.reading_trouble = std::move(unread.trouble);
  AKO_TRY(base::fs::path path, m_workdir.ledger());
  std::error_code ignored;
  if (!base::fs::exists(path, ignored)) {
    out.library_trouble = library_trouble(m_contract, {});
    AKO_TRY(out.harness_trouble, harness_trouble(m_workdir, nullptr));
    return out;
  }
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  AKO_TRY(out.harness_trouble, harness_trouble(m_workdir, &reader));
  AKO_TRY(out.standing, reader.standing());
  AKO_TRY(const ScopeFacts scope, scope_facts(reader));
  out.library_trouble = library_trouble(m_contract, scope);
  AKO_TRY(auto self_test, reader.last<ledger::SelfTest>());
  if (self_test) {
    out.self_test_passed = self_test->payload.passed;
    out.self_test_contract = self_test->payload.contract;
  }
  AKO_TRY(auto baseline, reader.last<ledger::Baseline>());
  if (baseline) {
    out.baseline_contract = baseline->payload.contract;
    out.baseline_environment = baseline->payload.environment;
    out.baseline = baseline->payload.hash;
  }
  return out;
}

base::Status Session::note_surroundings(ledger::Writer& writer, const std::string& compiler) const {
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(writer.path()));
  AKO_TRY(auto contract, reader.last<ledger::ContractSeen>());
  if (!contract || contract->payload.hash != m_contract.hash) {
    AKO_TRY_STATUS(
        writer.append(ledger::ContractSeen{m_contract.hash, model::echo_toml(m_contract)})
            .map([](const auto&) {}));
  }
  AKO_TRY(const Target where, target());
  ledger::Environment now = environment_of(host_facts(), where, compiler);
  AKO_TRY(auto before, reader.last<ledger::Environment>());
  if (!before || before->payload.identity != now.identity ||
      before->payload.compiler != now.compiler || before->payload.os != now.os ||
      before->payload.details != now.details) {
    AKO_TRY_STATUS(writer.append(now).map([](const auto&) {}));
  }
  return {};
}

} // namespace ako::loop
