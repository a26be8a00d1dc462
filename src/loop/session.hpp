// An open task: where it lies, what it promises, what is on record about it.
#pragma once

#include "ledger/queries.hpp"
#include "ledger/writer.hpp"
#include "loop/gates.hpp"
#include "loop/target.hpp"
#include "model/contract.hpp"
#include "model/resolved.hpp"
#include "workspace/workdir.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

/// How much of a task a command needs.
enum class Need {
  record,   ///< the ledger alone; the contract may be broken
  contract, ///< the contract too
};

class Session {
public:
  /// Opens the task at or above `dir`.
  static base::Expected<Session> open(const base::fs::path& dir, Need need);

  /// The device that the user names with --device; before anything is asked of target().
  void use_device(std::optional<std::string> wish) { m_device_wish = std::move(wish); }
  /// The same task with the contract as it is now, and the same wish.
  base::Expected<Session> again() const;
  /// Where this task's calls run; asked once.
  base::Expected<Target> target() const;

  const workspace::Workdir& workdir() const { return m_workdir; }
  const model::Contract& contract() const { return m_contract; }
  std::vector<model::ResolvedShape> shapes() const { return m_shapes; }

  /// Kind stale where commits of the task name heads of a ledger that is not there: the record was
  /// lost, or did not come along. Nothing where the ledger is there, or never was.
  base::Status record_is_there() const;
  /// The task's own ledger; absent where nothing is on record yet. Errors: one that was lost; no
  /// git repository, but for a finished task that came with its record.
  base::Expected<std::optional<base::fs::path>> own_ledger() const;
  /// What a finished task came with, record/ledger.sqlite, where it has no ledger of its own.
  std::optional<base::fs::path> shipped_record() const;
  /// Where that is what readers see: a sentence that says so.
  std::optional<std::string> whose_record() const;
  /// For reading: kind refused when nothing is on record yet. Where the record alone is needed and
  /// the task has none of its own, the one it came with. Makes nothing.
  base::Expected<ledger::Reader> reader() const;
  /// For appending; made when missing.
  base::Expected<ledger::Writer> writer() const;
  /// One command changes the task's files at a time; kind refused names the other process. What one
  /// that was killed left half-written is gone then.
  base::Expected<base::FileLock> lock() const;

  /// Standing of the record; an empty one when there is none yet.
  base::Expected<ledger::Standing> standing() const;
  base::Expected<Facts> facts() const;

  /// Appends contract and environment where the last ones on record differ.
  base::Status note_surroundings(ledger::Writer& writer, const std::string& compiler) const;

private:
  Session(workspace::Workdir workdir, Need need) : m_workdir(std::move(workdir)), m_need(need) {}
  workspace::Workdir m_workdir;
  Need m_need;
  model::Contract m_contract;
  std::vector<model::ResolvedShape> m_shapes;
  std::optional<std::string> m_device_wish;
  mutable std::optional<Target> m_target;
};

} // namespace ako::loop
