#include "scratch_repo.hpp"
#include "workspace/create.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace ako::test {
namespace {

workspace::CreateRequest request(const fs::path& base_dir, const std::string& name) {
  setenv("AKO_TEMPLATES", AKO_SOURCE_DIR "/templates", 1);
  auto files = workspace::starting_files("cpu", name);
  EXPECT_TRUE(files) << files.error().text();
  return {base_dir, name, files.value_or(std::vector<model::SourceText>{})};
}

TEST(Create, APlainRepositoryWithoutAko4all) {
  auto dir = base::TemporaryDir::make("ako-test-").value();
  auto created = workspace::create_task(request(dir.path() / "mit Umläuten", "axpy"));
  ASSERT_TRUE(created) << created.error().text();
  EXPECT_EQ(created->task, dir.path() / "mit Umläuten" / "axpy");
  EXPECT_FALSE(created->in_ako4all);
  EXPECT_EQ(shell(created->task, "git status --porcelain; git ls-files | sort | head -1"),
            "input/kernel.cpp\n");
  EXPECT_NE(get(created->task / "task.toml").find("name = \"axpy\""), std::string::npos);
  for (const char* folder : {"input", "solution", "bench", "context"})
    EXPECT_TRUE(fs::is_directory(created->task / folder));
}

TEST(Create, ALanesOwnStartingTaskAndAKernelsTemplateAreTasksApart) {
  setenv("AKO_TEMPLATES", AKO_SOURCE_DIR "/templates", 1);
  const auto paths = [](const std::string& which) {
    std::string all;
    const auto files = workspace::starting_files(which, "n").value();
    for (const auto& file : files) all += file.path + " ";
    return all;
  };
  EXPECT_EQ(paths("cpu"), "input/kernel.cpp input/reference.cpp solution/kernel.cpp task.toml ");
  EXPECT_EQ(paths("cpu/norm"),
            "NOTES.md input/kernel.cpp input/reference.cpp solution/kernel.cpp task.toml ");
  EXPECT_FALSE(workspace::starting_files("cpu/nothing", "n"));
}

TEST(Create, AWorktreeBesideACleanAko4all) {
  ScratchRepo harness("");
  put(harness.top() / "README.md", "harness");
  put(harness.top() / "solution/theirs.txt", "harness");
  harness.git("add -A && git commit -qm h");
  const fs::path base_dir = harness.top().parent_path();
  fs::rename(harness.top(), base_dir / "AKO4ALL");
  const std::string head = shell(base_dir / "AKO4ALL", "git rev-parse HEAD");
  auto created = workspace::create_task(request(base_dir, "axpy"));
  ASSERT_TRUE(created) << created.error().text();
  EXPECT_TRUE(created->in_ako4all);
  EXPECT_EQ(created->branch, "ako/axpy");
  EXPECT_EQ(created->task, base_dir / "AKO4ALL-axpy" / "axpy");
  EXPECT_EQ(shell(base_dir / "AKO4ALL", "git status --porcelain --ignored; git rev-parse HEAD"),
            head);
  EXPECT_EQ(shell(created->task, "git status --porcelain; git branch --show-current"),
            "ako/axpy\n");
  auto again = workspace::create_task(request(base_dir, "axpy"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, base::ErrorKind::refused);
}

TEST(Create, NeverTouchesWhatIsThere) {
  auto dir = base::TemporaryDir::make("ako-test-").value();
  put(dir.path() / "axpy/mine.txt", "mine");
  auto created = workspace::create_task(request(dir.path(), "axpy"));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().kind, base::ErrorKind::refused);
  EXPECT_EQ(get(dir.path() / "axpy/mine.txt"), "mine");
}

TEST(Create, LeavesNothingBehindWhenALaterStepFails) {
  auto dir = base::TemporaryDir::make("ako-test-").value();
  auto wanted = request(dir.path(), "axpy");
  wanted.files.push_back({"input/kernel.cpp/below-a-file.txt", "x", false});
  auto created = workspace::create_task(wanted);
  ASSERT_FALSE(created);
  EXPECT_FALSE(fs::exists(dir.path() / "axpy"));
}

TEST(Create, RefusesNamesThatAreNone) {
  auto dir = base::TemporaryDir::make("ako-test-").value();
  for (const char* name : {"", ".", "..", "a/b", "-x", "ä", "a b", "x.lock", "a..b"}) {
    auto wanted = request(dir.path(), "ok");
    wanted.name = name;
    auto created = workspace::create_task(wanted);
    ASSERT_FALSE(created) << name;
    EXPECT_EQ(created.error().kind, base::ErrorKind::usage) << name;
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(Create, AnUnknownLaneHasNoStartingTask) {
  setenv("AKO_TEMPLATES", AKO_SOURCE_DIR "/templates", 1);
  auto none = workspace::starting_files("abacus", "x");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::usage);
  for (const char* lane : {"cpu", "cuda", "triton"})
    EXPECT_NE(none.error().allowed.find(lane), std::string::npos) << none.error().allowed;
  auto slip = workspace::starting_files("cdua", "x");
  ASSERT_FALSE(slip);
  EXPECT_EQ(slip.error().next, "did you mean 'cuda'?");
}

TEST(Create, ALaneIsAWordAndNoPath) {
  setenv("AKO_TEMPLATES", AKO_SOURCE_DIR "/templates", 1);
  for (const char* path : {"../examples/cpu/rmsnorm_bf16", "cpu/../cuda", "cpu/..", ".",
                           "cpu/norm/x", "", AKO_SOURCE_DIR "/templates/cpu", "cpu/input"}) {
    auto files = workspace::starting_files(path, "x");
    ASSERT_FALSE(files) << path;
    EXPECT_EQ(files.error().kind, base::ErrorKind::usage) << path;
  }
  EXPECT_TRUE(workspace::starting_files("cpu", "x"));
  EXPECT_TRUE(workspace::starting_files("cpu/norm", "x"));
}

} // namespace
} // namespace ako::test
