// The one class that knows every path.
//
//   <task>/              task.toml input/ solution/ bench/ context/ ITERATIONS.md
//   <git common dir>/ako/<id>/   ledger.sqlite runs/ lock     outlives worktrees and `git clean
//   -xdf` $XDG_CACHE_HOME/ako/  build/ extract/                     may be deleted at any time
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "model/build_plan.hpp"

#include <optional>
#include <string>

namespace ako::workspace {

/// Where a task lies in git. All paths absolute and resolved.
struct GitPlace {
  base::fs::path top;        ///< the work tree's root
  base::fs::path git_dir;    ///< of this work tree
  base::fs::path common_dir; ///< shared by all work trees
  std::string prefix;        ///< task folder relative to top, '/' between parts; empty = top itself
};

class Workdir {
public:
  /// The task at `start` or in the nearest folder above it that has a task.toml. Kind usage when
  /// there is none; next names `ako new`.
  static base::Expected<Workdir> find(const base::fs::path& start);
  /// The task in exactly this folder; its task.toml need not exist yet.
  static base::Expected<Workdir> at(const base::fs::path& task_dir);

  const base::fs::path& task() const { return m_task; }
  std::string name() const { return m_task.filename().string(); }
  base::fs::path contract() const { return m_task / "task.toml"; }
  base::fs::path input() const { return m_task / "input"; }
  base::fs::path solution() const { return m_task / "solution"; }
  base::fs::path bench() const { return m_task / "bench"; }
  base::fs::path context() const { return m_task / "context"; }
  base::fs::path iterations() const { return m_task / "ITERATIONS.md"; }
  base::fs::path notes(const std::string& kernel) const;
  base::fs::path microbench(const std::string& kernel) const; ///< bench/bench_<kernel>.cpp

  /// ITERATIONS.md, context/ and bench/ are what they must be to be written, and inside the task: a
  /// symbolic link that leads out of it is refused before anything is done.
  base::Status texts_can_be_written() const;

  /// Kind environment when the task is in no git repository (or git is missing); asked of git once.
  base::Expected<GitPlace> git() const;
  /// <common dir>/ako/<id>. The id is the task's name, or its path in the repository with '/'
  /// spelled "+" when it lies deeper than one folder. A name: who writes there makes the folder, so
  /// that looking leaves nothing behind and needs no right to write.
  base::Expected<base::fs::path> records() const;
  /// Gives this work tree records of its own, beside those of the repository's other work trees:
  /// from here on the id is `name`. Letters, digits, '-', '_', '.' and '+'.
  base::Status name_records(const std::string& name) const;
  base::Expected<base::fs::path> ledger() const;  ///< records()/ledger.sqlite
  base::Expected<base::fs::path> lock() const;    ///< one writer of the task's files at a time
  base::Expected<std::string> ref_prefix() const; ///< "refs/ako/<id>/"

  static base::fs::path cache_root();  ///< $XDG_CACHE_HOME/ako or ~/.cache/ako
  static base::fs::path build_cache(); ///< cache_root()/build

private:
  explicit Workdir(base::fs::path task) : m_task(std::move(task)) {}
  base::fs::path m_task;
  mutable std::optional<GitPlace> m_git;
};

} // namespace ako::workspace
