// Head hashes in commits: which commits are asked, and what of them is taken.
#include "loop/trailers.hpp"

#include "../workspace/scratch_repo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using testing::HasSubstr;

TEST(Trailers, ARepositoryWithoutCommitsHasNone) {
  test::ScratchRepo repo;
  test::put(repo.task() / "task.toml", "format = 1\n");
  auto heads = heads_in_commits(repo.workdir());
  ASSERT_TRUE(heads) << heads.error().text();
  EXPECT_TRUE(heads->empty());
}

TEST(Trailers, OnlyCommitsThatTouchTheTaskAndCarryOneNewestFirst) {
  test::ScratchRepo repo;
  repo.add_task();
  const std::string one(64, 'a'), two(64, 'b'), other(64, 'c');
  const auto commit = [&](const std::string& file, const std::string& trailer) {
    test::put(repo.top() / file, trailer);
    repo.git("add -A && git commit -qm '[iter] step\n\n" + trailer + "'");
  };
  commit("task/solution/k.cpp", "Ako-Ledger-Head: " + one);
  commit("task/solution/k.cpp", "Some-Other: trailer");
  commit("elsewhere.txt", "Ako-Ledger-Head: " + other);
  commit("task/solution/k.cpp", "Ako-Ledger-Head: " + two);
  auto heads = heads_in_commits(repo.workdir());
  ASSERT_TRUE(heads) << heads.error().text();
  ASSERT_EQ(heads->size(), 2u);
  EXPECT_EQ(heads->at(0).hash, two);
  EXPECT_EQ(heads->at(1).hash, one);
  EXPECT_THAT(heads->at(1).origin, HasSubstr("[iter] step"));
}

} // namespace
} // namespace ako::loop
