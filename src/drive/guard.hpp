// What an agent may not touch, as it was before its turn, and put back after it.
//
// Guarded are: the work tree around the task (without what is free), the ledger, git's config and
// hooks, the branch and HEAD, and the refs that keep snapshots. The picture lies in memory and in
// `store`, so that it outlives a killed driver. Not guarded: git's objects, and what lies outside
// the repository; there Landlock alone stands.
#pragma once

#include "base/fs.hpp"
#include "base/hash.hpp"
#include "workspace/workdir.hpp"

#include <map>
#include <optional>
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
  /// Undoes what the open turn did, without a contract or a record that could be read: they may be
  /// what the agent spoilt. It stays open.
  static base::Expected<std::vector<Change>> undo_open(const workspace::Workdir& workdir,
                                                       const base::fs::path& store);
  /// The picture that a killed driver took for this turn; nothing where it got to none.
  static base::Expected<std::optional<Guard>> load(GuardPlan plan);

  /// Compares and puts back. What was changed or added is moved to plan.undone first. Kind stale
  /// when something guarded is gone and its copies are, too.
  base::Expected<std::vector<Change>> undo() const;

private:
  struct File {
    enum class Type { file, link, folder } type = Type::file;
    std::uint32_t mode = 0;
    std::int64_t size = 0, mtime_ns = 0, ctime_ns = 0;
    std::uint64_t inode = 0;
    base::Hash hash;     ///< of the content, or the link's target
    std::string content; ///< of a link, and of files as long as memory allows
    bool in_memory = false;
  };
  explicit Guard(GuardPlan plan) : m_plan(std::move(plan)) {}

  using Files = std::map<std::string, File>; ///< by absolute path
  base::Expected<Files> look(const Files* known, bool contents) const;
  base::Status look_into(const base::fs::path& path, const Files* known, bool contents, Files& into,
                         std::uint64_t& memory) const;
  base::Status look_below(const base::fs::path& root, const Files* known, bool contents,
                          Files& into, std::uint64_t& memory) const;
  bool is_free(const base::fs::path& path) const;
  base::Expected<std::map<std::string, std::string>> look_at_refs() const;
  base::Status save() const;
  base::Status save_ledger();
  base::Status put_back(const std::string& path, const File& file) const;
  base::Status keep_undone(const std::string& path) const;
  void sweep() const;
  base::Status keep_copy(const std::string& path) const;
  base::Expected<std::string> content_of(const std::string& path, const File& file) const;
  base::Status undo_refs(std::vector<Change>& changes) const;
  base::Status undo_ledger(std::vector<Change>& changes) const;

  GuardPlan m_plan;
  workspace::GitPlace m_place;
  base::fs::path m_ledger;
  Files m_files;
  std::map<std::string, std::string> m_refs; ///< name to object; "HEAD" to what it names
  bool m_has_ledger = false;
  base::Hash m_ledger_hash, m_ledger_head;
  std::string m_ledger_bytes; ///< as long as memory allows
};

} // namespace ako::drive
