// Where a task lies in git: asked of git once, and again when the repository has become another
// one.
#include "scratch_repo.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

using workspace::Workdir;

/// As git itself says it, asked past what is known already.
void is_as_git_says(const fs::path& task) {
  const auto place = Workdir::at(task).value().git();
  ASSERT_TRUE(place) << place.error().text();
  const std::string top = shell(task, "git rev-parse --show-toplevel");
  EXPECT_EQ(place->top.string() + "\n", top);
  EXPECT_EQ(place->git_dir.string() + "\n", shell(task, "git rev-parse --absolute-git-dir"));
  EXPECT_EQ(place->top / place->prefix / "", task / "");
}

TEST(Place, IsAskedAgainWhenTheRepositoryHasBecomeAnotherOne) {
  const ScratchRepo repo;
  repo.git("commit -q --allow-empty -m one");
  fs::create_directories(repo.task() / "deep");
  const fs::path deep = fs::canonical(repo.task() / "deep");
  is_as_git_says(deep);
  is_as_git_says(deep);
  shell(repo.task(), "git init -q ."); // a nearer one
  is_as_git_says(deep);
  fs::remove_all(repo.task() / ".git");
  is_as_git_says(deep);
  repo.git("worktree add -q -b other ../other");
  shell(repo.top(), "mkdir ../other/deep");
  const fs::path other = fs::canonical(repo.top() / ".." / "other" / "deep");
  is_as_git_says(other);
  fs::rename(repo.top(), repo.top().parent_path() / "moved");
  EXPECT_FALSE(Workdir::at(other).value().git()) << "its repository is elsewhere";
  fs::rename(repo.top().parent_path() / "moved", repo.top());
  is_as_git_says(other);
  fs::remove_all(repo.top() / ".git");
  EXPECT_FALSE(Workdir::at(deep).value().git());
}

TEST(Place, AWorkTreeThatIsSetByTheConfigurationIsSeen) {
  const ScratchRepo repo;
  const fs::path top = fs::canonical(repo.top());
  fs::create_directories(top / "task");
  is_as_git_says(top / "task");
  repo.git("config core.worktree " + (top / "task").string());
  is_as_git_says(top / "task");
}

} // namespace
} // namespace ako::test
