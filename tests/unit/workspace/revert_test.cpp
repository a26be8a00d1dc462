#include "../../fakes/killed_writer.hpp"
#include "scratch_repo.hpp"
#include "workspace/commit.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

model::Contract task_contract() {
  model::Contract contract;
  contract.kernel.entry.file = "solution/k.cpp";
  return contract;
}

TEST(Revert, RestoresChangedMissingAndAddedSourcesAndNothingElse) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.task() / "solution/a/b.hpp", "int b;\n");
  const auto incumbent = workspace::take_snapshot(repo.workdir(), task_contract()).value();
  fs::remove(repo.task() / "solution/k.cpp");
  put(repo.task() / "solution/a/b.hpp", "int changed;\n");
  put(repo.task() / "solution/new/deep/n.cpp", "int n;\n");
  put(repo.task() / "solution/keep.o", "left behind by a tool");
  put(repo.task() / "input/ref.cpp", "the user's");
  put(repo.task() / "notes.md", "the user's");
  auto reverted = workspace::restore_sources(repo.workdir(), task_contract(), incumbent, "iter-3");
  ASSERT_TRUE(reverted) << reverted.error().text();
  EXPECT_EQ(workspace::take_snapshot(repo.workdir(), task_contract())->snapshot.hash,
            incumbent.snapshot.hash);
  EXPECT_EQ(reverted->removed, std::vector<std::string>{"solution/new/deep/n.cpp"});
  EXPECT_FALSE(fs::exists(repo.task() / "solution/new"));
  EXPECT_EQ(get(repo.task() / "solution/keep.o"), "left behind by a tool");
  EXPECT_EQ(get(repo.task() / "input/ref.cpp"), "the user's");
  EXPECT_EQ(get(repo.task() / "notes.md"), "the user's");
  const auto kept = workspace::read_snapshot(repo.workdir(), "iter-3").value();
  EXPECT_NE(kept.find("solution/new/deep/n.cpp"), nullptr);
  EXPECT_EQ(kept.find("solution/k.cpp"), nullptr);
}

TEST(Revert, AKillInTheMiddleLeavesNothingBehindAfterTheNext) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.task() / "solution/deep/k.hpp", std::string(1 << 20, 'a'));
  const auto incumbent = workspace::take_snapshot(repo.workdir(), task_contract()).value();
  put(repo.task() / "solution/deep/k.hpp", "short\n");
  const auto files = [&] { return base::list_files(repo.task() / "solution").value(); };
  const auto before = files();
  killed_while_writing(500'000, [&] {
    static_cast<void>(
        workspace::restore_sources(repo.workdir(), task_contract(), incumbent, "iter-1"));
  });
  EXPECT_EQ(files().size(), before.size() + 1) << "the kill came at another moment";
  EXPECT_EQ(get(repo.task() / "solution/deep/k.hpp"), "short\n");
  ASSERT_TRUE(workspace::restore_sources(repo.workdir(), task_contract(), incumbent, "iter-1"));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(get(repo.task() / "solution/deep/k.hpp").size(), std::size_t{1} << 20);
}

TEST(Revert, TouchesNothingWhenTheCandidateCannotBeKept) {
  ScratchRepo repo;
  repo.add_task();
  const auto incumbent = workspace::take_snapshot(repo.workdir(), task_contract()).value();
  put(repo.task() / "solution/k.cpp", "int lost;\n");
  shell(repo.top(), "mv .git elsewhere");
  auto reverted = workspace::restore_sources(repo.workdir(), task_contract(), incumbent, "iter-1");
  EXPECT_FALSE(reverted);
  EXPECT_EQ(get(repo.task() / "solution/k.cpp"), "int lost;\n");
}

