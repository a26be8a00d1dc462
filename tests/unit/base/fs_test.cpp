#include "base/fs.hpp"

#include "../../fakes/killed_writer.hpp"
#include "base/fd.hpp"
#include "base/unfinished.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ako::base {
namespace {

class Files : public testing::Test {
protected:
  TemporaryDir m_dir = TemporaryDir::make("ako-fs test ü").value();
  fs::path root() const { return fs::canonical(m_dir.path()); }
};

TEST_F(Files, AreReadWholeOrRefused) {
  const fs::path path = root() / "deep/er/f";
  ASSERT_TRUE(write_file_atomic(path, std::string("a\0b\n", 4)));
  EXPECT_EQ(read_file(path).value(), std::string("a\0b\n", 4));
  EXPECT_EQ(read_file(path, 4).value().size(), 4u);
  const auto large = read_file(path, 3);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::invalid);
  EXPECT_FALSE(read_file("/dev/zero")) << "a device has no end";
  const auto absent = read_file(root() / "absent");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::io);
  EXPECT_FALSE(read_file(root()));
  EXPECT_FALSE(read_file("/proc/self/status").value().empty()) << "files that claim size 0";
  ASSERT_EQ(mkfifo((root() / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(root() / "fifo")) << "and does not wait for a writer";
  fs::create_symlink("f", root() / "deep/er/link");
  EXPECT_TRUE(read_file(root() / "deep/er/link"));
}

TEST_F(Files, AHugeFileIsNotReadAtAll) {
  const fs::path path = root() / "huge";
  ASSERT_TRUE(write_file_atomic(path, ""));
  fs::resize_file(path, std::uintmax_t{2} << 30);
  const auto content = read_file(path, 64u << 20);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().found, "2147483648 bytes");
}

TEST_F(Files, WritingReplacesWholeAndLeavesNothingBehind) {
  const fs::path path = root() / "f";
  ASSERT_TRUE(write_file_atomic(path, "one"));
  chmod(path.c_str(), 0640);
  ASSERT_TRUE(write_file_atomic(path, "two"));
  EXPECT_EQ(read_file(path).value(), "two");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u) << "rights stay";
  EXPECT_EQ(list_files(root()).value(), std::vector<fs::path>{"f"});
  fs::create_directory(root() / "folder");
  EXPECT_FALSE(write_file_atomic(root() / "folder", "x"));
  EXPECT_FALSE(write_file_atomic(root() / "f/below", "x")) << "a file is no folder";
  EXPECT_EQ(list_files(root()).value(), std::vector<fs::path>{"f"}) << "after failures too";
}

TEST_F(Files, WhatAKilledWriterLeftIsSweptAndNothingElse) {
  for (const char* name :
       {"k.cpp", ".k.cpp.tmp", ".notes.2-b.tmp", ".7-1.tmp", "k.12-3.tmp", ".a.-.x"})
    ASSERT_TRUE(write_file_atomic(root() / name, "mine"));
  const auto mine = list_files(root()).value();
  test::killed_while_writing(1000, [&] {
    static_cast<void>(write_file_atomic(root() / "k.cpp", std::string(5000, 'x')));
  });
  ASSERT_EQ(list_files(root())->size(), mine.size() + 1);
  EXPECT_EQ(read_file(root() / "k.cpp").value(), "mine");
  EXPECT_EQ(sweep_unfinished(root()), 1);
  EXPECT_EQ(list_files(root()).value(), mine);
  EXPECT_EQ(sweep_unfinished(root()), 0);
  EXPECT_EQ(sweep_unfinished(root() / "absent"), 0);
}

int g_told = -1;

TEST_F(Files, WhatALivingProcessWritesIsNotSwept) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  g_told = pipe->second.get();
  const pid_t writer = fork();
  if (writer == 0) { // stops in the middle of the write
    signal(SIGXFSZ, [](int) {
      const ssize_t ignored = write(g_told, "x", 1);
      static_cast<void>(ignored);
      for (;;) pause();
    });
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    static_cast<void>(write_file_atomic(root() / "f", std::string(5000, 'x')));
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(pipe->first.get(), &byte, 1), 1);
  EXPECT_EQ(sweep_unfinished(root()), 0);
  EXPECT_EQ(list_files(root())->size(), 1u);
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  EXPECT_EQ(sweep_unfinished(root()), 1);
}

