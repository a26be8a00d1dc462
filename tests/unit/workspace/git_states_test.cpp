// Iterations are committed and candidates reverted in repositories in every state people have them
// in; what is the user's stays byte for byte.
#include "scratch_repo.hpp"
#include "workspace/commit.hpp"
#include "workspace/git.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::test {
namespace {

using workspace::commit_iteration;
using workspace::IterationCommit;

model::Contract contract_with(const std::string& file = "solution/k.cpp") {
  model::Contract contract;
  contract.kernel.entry.file = file;
  return contract;
}

IterationCommit iteration(int number,
                          std::vector<std::string> paths = {"task.toml", "input", "solution"}) {
  IterationCommit commit;
  commit.number = number;
  commit.hypothesis = "wider loads";
  commit.body = "improved: 3 %";
  commit.ledger_head = "abc123";
  commit.paths = std::move(paths);
  return commit;
}

/// One rejected candidate: v1 is tried, kept aside and put back to v0. Then everything that is not
/// the task's must look as before.
void reject_one(const ScratchRepo& repo, const std::string& file = "solution/k.cpp") {
  const auto workdir = repo.workdir();
  const auto incumbent = workspace::take_snapshot(workdir, contract_with(file)).value();
  const auto before = picture(repo.top(), {});
  put(repo.task() / file, "int v1;\n");
  auto reverted = workspace::restore_sources(workdir, contract_with(file), incumbent, "iter-1");
  ASSERT_TRUE(reverted) << reverted.error().text();
  EXPECT_EQ(picture(repo.top(), {}), before);
  auto kept = workspace::read_snapshot(workdir, "iter-1");
  ASSERT_TRUE(kept) << kept.error().text();
  ASSERT_NE(kept->find(file), nullptr);
  EXPECT_EQ(kept->find(file)->content, "int v1;\n");
}

/// One accepted candidate: exactly the task's paths are in the commit; the rest as before.
void commit_one(const ScratchRepo& repo) {
  const auto workdir = repo.workdir();
  const std::string prefix = repo.task() == repo.top() ? "" : "task/";
  const std::vector<std::string> own = {prefix + "solution", prefix + "input",
                                        prefix + "task.toml"};
  const auto before = picture(repo.top(), own);
  const std::string old_head = repo.git("rev-parse HEAD");
  put(repo.task() / "solution/k.cpp", "int v2;\n");
  auto id = commit_iteration(workdir, iteration(2));
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(picture(repo.top(), own), before);
  EXPECT_EQ(repo.git("rev-parse HEAD"), *id + "\n");
  EXPECT_EQ(repo.git("rev-parse HEAD^"), old_head);
  EXPECT_EQ(repo.git("diff --name-only HEAD^ HEAD"), prefix + "solution/k.cpp\n");
  EXPECT_EQ(repo.git("log -1 --format='%s|%(trailers:key=Ako-Ledger-Head,valueonly)'"),
            "[iter 2] wider loads|abc123\n\n");
  EXPECT_EQ(
      repo.git("status --porcelain -- " + (prefix.empty() ? std::string("solution") : prefix)), "");
}

// AMD-AGI/Hyperloom#593: rolling back a rejected candidate deleted uncommitted and untracked work.
TEST(GitStates, RejectionLeavesTheUsersOwnEditsAlone) {
  ScratchRepo repo("");
  put(repo.top() / "task.toml", "format = 1\n");
  shell(repo.top(), R"(mkdir solution; echo 'v0' > solution/k.cu && echo 'int main(){}' > main.cu &&
    printf 'build/\n' > .gitignore && git add -A && git commit -qm base
    echo stashed >> main.cu && git stash -q
    echo 'user edit' >> main.cu
    echo 'user new'  > notes.txt
    mkdir build && echo cache > build/a.o
    git add main.cu && echo 'more' >> main.cu)");
  const std::string index = shell(repo.top(), "git diff --cached; git diff; git stash show -p");
  reject_one(repo, "solution/k.cu");
  EXPECT_EQ(shell(repo.top(), "git diff --cached; git diff; git stash show -p"), index);
  EXPECT_NE(shell(repo.top(), "git stash list"), "");
}

TEST(GitStates, CommitTakesOnlyTheTasksPathsFromADirtyTree) {
  for (const std::string task : {"task", ""}) {
    ScratchRepo repo(task);
    put(repo.top() / "main.cu", "int main(){}\n");
    put(repo.top() / ".gitignore", "build/\n");
    repo.add_task();
    shell(repo.top(), R"(echo edit >> main.cu; git add main.cu; echo more >> main.cu
      echo new > notes.txt; echo staged > staged.txt; git add staged.txt
      mkdir build; echo cache > build/a.o; git rm -q --cached .gitignore)");
    reject_one(repo);
    commit_one(repo);
  }
}

TEST(GitStates, WhatTheUserStagedOfTheTaskStaysStaged) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.task() / "solution/k.cpp", "int staged;\n");
  repo.git("add task/solution/k.cpp");
  const std::string staged = repo.git("ls-files -s task/solution/k.cpp");
  put(repo.task() / "solution/k.cpp", "int v3;\n");
  auto id = commit_iteration(repo.workdir(), iteration(3));
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(repo.git("ls-files -s task/solution/k.cpp"), staged);
  EXPECT_EQ(repo.git("show HEAD:task/solution/k.cpp"), "int v3;\n");
  EXPECT_EQ(get(repo.task() / "solution/k.cpp"), "int v3;\n");
}