TEST(Revert, WhatWasEditedSinceItWasJudgedIsLeftAlone) {
  const std::map<std::string, std::string> edits = {
      {"another text", "echo 'int mine;' > solution/k.cpp"},
      {"a new file", "echo 'int mine;' > solution/mine.hpp"},
      {"a file away", "rm solution/k.cpp"},
      {"another mode", "chmod +x solution/k.cpp"},
      {"a link out of the task", "ln -s /etc/passwd solution/mine.hpp"},
      {"more than a snapshot takes", "truncate -s 17M solution/mine.hpp"}};
  for (const auto& [what, edit] : edits) {
    SCOPED_TRACE(what);
    ScratchRepo repo;
    repo.add_task();
    const auto incumbent = workspace::take_snapshot(repo.workdir(), task_contract()).value();
    put(repo.task() / "solution/k.cpp", "int judged;\n");
    const auto judged = workspace::take_snapshot(repo.workdir(), task_contract()).value();
    ASSERT_TRUE(workspace::keep_snapshot(repo.workdir(), judged, "iter-3"));
    shell(repo.task(), edit);
    const auto before = picture(repo.top(), {});
    auto reverted =
        workspace::restore_sources(repo.workdir(), task_contract(), incumbent, "iter-3", &judged);
    ASSERT_TRUE(reverted) << reverted.error().text();
    EXPECT_TRUE(reverted->edited);
    EXPECT_TRUE(reverted->restored.empty() && reverted->removed.empty());
    EXPECT_EQ(picture(repo.top(), {}), before);
    EXPECT_EQ(workspace::read_snapshot(repo.workdir(), "iter-3")->snapshot.hash,
              judged.snapshot.hash);
  }
}

TEST(Revert, WhatStandsAsItWasJudgedMakesWayAndSoDoesNothingWhereTheIncumbentIsBackAlready) {
  ScratchRepo repo;
  repo.add_task();
  const auto incumbent = workspace::take_snapshot(repo.workdir(), task_contract()).value();
  put(repo.task() / "solution/k.cpp", "int judged;\n");
  const auto judged = workspace::take_snapshot(repo.workdir(), task_contract()).value();
  ASSERT_TRUE(workspace::keep_snapshot(repo.workdir(), judged, "iter-3"));
  const auto settle = [&] {
    return workspace::restore_sources(repo.workdir(), task_contract(), incumbent, "iter-3",
                                      &judged);
  };
  auto reverted = settle();
  ASSERT_TRUE(reverted) << reverted.error().text();
  EXPECT_FALSE(reverted->edited);
  EXPECT_EQ(reverted->restored, std::vector<std::string>{"solution/k.cpp"});
  EXPECT_EQ(reverted->kept_ref, "refs/ako/task/iter-3");
  EXPECT_EQ(get(repo.task() / "solution/k.cpp"), "int v0;\n");
  reverted = settle();
  ASSERT_TRUE(reverted) << reverted.error().text();
  EXPECT_FALSE(reverted->edited);
  EXPECT_TRUE(reverted->restored.empty());
  EXPECT_EQ(workspace::read_snapshot(repo.workdir(), "iter-3")->snapshot.hash,
            judged.snapshot.hash);
}

TEST(Revert, AFolderInAFilesPlaceIsUndone) {
  ScratchRepo repo;
  repo.add_task();
  const auto incumbent = workspace::take_snapshot(repo.workdir(), task_contract()).value();
  fs::remove(repo.task() / "solution/k.cpp");
  put(repo.task() / "solution/k.cpp/inside.hpp", "int i;\n");
  model::Contract other = task_contract();
  other.kernel.entry.file = "solution/k.cpp/inside.hpp";
  auto reverted = workspace::restore_sources(repo.workdir(), other, incumbent, "iter-1");
  ASSERT_TRUE(reverted) << reverted.error().text();
  EXPECT_EQ(get(repo.task() / "solution/k.cpp"), "int v0;\n");
}

/// A candidate that stands in solution/, kept as iter-4, and the commit of its iteration.
struct Judged {
  model::Contract contract = task_contract();
  model::Sources sources;
  explicit Judged(const ScratchRepo& repo) {
    sources = workspace::take_snapshot(repo.workdir(), contract).value();
    sources.snapshot.git_tree =
        workspace::keep_snapshot(repo.workdir(), sources, workspace::kept_name(4)).value();
  }
  workspace::IterationCommit commit() const {
    workspace::IterationCommit out;
    out.number = 4;
    out.hypothesis = "wider loads";
    out.paths = {"task.toml", "input", "solution"};
    out.candidate = {&contract, &sources};
    return out;
  }
};

