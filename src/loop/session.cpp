#include "loop/session.hpp"

#include "loop/deciding_files.hpp"
#include "loop/environment.hpp"
#include "loop/harness.hpp"
#include "loop/reading.hpp"
#include "loop/trailers.hpp"
#include "loop/unknowns.hpp"
#include "model/contract_toml.hpp"
#include "workspace/sweep.hpp"

#include <fmt/format.h>

namespace ako::loop {

base::Expected<Session> Session::open(const base::fs::path& dir, Need need) {
  AKO_TRY(workspace::Workdir workdir, workspace::Workdir::find(dir));
  Session out(std::move(workdir), need);
  if (need == Need::record) return out;
  AKO_TRY(out.m_contract, model::load_contract(out.m_workdir.task()));
  AKO_TRY(out.m_shapes, model::resolve_all(out.m_contract));
  return out;
}

base::Expected<Session> Session::again() const {
  AKO_TRY(Session out, open(m_workdir.task(), m_need));
  out.use_device(m_device_wish);
  return out;
}

base::Expected<Target> Session::target() const {
  if (!m_target) {
    AKO_TRY(Target found, find_target(m_contract.kernel.lane, m_device_wish));
    m_target = std::move(found);
  }
  return *m_target;
}

namespace {

/// Other ledgers of the repository: the lost one may have been moved.
std::string ledgers_nearby(const base::fs::path& records) {
  std::string out;
  std::error_code why;
  for (base::fs::directory_iterator walk(records.parent_path(), why), end; !why && walk != end;
       walk.increment(why))
    if (base::fs::exists(walk->path() / "ledger.sqlite", why))
      out += (out.empty() ? "" : ", ") + (walk->path() / "ledger.sqlite").string();
  return out;
}

base::fs::path shipped_in(const workspace::Workdir& workdir) {
  return workdir.task() / "record" / "ledger.sqlite";
}

} // namespace

base::Status Session::record_is_there() const {
  AKO_TRY(base::fs::path path, m_workdir.ledger());
  std::error_code ignored;
  if (base::fs::exists(path, ignored)) return {};
  AKO_TRY(const auto heads, heads_in_commits(m_workdir));
  if (heads.empty()) return {};
  const std::string others = ledgers_nearby(path.parent_path());
  return base::fail(
      base::ErrorKind::stale, "the ledger of this task is gone: its commits name it",
      {.where = path.string(),
       .found = fmt::format("no file; {} of {}, the last in {}{}", heads.front().hash.substr(0, 12),
                            heads.size() == 1 ? "1 head" : fmt::format("{} heads", heads.size()),
                            heads.front().origin, others.empty() ? "" : "; ledgers at " + others),
       .allowed = "the ledger that these commits were made with",
       .next = "put it back there, from a backup or from the clone that the commits were made in "
               "(its .git/ako), then: ako verify; to begin a new record, go on from a commit "
               "before the first [iter N]"});
}

base::Expected<std::optional<base::fs::path>> Session::own_ledger() const {
  using Found = std::optional<base::fs::path>;
  std::error_code ignored;
  auto path = m_workdir.ledger();
  if (!path && base::fs::exists(shipped_in(m_workdir), ignored)) return Found();
  if (!path) return tl::unexpected(std::move(path).error());
  if (base::fs::exists(*path, ignored)) return Found(*path);
  AKO_TRY_STATUS(record_is_there());
  return Found();
}

std::optional<base::fs::path> Session::shipped_record() const {
  const auto own = own_ledger();
  std::error_code ignored;
  const base::fs::path shipped = shipped_in(m_workdir);
  if (!own || *own || !base::fs::exists(shipped, ignored)) return std::nullopt;
  return shipped;
}

std::optional<std::string> Session::whose_record() const {
  const auto shipped = shipped_record();
  if (!shipped) return std::nullopt;
  return fmt::format("this is the record that the task came with ({}): it has none of its own yet",
                     shipped->string());
}

base::Expected<ledger::Reader> Session::reader() const {
  AKO_TRY(const auto own, own_ledger());
  if (own) return ledger::Reader::open(*own);
  if (m_need == Need::record)
    if (const auto shipped = shipped_record()) return ledger::Reader::open(*shipped);
  return base::fail(base::ErrorKind::refused, "nothing is on record for this task yet",
                    {.where = m_workdir.task().string(),
                     .found = "no ledger",
                     .allowed = "a task that `ako check` has seen",
                     .next = "ako check, then ako baseline"});
}

base::Expected<ledger::Writer> Session::writer() const {
  AKO_TRY_STATUS(record_is_there());
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
  AKO_TRY(const auto own, own_ledger());
  if (!own) return ledger::Standing{};
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(*own));
  return reader.standing();
}

base::Expected<Facts> Session::facts() const {
  AKO_TRY(const auto own, own_ledger());
  Facts out;
  out.contract = m_contract.hash;
  // Without the device that a task needs its record can still be read; no gate that asks for the
  // machine of the baseline opens then.
  if (auto where = target()) out.environment = environment_of(host_facts(), *where, "").identity;
  Unread unread = unread_of(*this);
  out.unread = std::move(unread.iteration);
  out.unread_for_port = std::move(unread.port);
  out.reading_trouble = std::move(unread.trouble);
  if (!own) {
    out.library_trouble = library_trouble(m_contract, {});
    AKO_TRY(out.harness_trouble, harness_trouble(m_workdir, nullptr));
    return out;
  }
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(*own));
  AKO_TRY(out.harness_trouble, harness_trouble(m_workdir, &reader));
  AKO_TRY(out.standing, reader.standing());
  AKO_TRY(const ScopeFacts scope, scope_facts(reader));
  out.library_trouble = library_trouble(m_contract, scope);
  AKO_TRY(auto self_test, reader.last<ledger::SelfTest>());
  if (self_test) {
    out.self_test_passed = self_test->payload.passed;
    out.self_test_contract = self_test->payload.contract;
    out.check_names_files = !self_test->payload.files.empty();
    out.changed_since_check = changed_files(m_workdir, self_test->payload.files);
    out.proven = std::move(self_test->payload.files);
  }
  AKO_TRY(auto baseline, reader.last<ledger::Baseline>());
  if (baseline) {
    out.baseline_contract = baseline->payload.contract;
    out.baseline_environment = baseline->payload.environment;
    out.baseline = baseline->payload.hash;
    for (const auto& entry : baseline->payload.entries)
      if (entry.artifact.library_hash == out.baseline)
        out.baseline_compiler = entry.artifact.compiler_identity;
    out.baseline_names_files = !baseline->payload.files.empty();
    out.changed_since_baseline = changed_files(m_workdir, baseline->payload.files);
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
