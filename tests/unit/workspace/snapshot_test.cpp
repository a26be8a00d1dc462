#include "scratch_repo.hpp"
#include "workspace/snapshot.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::test {
namespace {

model::Contract contract_of(std::vector<std::string> sources = {}) {
  model::Contract contract;
  contract.kernel.entry.file = "solution/k.cpp";
  contract.kernel.sources = std::move(sources);
  return contract;
}

TEST(Snapshot, NamesPathsAndBytesAndNothingElse) {
  ScratchRepo repo;
  repo.add_task();
  const auto first = workspace::take_snapshot(repo.workdir(), contract_of()).value();
  put(repo.task() / "solution/k.o", "object");
  put(repo.task() / "solution/.k.cpp.swp", "editor");
  put(repo.task() / "solution/__pycache__/x.pyc", "cache");
  EXPECT_EQ(workspace::take_snapshot(repo.workdir(), contract_of())->snapshot.hash,
            first.snapshot.hash);
  put(repo.task() / "solution/h.hpp", "int h;\n");
  const auto second = workspace::take_snapshot(repo.workdir(), contract_of()).value();
  EXPECT_NE(second.snapshot.hash, first.snapshot.hash);
  fs::rename(repo.task() / "solution/h.hpp", repo.task() / "solution/i.hpp");
  EXPECT_NE(workspace::take_snapshot(repo.workdir(), contract_of())->snapshot.hash,
            second.snapshot.hash);
}

TEST(Snapshot, SaysWhatIsWrongWithASource) {
  const auto attempt = [](auto spoil, const std::string& path, const std::string& words,
                          std::vector<std::string> sources = {}) {
    ScratchRepo repo;
    repo.add_task();
    spoil(repo.task());
    auto snapshot = workspace::take_snapshot(repo.workdir(), contract_of(std::move(sources)));
    ASSERT_FALSE(snapshot) << path;
    EXPECT_EQ(snapshot.error().kind, base::ErrorKind::invalid) << snapshot.error().text();
    EXPECT_NE(snapshot.error().where.find(path), std::string::npos) << snapshot.error().text();
    EXPECT_NE(snapshot.error().text().find(words), std::string::npos) << snapshot.error().text();
    EXPECT_FALSE(snapshot.error().next.empty());
  };
  attempt([](const fs::path& task) { fs::create_symlink("/etc/passwd", task / "solution/p.h"); },
          "solution/p.h", "leads out");
  attempt([](const fs::path& task) { fs::create_symlink("nowhere", task / "solution/p.h"); },
          "solution/p.h", "leads out");
  attempt([](const fs::path& task) { mkfifo((task / "solution/pipe").c_str(), 0600); },
          "solution/pipe", "a pipe");
  attempt(
      [](const fs::path& task) { // 2 GB that take no room: it must not be read either
        const int fd = open((task / "solution/big.cpp").c_str(), O_CREAT | O_WRONLY, 0600);
        ASSERT_EQ(ftruncate(fd, 2ll << 30), 0);
        close(fd);
      },
      "solution/big.cpp", "2147483648 bytes");
  attempt([](const fs::path& task) { fs::remove(task / "solution/k.cpp"); }, "solution/k.cpp",
          "not there");
  attempt([](const fs::path&) {}, "solution/more.cpp", "not there", {"solution/more.cpp"});
  attempt([](const fs::path&) {}, "../repo/x.cpp", "leads out", {"../repo/x.cpp"});
}

TEST(Snapshot, AnUnreadableSourceIsNamed) {
  ScratchRepo repo;
  repo.add_task();
  chmod((repo.task() / "solution/k.cpp").c_str(), 0);
  // root reads everything: act as somebody else for the length of the call
  const bool root = geteuid() == 0;
  if (root) {
    for (fs::path at = repo.task(); at != "/tmp" && at != "/"; at = at.parent_path())
      chmod(at.c_str(), 0755);
    ASSERT_EQ(seteuid(65534), 0);
  }
  auto snapshot = workspace::take_snapshot(repo.workdir(), contract_of());
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().where, "solution/k.cpp");
  EXPECT_NE(snapshot.error().text().find("could not be read"), std::string::npos);
}

