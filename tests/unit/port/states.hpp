// States that people have their repositories in, as scripts for a repository with src/call.cpp,
// a.txt (two commits on main), an ignored x.o, and whatever else a test commits first.
#pragma once

#include <ostream>

namespace ako::test {

inline constexpr const char* k_prelude = R"(
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t
export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t GIT_EDITOR=true
git() { command git -c protocol.file.allow=always "$@"; }
)";

struct State {
  const char* name;
  const char* script; ///< in repo/
};
inline void PrintTo(const State& state, std::ostream* out) { *out << state.name; }

// clang-format off
inline const State k_states[] = {
    {"clean", "true"},
    {"edited", "echo e >> a.txt"},
    {"staged", "echo e >> a.txt; git add a.txt"},
    {"staged_and_edited", "echo e >> a.txt; git add a.txt; echo f >> a.txt"},
    {"untracked", "echo n > n.txt"},
    {"untracked_where_the_port_goes", "mkdir -p src/ako/k; echo n > src/ako/k/mine.txt"},
    {"call_site_edited", "echo mine >> src/call.cpp"},
    {"call_site_deleted", "rm src/call.cpp"},
    {"renamed", "git mv a.txt z.txt"},
    {"stash", "echo s >> a.txt; git stash -q"},
    {"stash_of_untracked", "echo s > s.txt; git stash -qu"},
    {"detached", "git checkout -q --detach"},
    {"another_branch", "git switch -q -c mine; echo e >> a.txt; git commit -qam mine"},
    {"orphan", "git checkout -q --orphan o"},
    {"merge", "git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git switch -q main; git merge -q o >/dev/null || true"},
    {"rebase", "git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git rebase -q main >/dev/null 2>&1 || true"},
    {"am", "git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git format-patch -q -1 -o ../p; git switch -q main; git am -q ../p/* >/dev/null 2>&1 || true"},
    {"cherry_pick", "git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git switch -q main; git cherry-pick o >/dev/null 2>&1 || true"},
    {"revert", "echo x > a.txt; git commit -qam o; git revert HEAD~1 >/dev/null 2>&1 || true"},
    {"bisect", "git bisect start -q HEAD HEAD~1 >/dev/null; git checkout -q main"},
    {"index_locked", "touch .git/index.lock"},
    {"assume_unchanged", "git update-index --assume-unchanged a.txt; echo e >> a.txt"},
    {"sparse", "git sparse-checkout set --no-cone /a.txt"},
    {"worktrees", "git worktree add -q -b wt ../wt; echo e >> ../wt/a.txt"},
    {"a_worktree_with_a_locked_index", "git worktree add -q -b wt ../wt; touch .git/worktrees/wt/index.lock"},
    {"packed", "git gc -q; git pack-refs --all"},
    {"hooks", "for h in post-checkout post-commit pre-commit reference-transaction post-index-change; do printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done"},
    {"signing_wanted", "git config commit.gpgsign true; git config gpg.program /bin/false"},
    {"odd_diff_settings", "git config diff.noprefix true; git config diff.external /bin/false; git config core.quotePath true; git config diff.renames copies"},
    {"auto_crlf", "git config core.autocrlf true"},
    {"submodule", "git submodule --quiet add $PWD m; git commit -qm m"},
    {"remote_and_upstream", "git clone -q --bare . ../up.git; git remote add origin ../up.git; git fetch -q; git branch -q -u origin/main"},
    {"branch_called_ako", "git branch ako"},
    {"shallow", "git clone -q --depth 1 file://$PWD ../s; cd ..; rm -rf repo; mv s repo"},
    {"nested_repository", "git init -q nested; echo n > nested/f"},
};
// clang-format on

} // namespace ako::test
