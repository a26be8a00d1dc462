// What an agent may not touch, as it was before its turn, and put back after it.
//
// Guarded are: the work tree around the task (without what is free, but for what no snapshot takes
// in solution/), the ledger, git's own folder, the refs and HEAD, and the modes of the folders that
// lead there. The picture lies in memory and in `store`, so that it outlives a killed driver. Not
// guarded: git's objects and reflogs, the records of other tasks, what other work trees of the
// repository stand on (they may be worked in meanwhile), and what lies outside; there Landlock
// alone stands.
#pragma once

#include "base/fs.hpp"
#include "base/hash.hpp"
#include "workspace/workdir.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ako::drive {

struct GuardPlan {
  workspace::Workdir workdir;
  std::vector<base::fs::path> free; ///< absolute files and folders that are the agent's
  base::fs::path store;             ///< below the records
  base::fs::path undone;            ///< where changed things are kept that are put back
  std::string token;                ///< of the turn: the picture of another one is none
};

struct Change {
  enum class Kind { changed, removed, added };
  Kind kind = Kind::changed;
  std::string what; ///< a path, "ref refs/heads/main", "the ledger"
};
std::string to_text(const Change& change);

class Guard {
public:
  /// On disk when this returns. `before`: an earlier picture of the same plan; what has not changed
  /// since is not read again.
  static base::Expected<Guard> take(GuardPlan plan, const Guard* before = nullptr);
  /// From take() on a turn is open, for whoever comes after a killed driver; until this.
  base::Status close() const;
  /// Token of the turn that is open in `store`; empty = none.
  static std::string open_turn(const base::fs::path& store);
  /// The task that the picture in `store` is of; empty = it does not say.
  static std::string task_of(const base::fs::path& store);
  /// Folders from the repository's to `path` that their owner could not enter or write to can be
  /// entered again; undo() gives each its own mode back.
  static void unlock_folders(const base::fs::path& path);
  /// Undoes what the open turn did, without a contract or a record that could be read: they may be
  /// what the agent spoilt. It stays open.
  static base::Expected<std::vector<Change>> undo_open(const workspace::Workdir& workdir,
                                                       const base::fs::path& store);
  /// The picture that a killed driver took for this turn, and what was free in it; nothing where it
  /// got to none.
  static base::Expected<std::optional<Guard>> load(GuardPlan plan);

  /// Compares and puts back. What was changed or added is moved to plan.undone first. Kind stale
  /// when something guarded is gone and its copies are, too.
  base::Expected<std::vector<Change>> undo() const;

private:
  struct File {
    enum class Type { file, link, folder, other } type = Type::file; ///< other: a pipe, a socket
    std::uint32_t mode = 0;
    std::int64_t size = 0, mtime_ns = 0, ctime_ns = 0;
    std::uint64_t inode = 0;
    base::Hash hash;     ///< of the content, or the link's target
    std::string content; ///< of a link, and of files as long as memory allows
    bool in_memory = false;
  };
  explicit Guard(GuardPlan plan) : m_plan(std::move(plan)) {}

  using Files = std::map<std::string, File>; ///< by absolute path
  using Skip = std::function<bool(const base::fs::path&)>;
  /// One look at everything, and what it found so far.
  struct Look {
    const Files* known = nullptr; ///< what has not changed since is not read again
    bool contents = false;
    Files files;
    std::uint64_t memory = 0;
  };
  /// Whose a place is: nobody's to edit, the agent's, or left behind among what is the agent's: no
  /// snapshot takes that.
  enum class Whose { guarded, agents, left_behind };
  base::Expected<Files> look(const Files* known, bool contents) const;
  base::Status look_at(const base::fs::path& path, Look& into) const;
  base::Status look_below(const base::fs::path& root, const Skip& skip, Whose above,
                          Look& into) const;
  base::Status look_at_git(Look& into) const;
  base::Status look_at_locks(const base::fs::path& refs, Look& into) const;
  Whose whose(const base::fs::path& path, Whose above) const;
  std::vector<base::fs::path> ways() const;
  bool is_others(const std::string& ref) const;
  base::Expected<std::set<std::string>> branches_elsewhere() const;
  base::Expected<std::map<std::string, std::string>> look_at_refs() const;
  base::Status save() const;
  base::Status save_ledger();
  base::Status put_back(const std::string& path, const File& file) const;
  base::Status keep_undone(const std::string& path) const;
  base::Status put_modes_back(std::vector<Change>& changes) const;
  base::Status put_refs_back(const std::map<std::string, std::string>& now,
                             std::vector<Change>& changes) const;
  void sweep() const;
  base::Status keep_copy(const std::string& path) const;
  base::Expected<base::fs::path> place_for(const base::fs::path& path) const;
  base::Expected<std::string> content_of(const std::string& path, const File& file) const;
  base::Status undo_refs(std::vector<Change>& changes) const;
  base::Status undo_ledger(std::vector<Change>& changes) const;

  GuardPlan m_plan;
  workspace::GitPlace m_place;
  base::fs::path m_ledger;
  std::string m_prefix; ///< of the refs that keep this task's snapshots
  Files m_files;
  std::map<std::string, std::string> m_refs; ///< name to object or "ref: ..."; "HEAD" to its text
  std::set<std::string> m_elsewhere;         ///< branches that other work trees stand on
  bool m_has_ledger = false;
  std::uint32_t m_ledger_mode = 0; ///< 0 = not known
  base::Hash m_ledger_hash, m_ledger_head;
  std::string m_ledger_bytes; ///< as long as memory allows
};

} // namespace ako::drive