TEST_F(Files, WritersAndSweepersDoNotDisturbOneAnother) {
  std::atomic<bool> done{false};
  std::thread sweeper([&] {
    while (!done) sweep_unfinished(root());
  });
  for (int i = 0; i < 300; ++i) {
    const auto wrote = write_file_atomic(root() / "f", std::to_string(i));
    ASSERT_TRUE(wrote) << wrote.error().text();
    ASSERT_EQ(read_file(root() / "f").value(), std::to_string(i));
  }
  done = true;
  sweeper.join();
  EXPECT_EQ(list_files(root()).value(), std::vector<fs::path>{"f"});
}

TEST_F(Files, ReadersNeverSeeHalfAFile) {
  const fs::path path = root() / "f";
  const std::string a(200'000, 'a'), b(200'000, 'b');
  ASSERT_TRUE(write_file_atomic(path, a));
  std::thread writer([&] {
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(write_file_atomic(path, i % 2 == 0 ? b : a));
  });
  for (int i = 0; i < 400; ++i) {
    const auto content = read_file(path);
    ASSERT_TRUE(content);
    ASSERT_TRUE(*content == a || *content == b);
  }
  writer.join();
}

TEST_F(Files, AreListedSortedWithoutLinks) {
  for (const char* name : {"b", "a/z", "a/y"}) ASSERT_TRUE(write_file_atomic(root() / name, ""));
  fs::create_directory_symlink("/etc", root() / "link");
  fs::create_symlink("b", root() / "c");
  EXPECT_EQ(list_files(root()).value(), (std::vector<fs::path>{"a/y", "a/z", "b"}));
  EXPECT_FALSE(list_files(root() / "absent"));
}

TEST_F(Files, RemovingStaysInside) {
  const fs::path inside = root() / "in", outside = root() / "out";
  ASSERT_TRUE(write_file_atomic(inside / "tree/f", ""));
  ASSERT_TRUE(write_file_atomic(outside / "f", ""));
  fs::create_directory_symlink(outside, inside / "link");
  EXPECT_FALSE(remove_tree("/", "/"));
  EXPECT_FALSE(remove_tree(outside, inside));
  EXPECT_FALSE(remove_tree(inside, inside));
  EXPECT_FALSE(remove_tree(inside / "..", inside));
  EXPECT_FALSE(remove_tree(inside / "link/f", inside)) << "through a link to the outside";
  EXPECT_FALSE(remove_tree(inside.string() + "/tree/../../out", inside));
  EXPECT_TRUE(fs::exists(outside / "f"));
  EXPECT_TRUE(remove_tree(inside / "link", inside)) << "the link goes";
  EXPECT_TRUE(fs::exists(outside / "f")) << "and what it points at stays";
  EXPECT_TRUE(remove_tree(inside / "tree", inside));
  EXPECT_FALSE(fs::exists(inside / "tree"));
  EXPECT_TRUE(remove_tree(inside / "tree", inside)) << "gone already";
}

TEST_F(Files, TheHomeFolderIsNeverRemoved) {
  const fs::path home = root() / "users/me";
  ASSERT_TRUE(make_dirs(home));
  ASSERT_TRUE(make_dirs(root() / "users/you"));
  const char* old = std::getenv("HOME");
  const std::string before = old != nullptr ? old : "";
  setenv("HOME", home.c_str(), 1);
  EXPECT_FALSE(remove_tree(home, root()));
  EXPECT_FALSE(remove_tree(root() / "users", root())) << "nor a folder that holds it";
  EXPECT_TRUE(remove_tree(root() / "users/you", root()));
  setenv("HOME", before.c_str(), 1);
  EXPECT_TRUE(fs::exists(home));
}