TEST(GitStates, NewAndRemovedSourcesAreInTheCommit) {
  ScratchRepo repo;
  repo.add_task();
  fs::remove(repo.task() / "input/ref.cpp");
  put(repo.task() / "solution/sub dir/hälfte.cpp", "int h;\n");
  put(repo.task() / "solution/k.o", "object");
  auto id = commit_iteration(repo.workdir(), iteration(1));
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(repo.git("-c core.quotePath=false diff --name-status HEAD^ HEAD"),
            "D\ttask/input/ref.cpp\nA\ttask/solution/sub dir/hälfte.cpp\n");
  EXPECT_EQ(repo.git("status --porcelain"), "?? task/solution/k.o\n");
}

TEST(GitStates, DeclaredFilesAreCommittedThoughIgnored) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.top() / ".git/info/exclude", "input/\n");
  put(repo.task() / "input/data.npy", "1");
  ASSERT_TRUE(commit_iteration(repo.workdir(), iteration(1)));
  EXPECT_EQ(repo.git("show HEAD:task/input/data.npy"), "1");
}

TEST(GitStates, DetachedHeadMovesHeadAndNoBranch) {
  ScratchRepo repo;
  repo.add_task();
  repo.git("checkout -q --detach");
  const std::string branch = repo.git("rev-parse main");
  commit_one(repo);
  EXPECT_EQ(repo.git("rev-parse main"), branch);
}

TEST(GitStates, FirstCommitOfAnEmptyRepository) {
  ScratchRepo repo;
  put(repo.task() / "task.toml", "format = 1\n");
  put(repo.task() / "solution/k.cpp", "int v0;\n");
  put(repo.top() / "other.txt", "user's");
  auto id = commit_iteration(repo.workdir(), iteration(0));
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(repo.git("ls-tree -r --name-only HEAD"), "task/solution/k.cpp\ntask/task.toml\n");
  EXPECT_EQ(repo.git("status --porcelain"), "?? other.txt\n");
}

TEST(GitStates, RefusedInTheMiddleOfAMerge) {
  ScratchRepo repo;
  repo.add_task();
  shell(repo.top(), R"(echo a > m.txt; git add m.txt; git commit -qm m
    git checkout -q -b side HEAD^; echo b > m.txt; git add m.txt; git commit -qm s
    git merge main >/dev/null 2>&1 || true; test -f .git/MERGE_HEAD)");
  reject_one(repo); // putting sources back needs no commit and goes on working
  const auto before = picture(repo.top(), {});
  const std::string head = repo.git("rev-parse HEAD");
  auto id = commit_iteration(repo.workdir(), iteration(1));
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().kind, base::ErrorKind::refused);
  EXPECT_NE(id.error().found.find("merge"), std::string::npos) << id.error().text();
  EXPECT_EQ(picture(repo.top(), {}), before);
  EXPECT_EQ(repo.git("rev-parse HEAD"), head);
}

TEST(GitStates, RefusedInARebaseACherryPickARevertAndABisection) {
  for (const std::string state :
       {"rebase-merge/", "rebase-apply/", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"}) {
    ScratchRepo repo;
    repo.add_task();
    if (state.ends_with("/")) fs::create_directories(repo.top() / ".git" / state);
    else put(repo.top() / ".git" / state, "x");
    auto id = commit_iteration(repo.workdir(), iteration(1));
    ASSERT_FALSE(id) << state;
    EXPECT_EQ(id.error().kind, base::ErrorKind::refused) << state;
  }
}

TEST(GitStates, ALockedIndexIsNamed) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.top() / ".git/index.lock", "");
  const std::string head = repo.git("rev-parse HEAD");
  auto id = commit_iteration(repo.workdir(), iteration(1));
  ASSERT_FALSE(id);
  EXPECT_NE(id.error().found.find("index.lock"), std::string::npos);
  EXPECT_EQ(repo.git("rev-parse HEAD"), head);
  EXPECT_TRUE(fs::exists(repo.top() / ".git/index.lock"));
}

