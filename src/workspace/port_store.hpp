// A private repository in which a port is made: it borrows the target repository's objects, has
// its own index, references and work trees, and gives back nothing but a new branch. The target's
// files, index, stashes, branches, configuration and work trees stay as they are.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "base/hash.hpp"
#include "workspace/git.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::workspace {

struct TreeFile {
  std::string path, content; ///< path from the repository's root
  bool executable = false;
};

/// What a port may change, and what must come of it.
struct PatchRules {
  std::string base, commit;          ///< the patch is the difference between them
  std::vector<std::string> declared; ///< files and folders; nothing else may change
  std::string kernel_path;           ///< folder that holds the kernel's sources
  std::string kernel_tree;           ///< git's name of the tree that was measured
};

struct PatchTest {
  std::string text; ///< git diff --binary, against base
  base::Hash hash;
  std::vector<std::string> files;
  int added = 0, removed = 0; ///< lines
};

class PortStore {
public:
  /// The store below `home`, made when missing. Kind usage: no repository there; environment: git
  /// will not read it.
  static base::Expected<PortStore> open(const base::fs::path& home,
                                        const base::fs::path& repository);

  const base::fs::path& repository() const { return m_repository; }

  /// `wanted`, else the branch that is checked out there. Kind refused when there is none.
  base::Expected<std::string> branch(const std::string& wanted) const;
  base::Expected<std::string> tip(const std::string& branch) const;
  /// Commit of refs/heads/<name> in the target; nothing when there is no such branch.
  base::Expected<std::optional<std::string>> branch_commit(const std::string& name) const;
  base::Expected<bool> is_ancestor(const std::string& older, const std::string& newer) const;

  /// A file's text and mode as of a commit; nothing when it is not there.
  base::Expected<std::optional<TreeFile>> file_at(const std::string& commit,
                                                  const std::string& path) const;
  /// Name of the tree (or file) at a path of a commit; empty when there is none.
  base::Expected<std::string> object_at(const std::string& commit, const std::string& path) const;
  /// Name of the tree that holds exactly these files.
  base::Expected<std::string> tree_of(const std::vector<TreeFile>& files) const;

  /// One commit on `parent` in which `folder` (empty = none) holds exactly those of `files` that
  /// lie below it, and the others are written where they say.
  base::Expected<std::string> commit_files(const std::string& parent, const std::string& folder,
                                           const std::vector<TreeFile>& files,
                                           const std::string& message) const;
  /// One commit with git diffs applied in order. Kind refused, with git's words, when one does not
  /// apply.
  base::Expected<std::string> commit_patches(const std::string& parent,
                                             const std::vector<TreeFile>& patches,
                                             const std::string& message) const;
  /// The commits between `old_base` and `commit`, on `new_base`. Kind refused naming the files in
  /// conflict.
  base::Expected<std::string> rebase(const std::string& commit, const std::string& old_base,
                                     const std::string& new_base) const;

  /// The patch applies to a clean checkout of its base and gives the commit's tree; the measured
  /// tree is in it; it holds no binaries, no caches, no links, no path that was not declared. Kind
  /// refused naming all that is wrong.
  base::Expected<PatchTest> test_patch(const PatchRules& rules) const;

  /// The commit as a new branch of the target: `name`, or where git cannot have that, its parts
  /// joined by '-'. An existing branch is never moved: kind refused. Returns the branch's name.
  base::Expected<std::string> publish(const std::string& commit, const std::string& base,
                                      const std::string& name) const;

  /// A work tree below `home` at `commit`, with `paths` alone (all when empty). What tools left
  /// there is kept.
  base::Expected<base::fs::path> work_tree(const std::string& name, const std::string& commit,
                                           const std::vector<std::string>& paths) const;

private:
  PortStore(base::fs::path home, base::fs::path repository)
      : m_home(std::move(home)), m_repository(std::move(repository)) {}
  base::Status prepare();
  /// A command in the store.
  Git::Call call(std::vector<std::string> args, std::string input = {}) const;
  base::Expected<std::string> run(std::vector<std::string> args, std::string input = {}) const;
  std::vector<std::string> identity() const; ///< environment, where git knows nobody
  std::string committer() const;
  base::Expected<std::string> import(const std::string& stream, const std::string& ref) const;

  base::fs::path m_home, m_repository;
  base::fs::path m_store; ///< m_home/store.git
};

} // namespace ako::workspace