TEST_F(Files, PathsResolveInsideOrNotAtAll) {
  const fs::path inside = root() / "in";
  ASSERT_TRUE(write_file_atomic(inside / "a/f", ""));
  ASSERT_TRUE(write_file_atomic(root() / "secret", ""));
  fs::create_directory_symlink("a", inside / "good");
  fs::create_directory_symlink("..", inside / "bad");
  fs::create_symlink("/etc/passwd", inside / "worse");
  fs::create_symlink("../not-yet", inside / "dangling");
  fs::create_symlink("loop", inside / "loop");
  EXPECT_EQ(resolve_inside(inside, "a/f").value(), inside / "a/f");
  EXPECT_EQ(resolve_inside(inside, "good/f").value(), inside / "a/f");
  EXPECT_EQ(resolve_inside(inside, "new/file").value(), inside / "new/file");
  EXPECT_EQ(resolve_inside(inside, "./a/./f").value(), inside / "a/f");
  for (const char* path : {"", "/etc/passwd", "..", "a/../../secret", "a/..", "bad/secret", "worse",
                           "dangling", "loop"}) {
    const auto resolved = resolve_inside(inside, path);
    ASSERT_FALSE(resolved) << path;
    EXPECT_EQ(resolved.error().kind, ErrorKind::invalid) << path;
  }
  EXPECT_FALSE(resolve_inside(inside, std::string("a\0b", 3)));
  // A neighbour whose name begins alike is not inside.
  ASSERT_TRUE(write_file_atomic(root() / "in2/f", ""));
  fs::create_symlink("../in2/f", inside / "alike");
  EXPECT_FALSE(resolve_inside(inside, "alike"));
}

TEST_F(Files, PlacesAreKnown) {
  EXPECT_GT(free_bytes(root()), 0u);
  EXPECT_GT(free_bytes(root() / "not/yet"), 0u) << "asked before a folder is made";
  EXPECT_FALSE(on_network_file_system("/proc/self"));
  for (const std::uint64_t type : {0x6969u, 0xff534d42u, 0x01021997u, 0x65735546u})
    EXPECT_TRUE(is_network_type(type)) << type;
  for (const std::uint64_t type : {0xef53u, 0x01021994u, 0x9123683eu, 0x58465342u})
    EXPECT_FALSE(is_network_type(type)) << "ext4, tmpfs, btrfs, xfs";
  EXPECT_TRUE(is_network_type(0xffffffffff534d42u)) << "a sign-extended number";
}

TEST(TemporaryDir, IsPrivateAndGoesWithItsContent) {
  fs::path path;
  {
    auto dir = TemporaryDir::make("ako-tmp").value();
    path = dir.path();
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    ASSERT_TRUE(write_file_atomic(path / "a/b", "x"));
    TemporaryDir moved = std::move(dir);
    EXPECT_EQ(moved.path(), path);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Files, ALockIsHeldByOneAndNamesItsHolder) {
  const fs::path path = root() / "locks/l";
  {
    auto held = FileLock::take(path, FileLock::Wait::no);
    ASSERT_TRUE(held);
    const auto refused = FileLock::take(path, FileLock::Wait::no);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::refused);
    EXPECT_EQ(refused.error().found, "process " + std::to_string(getpid()));
    FileLock moved = std::move(*held);
    EXPECT_FALSE(FileLock::take(path, FileLock::Wait::no)) << "a moved lock is still held";
  }
  EXPECT_TRUE(FileLock::take(path, FileLock::Wait::no));
}

TEST_F(Files, SixtyFourProcessesCountThroughOneLock) {
  const fs::path lock = root() / "lock", count = root() / "count";
  ASSERT_TRUE(write_file_atomic(count, "0"));
  constexpr int k_processes = 64;
  for (int i = 0; i < k_processes; ++i) {
    if (fork() != 0) continue;
    auto held = FileLock::take(lock, FileLock::Wait::yes);
    const auto text = held ? read_file(count) : Expected<std::string>("x");
    const bool ok =
        held && write_file_atomic(count, std::to_string(std::stoi(*text) + 1)).has_value();
    _exit(ok ? 0 : 1);
  }
  for (int i = 0; i < k_processes; ++i) {
    int status = 1;
    ASSERT_GT(wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read_file(count).value(), "64");
}

TEST_F(Files, AKilledHolderLeavesTheLockFree) {
  const fs::path lock = root() / "lock";
  const pid_t child = fork();
  if (child == 0) {
    auto held = FileLock::take(lock, FileLock::Wait::no);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(FileLock::take(lock, FileLock::Wait::no));
}

} // namespace
} // namespace ako::base