TEST(GitStates, WorktreesShareRecordsThatOutliveThem) {
  ScratchRepo repo;
  repo.add_task();
  const fs::path tree = repo.top().parent_path() / "wörk tree";
  repo.git("worktree add -q -b ako/t '" + tree.string() + "'");
  const auto workdir = workspace::Workdir::at(tree / "task").value();
  const auto ledger = workdir.ledger().value();
  EXPECT_EQ(ledger, fs::canonical(repo.top() / ".git") / "ako" / "task" / "ledger.sqlite");
  put(ledger, "record");
  put(tree / "task/solution/k.cpp", "int v5;\n");
  auto id = commit_iteration(workdir, iteration(5));
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(repo.git("rev-parse ako/t"), *id + "\n");
  EXPECT_EQ(shell(tree, "git status --porcelain"), "");
  EXPECT_EQ(repo.git("status --porcelain"), "");
  shell(tree, "git clean -xdfq");
  repo.git("worktree remove --force '" + tree.string() + "'");
  EXPECT_EQ(get(ledger), "record");
}

TEST(GitStates, ASubmoduleIsLeftAlone) {
  ScratchRepo other("");
  put(other.top() / "a.txt", "a");
  other.git("add -A && git commit -qm a");
  ScratchRepo repo;
  repo.add_task();
  repo.git("-c protocol.file.allow=always submodule --quiet add '" + other.top().string() +
           "' lib && git commit -qm sub");
  put(repo.top() / "lib/a.txt", "edited");
  reject_one(repo);
  commit_one(repo);
  EXPECT_EQ(get(repo.top() / "lib/a.txt"), "edited");
}

TEST(GitStates, LineEndsStayAsTheyAreOnDisk) {
  for (const std::string setting : {"true", "input", "false"}) {
    ScratchRepo repo;
    repo.add_task();
    repo.git("config core.autocrlf " + setting);
    put(repo.task() / "solution/k.cpp", "int v0;\r\nint w;\r\n");
    const auto snapshot = workspace::take_snapshot(repo.workdir(), contract_with()).value();
    EXPECT_EQ(snapshot.find("solution/k.cpp")->content, "int v0;\r\nint w;\r\n");
    reject_one(repo);
    EXPECT_EQ(get(repo.task() / "solution/k.cpp"), "int v0;\r\nint w;\r\n");
    auto id = commit_iteration(repo.workdir(), iteration(1));
    ASSERT_TRUE(id) << id.error().text();
    EXPECT_EQ(get(repo.task() / "solution/k.cpp"), "int v0;\r\nint w;\r\n");
    EXPECT_EQ(repo.git("status --porcelain"), "") << setting;
  }
}

TEST(GitStates, AttributesBesideTheCandidateNeitherStopACommitNorChangeItsBytes) {
  ScratchRepo repo;
  repo.add_task();
  for (const char* attributes : {"* working-tree-encoding=nonsense\n", "* text eol=lf ident\n"}) {
    put(repo.task() / "solution/.gitattributes", attributes);
    put(repo.task() / "solution/k.cpp", std::string(attributes) + "$Id: mine$\r\n");
    put(repo.task() / "solution/odd \"name\" \xc3\xa4.hpp", "odd\n");
    std::filesystem::remove(repo.task() / "solution/link.hpp");
    std::filesystem::create_symlink("k.cpp", repo.task() / "solution/link.hpp");
    auto id = commit_iteration(repo.workdir(), iteration(1));
    ASSERT_TRUE(id) << id.error().text();
    const std::string at = "HEAD:" + repo.workdir().git()->prefix;
    const std::string in = at.back() == ':' ? at : at + "/";
    EXPECT_EQ(repo.git("cat-file blob '" + in + "solution/k.cpp'"),
              get(repo.task() / "solution/k.cpp"));
    EXPECT_EQ(repo.git("cat-file blob '" + in + "solution/link.hpp'"), "k.cpp");
    EXPECT_EQ(repo.git("cat-file blob '" + in + "solution/odd \"name\" \xc3\xa4.hpp'"), "odd\n");
  }
}

