// What is guarded comes back, what is free does not, and what was undone is kept.
#include "drive/guard.hpp"

#include "../workspace/scratch_repo.hpp"
#include "drive/confine.hpp"
#include "ledger/queries.hpp"
#include "ledger/writer.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace ako::drive {
namespace {

namespace fs = std::filesystem;
using test::get;
using test::put;

class GuardTest : public testing::Test {
protected:
  GuardTest() {
    m_repo.add_task();
    auto writer = ledger::Writer::open(*m_repo.workdir().ledger(), ledger::Open::create);
    EXPECT_TRUE(writer && writer->append(ledger::Note{"note", "before", "t"}));
  }
  GuardPlan plan(const std::string& token = "token") {
    const auto home = *m_repo.workdir().records() / "campaign" / "c";
    return {m_repo.workdir(), {m_repo.task() / "solution"}, home / "guard", home / "undone", token};
  }
  Guard take() {
    auto guard = Guard::take(plan());
    EXPECT_TRUE(guard) << guard.error().text();
    return std::move(*guard);
  }
  std::vector<std::string> undo(const Guard& guard) {
    auto changes = guard.undo();
    EXPECT_TRUE(changes) << changes.error().text();
    std::vector<std::string> out;
    for (const Change& change : *changes) out.push_back(to_text(change));
    return out;
  }
  test::ScratchRepo m_repo;
};

TEST_F(GuardTest, NothingChangedNothingDone) {
  const Guard guard = take();
  put(m_repo.task() / "solution/k.cpp", "mine to edit\n");
  EXPECT_TRUE(undo(guard).empty());
  EXPECT_EQ(get(m_repo.task() / "solution/k.cpp"), "mine to edit\n");
}

TEST_F(GuardTest, ChangedRemovedAndAddedThingsAreUndoneAndKept) {
  const fs::path ref = m_repo.task() / "input/ref.cpp", contract = m_repo.task() / "task.toml";
  const std::string before = get(ref), toml = get(contract);
  ASSERT_EQ(::chmod(ref.c_str(), 0640), 0);
  const Guard guard = take();
  put(ref, "changed\n");
  ASSERT_EQ(::chmod(ref.c_str(), 0777), 0);
  fs::remove(contract);
  put(m_repo.top() / "new/deep/file", "added\n");
  EXPECT_EQ(undo(guard).size(), 5u); // two files, two folders, one file in them
  EXPECT_EQ(get(ref), before);
  EXPECT_EQ(get(contract), toml);
  EXPECT_FALSE(fs::exists(m_repo.top() / "new"));
  struct stat info {};
  ASSERT_EQ(::stat(ref.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(get(plan().undone / ref.relative_path()), "changed\n");
  EXPECT_TRUE(undo(guard).empty());
}

TEST_F(GuardTest, WhatAKilledUndoingLeftHalfWrittenIsNoEdit) {
  const Guard guard = take();
  const fs::path left = m_repo.task() / "input" / ".ref.cpp.1-2.tmp";
  put(left, "ha");
  put(m_repo.task() / ".task.toml.1-3.tmp", "");
  EXPECT_TRUE(undo(guard).empty());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(plan().undone));
}

TEST_F(GuardTest, AnOpenTurnIsUndoneByWhoKnowsItsStoreAlone) {
  const fs::path store = plan().store, contract = m_repo.task() / "task.toml";
  EXPECT_EQ(Guard::open_turn(store), "");
  const std::string toml = get(contract);
  const Guard guard = take();
  EXPECT_EQ(Guard::open_turn(store), "token");
  fs::remove(contract);
  put(m_repo.task() / "solution/k.cpp", "mine to edit\n");
  const auto changes = Guard::undo_open(m_repo.workdir(), store);
  ASSERT_TRUE(changes) << changes.error().text();
  ASSERT_EQ(changes->size(), 1u);
  EXPECT_EQ(get(contract), toml);
  EXPECT_EQ(get(m_repo.task() / "solution/k.cpp"), "mine to edit\n");
  ASSERT_TRUE(guard.close());
  EXPECT_EQ(Guard::open_turn(store), "");
}

TEST_F(GuardTest, AFolderExchangedForALinkComesBackAndNothingIsWrittenThroughIt) {
  const Guard guard = take();
  const fs::path input = m_repo.task() / "input";
  auto elsewhere = base::TemporaryDir::make("elsewhere");
  ASSERT_TRUE(elsewhere);
  fs::remove_all(input);
  fs::create_directory_symlink(elsewhere->path(), input);
  EXPECT_FALSE(undo(guard).empty());
  EXPECT_FALSE(fs::is_symlink(input));
  EXPECT_TRUE(fs::exists(input / "ref.cpp"));
  EXPECT_TRUE(fs::is_empty(elsewhere->path()));
}

TEST_F(GuardTest, AnotherProcessLoadsThePictureOfItsOwnTurnOnly) {
  { take(); }
  const fs::path ref = m_repo.task() / "input/ref.cpp";
  const std::string before = get(ref);
  put(ref, "changed\n");
  auto other = Guard::load(plan("another turn"));
  ASSERT_TRUE(other);
  EXPECT_FALSE(*other);
  auto same = Guard::load(plan());
  ASSERT_TRUE(same && *same);
  EXPECT_EQ(undo(**same), std::vector<std::string>{ref.string() + " was changed"});
  EXPECT_EQ(get(ref), before);
}

TEST_F(GuardTest, TheLedgerComesBackWhetherRemovedOrGrown) {
  const fs::path path = *m_repo.workdir().ledger();
  const Guard guard = take();
  fs::remove(path);
  EXPECT_EQ(undo(guard), std::vector<std::string>{"the ledger was removed"});
  {
    auto writer = ledger::Writer::open(path, ledger::Open::existing);
    ASSERT_TRUE(writer && writer->append(ledger::Note{"note", "forged", "agent"}));
  }
  EXPECT_EQ(undo(guard), std::vector<std::string>{"the ledger was changed"});
  auto reader = ledger::Reader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->standing()->events, 1);
}

TEST_F(GuardTest, LookingAtTheLedgerIsNoChange) {
  const Guard guard = take();
  {
    auto reader = ledger::Reader::open(*m_repo.workdir().ledger());
    ASSERT_TRUE(reader && reader->standing());
  }
  EXPECT_TRUE(undo(guard).empty());
}

TEST_F(GuardTest, WhatIsGoneWithItsCopiesIsStale) {
  { take(); }
  const fs::path ref = m_repo.task() / "input/ref.cpp";
  fs::remove(ref);
  fs::remove_all(plan().store / "blobs");
  auto guard = Guard::load(plan());
  ASSERT_TRUE(guard && *guard);
  auto undone = (*guard)->undo();
  ASSERT_FALSE(undone);
  EXPECT_EQ(undone.error().kind, base::ErrorKind::stale);
}

TEST_F(GuardTest, WhatWasFreeInTheTurnCountsNotWhatIsFreeNow) {
  { take(); }
  const fs::path ref = m_repo.task() / "input/ref.cpp";
  const std::string before = get(ref);
  put(ref, "changed\n");
  put(m_repo.task() / "solution/k.cpp", "the agent's\n");
  GuardPlan now = plan();
  now.free = {m_repo.task() / "input"};
  auto guard = Guard::load(std::move(now));
  ASSERT_TRUE(guard && *guard);
  EXPECT_EQ(undo(**guard).size(), 1u);
  EXPECT_EQ(get(ref), before);
  EXPECT_EQ(get(m_repo.task() / "solution/k.cpp"), "the agent's\n");
}

TEST_F(GuardTest, RefsAndHeadComeBack) {
  const std::string head = m_repo.git("rev-parse HEAD");
  const Guard guard = take();
  m_repo.git("-c user.name=a -c user.email=a@b commit -q --allow-empty -m forged");
  m_repo.git("checkout -q -b mine");
  EXPECT_FALSE(undo(guard).empty());
  EXPECT_EQ(m_repo.git("rev-parse HEAD"), head);
  EXPECT_TRUE(undo(guard).empty());
}

TEST_F(GuardTest, PipesAndWhatStandsInAFoldersPlaceAreMovedAway) {
  const Guard guard = take();
  const fs::path input = m_repo.task() / "input", pipe = m_repo.task() / "pipe";
  const std::string before = get(input / "ref.cpp");
  fs::remove_all(input);
  ASSERT_EQ(::mkfifo(input.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  undo(guard);
  EXPECT_EQ(get(input / "ref.cpp"), before);
  EXPECT_FALSE(fs::exists(pipe));
  EXPECT_TRUE(undo(guard).empty());
}

TEST_F(GuardTest, AFolderCalledDotGitIsLookedIntoAnywhereButAtTheTop) {
  put(m_repo.top() / "vendor/.git/config", "theirs\n");
  const Guard guard = take();
  put(m_repo.top() / "vendor/.git/config", "mine\n");
  put(m_repo.task() / "context/.git/hidden", "mine\n");
  EXPECT_FALSE(undo(guard).empty());
  EXPECT_EQ(get(m_repo.top() / "vendor/.git/config"), "theirs\n");
  EXPECT_FALSE(fs::exists(m_repo.task() / "context/.git"));
}

TEST_F(GuardTest, WhatNoSnapshotTakesInTheSolutionIsNotTheAgentsToLeaveThere) {
  put(m_repo.task() / "solution/.clang-format", "mine\n");
  const Guard guard = take();
  put(m_repo.task() / "solution/.clang-format", "its\n");
  put(m_repo.task() / "solution/.gitattributes", "* filter=none\n");
  put(m_repo.task() / "solution/deep/__pycache__/k.pyc", "bytes");
  put(m_repo.task() / "solution/deep/k.cpp", "mine to edit\n");
  undo(guard);
  EXPECT_EQ(get(m_repo.task() / "solution/.clang-format"), "mine\n");
  EXPECT_FALSE(fs::exists(m_repo.task() / "solution/.gitattributes"));
  EXPECT_FALSE(fs::exists(m_repo.task() / "solution/deep/__pycache__"));
  EXPECT_EQ(get(m_repo.task() / "solution/deep/k.cpp"), "mine to edit\n");
  EXPECT_TRUE(undo(guard).empty());
}

TEST_F(GuardTest, WhatMakesGitStandStillIsUndone) {
  const fs::path git = m_repo.top() / ".git";
  const Guard guard = take();
  put(git / "MERGE_HEAD", std::string(40, '1') + "\n");
  put(git / "index.lock", "");
  put(git / "refs/heads/main.lock", "");
  put(git / "ako-records", "elsewhere");
  EXPECT_EQ(undo(guard).size(), 4u);
  for (const char* name : {"MERGE_HEAD", "index.lock", "refs/heads/main.lock", "ako-records"})
    EXPECT_FALSE(fs::exists(git / name)) << name;
  EXPECT_TRUE(undo(guard).empty());
}

TEST_F(GuardTest, AllRefsComeBackButThoseOfOthersAtWork) {
  const fs::path beside = m_repo.top().string() + "-beside";
  m_repo.git("branch other");
  m_repo.git("tag v1");
  m_repo.git("worktree add -q -b theirs '" + beside.string() + "'");
  m_repo.git("update-ref refs/ako/another-task/iter-1 HEAD");
  const Guard guard = take();
  const std::string id = m_repo.git("rev-parse HEAD");
  m_repo.git("branch -q -D other");
  m_repo.git("tag -d v1");
  m_repo.git("branch mine");
  m_repo.git("update-ref -d refs/ako/another-task/iter-1");
  m_repo.git("-C '" + beside.string() +
             "' -c user.name=a -c user.email=a@b commit -q --allow-empty -m theirs");
  EXPECT_EQ(undo(guard).size(), 3u);
  EXPECT_EQ(m_repo.git("rev-parse refs/heads/other"), id);
  EXPECT_EQ(m_repo.git("rev-parse refs/tags/v1"), id);
  EXPECT_EQ(m_repo.git("for-each-ref refs/heads/mine refs/ako/another-task"), "");
  EXPECT_NE(m_repo.git("rev-parse refs/heads/theirs"), id);
  fs::remove_all(beside);
}

TEST_F(GuardTest, ModesOfTheFoldersOnTheWayComeBack) {
  const fs::path records = *m_repo.workdir().records();
  const Guard guard = take();
  const auto mode_of = [](const fs::path& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  };
  const auto before = mode_of(records), store = mode_of(plan().store);
  const auto ledger = mode_of(records / "ledger.sqlite");
  ASSERT_EQ(::chmod((records / "ledger.sqlite").c_str(), 0400), 0);
  ASSERT_EQ(::chmod(plan().store.c_str(), 0), 0);
  ASSERT_EQ(::chmod(records.c_str(), 0500), 0);
  Guard::unlock_folders(plan().store);
  EXPECT_EQ(mode_of(records) & 0700, 0700u);
  EXPECT_EQ(mode_of(plan().store) & 0700, 0700u);
  ASSERT_EQ(::chmod(records.c_str(), 0500), 0);
  EXPECT_FALSE(undo(guard).empty());
  EXPECT_EQ(mode_of(records), before);
  EXPECT_EQ(mode_of(plan().store), store);
  EXPECT_EQ(mode_of(records / "ledger.sqlite"), ledger);
  EXPECT_TRUE(undo(guard).empty());
}

TEST_F(GuardTest, ThePictureSaysOfWhichTaskItIs) {
  take();
  EXPECT_EQ(Guard::task_of(plan().store), m_repo.task().string());
  EXPECT_EQ(Guard::task_of(m_repo.task()), "");
}

TEST(Confine, SaysWhetherTheKernelCan) {
  if (landlock_version() == 0) {
    auto rules = write_rules({"/tmp"});
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error().kind, base::ErrorKind::unsupported);
    return;
  }
  EXPECT_TRUE(write_rules({"/tmp", "/does/not/exist"}));
}

} // namespace
} // namespace ako::drive