TEST(Settled, ACommitHoldsWhatWasJudgedWhateverStandsOnDisk) {
  const std::map<std::string, std::string> edits = {
      {"another text", "echo 'int mine;' > solution/k.cpp"},
      {"more and fewer files", "rm solution/k.cpp; echo 'int mine;' > solution/mine.hpp"},
      {"a folder in a file's place",
       "rm solution/k.cpp; mkdir solution/k.cpp; touch solution/k.cpp/a.hpp"},
      {"unreadable", "rm solution/k.cpp; ln -s /etc/passwd solution/k.cpp"}};
  for (const std::string task : {"task", ""})
    for (const auto& [what, edit] : edits) {
      SCOPED_TRACE(what + " in '" + task + "'");
      ScratchRepo repo(task);
      repo.add_task();
      put(repo.task() / "solution/gone.hpp", "int of_the_incumbent;\n");
      put(repo.task() / "solution/.hidden", "tracked, no source\n");
      repo.git("add -A && git commit -qm more");
      fs::remove(repo.task() / "solution/gone.hpp");
      put(repo.task() / "solution/k.cpp", "int judged;\n");
      put(repo.task() / "solution/deep/new.hpp", "int judged_too;\n");
      const Judged judged(repo);
      shell(repo.task(), edit);
      const std::string disk =
          shell(repo.task(), "ls -lR --time-style=+ solution; cat solution/* 2>&1 || true");
      auto id = workspace::commit_iteration(repo.workdir(), judged.commit());
      ASSERT_TRUE(id) << id.error().text();
      const std::string at = task.empty() ? "" : "task/";
      EXPECT_EQ(repo.git("show HEAD:" + at + "solution/k.cpp"), "int judged;\n");
      EXPECT_EQ(repo.git("ls-tree -r --name-only HEAD " + at + "solution"),
                at + "solution/.hidden\n" + at + "solution/deep/new.hpp\n" + at +
                    "solution/k.cpp\n");
      EXPECT_EQ(shell(repo.task(), "ls -lR --time-style=+ solution; cat solution/* 2>&1 || true"),
                disk);
      EXPECT_NE(repo.git("status --porcelain"), "") << "the edit is the user's to commit";
      EXPECT_EQ(repo.git("diff --cached"), "");
    }
}

TEST(Settled, ACandidateIsCommittedByteForByteWhateverGitWouldConvert) {
  ScratchRepo repo;
  repo.add_task();
  repo.git("config core.autocrlf true");
  put(repo.task() / "solution/k.cpp", "int judged;\r\n");
  const Judged judged(repo);
  ASSERT_TRUE(workspace::commit_iteration(repo.workdir(), judged.commit()));
  EXPECT_EQ(repo.git("cat-file -p HEAD:task/solution/k.cpp"), "int judged;\r\n");
  EXPECT_EQ(repo.git("status --porcelain"), "");
}

TEST(Settled, WhatIsLeftOutOfACommitStaysAsHeadHasIt) {
  ScratchRepo repo;
  repo.add_task();
  const std::string before = repo.git("show HEAD:task/input/ref.cpp");
  put(repo.task() / "input/ref.cpp", "int edited;\n");
  put(repo.task() / "input/other.hpp", "int committed;\n");
  put(repo.task() / "input/new.hpp", "int left_out;\n");
  workspace::IterationCommit commit = Judged(repo).commit();
  commit.candidate.reset();
  commit.left_out = {"input/ref.cpp", "input/new.hpp"};
  ASSERT_TRUE(workspace::commit_iteration(repo.workdir(), commit));
  EXPECT_EQ(repo.git("show HEAD:task/input/ref.cpp"), before);
  EXPECT_EQ(repo.git("show HEAD:task/input/other.hpp"), "int committed;\n");
  EXPECT_EQ(repo.git("status --porcelain"), " M task/input/ref.cpp\n?? task/input/new.hpp\n");
  EXPECT_EQ(get(repo.task() / "input/ref.cpp"), "int edited;\n");
}

} // namespace
} // namespace ako::test