TEST(GitStates, AttributesAnywhereElseDoNotStopACommitEither) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.task() / "input/.gitattributes", "* working-tree-encoding=nonsense\n");
  put(repo.task() / "input/ref.cpp", "int changed;\n");
  auto id = commit_iteration(repo.workdir(), iteration(1));
  ASSERT_TRUE(id) << id.error().text();
  const std::string prefix = repo.workdir().git()->prefix;
  EXPECT_EQ(
      repo.git("cat-file blob HEAD:" + (prefix.empty() ? "" : prefix + "/") + "input/ref.cpp"),
      "int changed;\n");
}

TEST(GitStates, AModeChangeIsCommittedAndReverted) {
  ScratchRepo repo;
  repo.add_task();
  const auto incumbent = workspace::take_snapshot(repo.workdir(), contract_with()).value();
  fs::permissions(repo.task() / "solution/k.cpp", fs::perms::owner_exec, fs::perm_options::add);
  ASSERT_TRUE(commit_iteration(repo.workdir(), iteration(1)));
  EXPECT_EQ(repo.git("ls-tree HEAD task/solution/k.cpp").substr(0, 6), "100755");
  ASSERT_TRUE(workspace::restore_sources(repo.workdir(), contract_with(), incumbent, "iter-1"));
  EXPECT_EQ(repo.git("diff --summary").substr(0, 30), " mode change 100755 => 100644 ");
}

TEST(GitStates, UserHooksAndSigningAreNotRun) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.top() / ".git/hooks/reference-transaction", "#!/bin/sh\ntouch ../ran; exit 1\n");
  put(repo.top() / ".git/hooks/post-commit", "#!/bin/sh\ntouch ../ran\n");
  shell(repo.top(), "chmod +x .git/hooks/*; git config commit.gpgsign true; "
                    "git config gpg.program /bin/false");
  auto id = commit_iteration(repo.workdir(), iteration(1));
  EXPECT_TRUE(id) << id.error().text();
}

TEST(GitStates, TheCallersGitVariablesDoNotLeadElsewhere) {
  ScratchRepo repo, other;
  repo.add_task();
  other.add_task();
  const std::string head = other.git("rev-parse HEAD");
  setenv("GIT_DIR", (other.top() / ".git").c_str(), 1);
  setenv("GIT_WORK_TREE", other.top().c_str(), 1);
  setenv("GIT_INDEX_FILE", (other.top() / ".git/index").c_str(), 1);
  auto id = commit_iteration(repo.workdir(), iteration(1));
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}) unsetenv(name);
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(repo.git("rev-parse HEAD"), *id + "\n");
  EXPECT_EQ(other.git("rev-parse HEAD"), head);
}

TEST(GitStates, WhenAkoIsKilledItsGitEndsWhatItBeganAndTheNextAkoWaits) {
  ScratchRepo repo;
  repo.add_task();
  const fs::path bin = repo.top() / "bin", begun = bin / "begun", ended = bin / "ended";
  put(bin / "git",
      "#!/bin/sh\ntouch '" + begun.string() + "'\nsleep 0.5\ntouch '" + ended.string() + "'\n");
  shell(repo.top(), "chmod +x bin/git");
  const pid_t killed = fork();
  if (killed == 0) {
    const std::string path = bin.string() + ":" + std::getenv("PATH");
    setenv("PATH", path.c_str(), 1);
    static_cast<void>(workspace::Git(repo.task()).run({"update-ref", "HEAD", "HEAD"}));
    _exit(0);
  }
  for (int i = 0; i < 2000 && !fs::exists(begun); ++i) usleep(5000);
  ASSERT_TRUE(fs::exists(begun));
  kill(killed, SIGKILL);
  ASSERT_EQ(waitpid(killed, nullptr, 0), killed);
  EXPECT_FALSE(fs::exists(ended)) << "the kill came too late";
  ASSERT_TRUE(workspace::Git(repo.top()).run({"rev-parse", "HEAD"}));
  EXPECT_TRUE(fs::exists(ended));
}

TEST(GitStates, ALockThatSomebodyElseHoldsIsNamedWithWhatToDo) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.top() / ".git/HEAD.lock", "");
  const auto moved = workspace::Git(repo.top()).run({"update-ref", "HEAD", "HEAD~0"});
  ASSERT_FALSE(moved);
  EXPECT_NE(moved.error().next.find("remove the .lock file"), std::string::npos)
      << moved.error().text();
  EXPECT_TRUE(fs::exists(repo.top() / ".git/HEAD.lock"));
}

} // namespace
} // namespace ako::test
