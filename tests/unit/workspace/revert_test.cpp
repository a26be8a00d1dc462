#include "../../fakes/killed_writer.hpp"
#include "scratch_repo.hpp"
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

} // namespace
} // namespace ako::test