TEST(Snapshot, ALinkInsideTheTaskIsItsContent) {
  ScratchRepo repo;
  repo.add_task();
  fs::create_symlink("../input/ref.cpp", repo.task() / "solution/ref.cpp");
  const auto snapshot = workspace::take_snapshot(repo.workdir(), contract_of()).value();
  ASSERT_NE(snapshot.find("solution/ref.cpp"), nullptr);
  EXPECT_EQ(snapshot.find("solution/ref.cpp")->content, "int ref;\n");
}

TEST(Snapshot, KeptInGitAndReadBackByteForByte) {
  ScratchRepo repo;
  repo.add_task();
  put(repo.task() / "solution/ä \"q\".h", std::string("zero\0byte\r\nno end", 17));
  put(repo.task() / "solution/run.sh", "");
  chmod((repo.task() / "solution/run.sh").c_str(), 0755);
  const auto sources = workspace::take_snapshot(repo.workdir(), contract_of()).value();
  auto tree = workspace::keep_snapshot(repo.workdir(), sources, "iter-7");
  ASSERT_TRUE(tree) << tree.error().text();
  repo.git("gc -q --prune=now");
  for (const std::string& name : {std::string("iter-7"), *tree}) {
    auto back = workspace::read_snapshot(repo.workdir(), name);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->snapshot.hash, sources.snapshot.hash);
    EXPECT_EQ(back->snapshot.git_tree, *tree);
    EXPECT_TRUE(back->find("solution/run.sh")->executable);
    EXPECT_FALSE(back->find("solution/k.cpp")->executable);
  }
  EXPECT_EQ(repo.git("for-each-ref --format='%(refname)' refs/ako"), "refs/ako/task/iter-7\n");
}

TEST(Snapshot, AnUnknownCandidateIsSaidSo) {
  ScratchRepo repo;
  repo.add_task();
  for (const char* name : {"iter-99", "--all", ""})
    EXPECT_FALSE(workspace::read_snapshot(repo.workdir(), name)) << name;
}

TEST(Workdir, IsFoundFromBelowAndItsAbsenceNamed) {
  ScratchRepo repo("deep/er");
  repo.add_task();
  fs::create_directories(repo.task() / "solution/sub");
  const auto found = workspace::Workdir::find(repo.task() / "solution/sub").value();
  EXPECT_EQ(found.task(), fs::canonical(repo.task()));
  EXPECT_EQ(found.records()->filename(), "deep+er");
  EXPECT_EQ(found.ref_prefix().value(), "refs/ako/deep+er/");
  auto none = workspace::Workdir::find("/");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::usage);
  EXPECT_NE(none.error().next.find("ako new"), std::string::npos);
}

TEST(Workdir, ToAskWhereRecordsLieMakesNothing) {
  ScratchRepo repo;
  repo.add_task();
  const auto workdir = repo.workdir();
  EXPECT_TRUE(workdir.records() && workdir.ledger() && workdir.lock());
  EXPECT_FALSE(fs::exists(repo.top() / ".git/ako"));
}

TEST(Workdir, RecordsFollowARenamedFolder) {
  ScratchRepo repo("");
  repo.add_task();
  put(repo.workdir().ledger().value(), "record");
  const fs::path moved = repo.top().parent_path() / "räumlich";
  fs::rename(repo.top(), moved);
  const auto workdir = workspace::Workdir::at(moved).value();
  EXPECT_EQ(get(workdir.ledger().value()), "record");
}

TEST(Workdir, OutsideOfGitIsAnErrorOfTheSurroundings) {
  auto dir = base::TemporaryDir::make("ako-test-").value();
  const auto workdir = workspace::Workdir::at(dir.path()).value();
  auto records = workdir.records();
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().kind, base::ErrorKind::environment);
}

} // namespace
} // namespace ako::test
