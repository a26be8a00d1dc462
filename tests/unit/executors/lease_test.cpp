#include "executors/lease.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ako::test {
namespace {

using executors::Lease;
using executors::LeaseRequest;

class LeaseTest : public testing::Test {
protected:
  LeaseRequest request(double seconds) const {
    LeaseRequest wanted;
    wanted.dir = m_dir.path();
    wanted.deadline = base::Deadline::after_seconds(seconds);
    return wanted;
  }
  base::TemporaryDir m_dir = base::TemporaryDir::make("ako-test-").value();
};

TEST_F(LeaseTest, OneHolderAtATimeAndTheOtherIsTold) {
  auto first = Lease::take(request(1));
  ASSERT_TRUE(first) << first.error().text();
  std::vector<std::string> told;
  auto wanted = request(0.2);
  wanted.on_wait = [&](const std::string& text) { told.push_back(text); };
  const auto second = Lease::take(wanted);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, base::ErrorKind::timeout);
  EXPECT_NE(second.error().found.find(std::to_string(getpid())), std::string::npos);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("waiting for cpu"), std::string::npos);
}

TEST_F(LeaseTest, ItIsHandedOnWhenGivenBack) {
  auto first = Lease::take(request(1));
  ASSERT_TRUE(first);
  std::thread giver([&] {
    usleep(150'000);
    Lease gone = std::move(*first);
  });
  auto second = Lease::take(request(20));
  giver.join();
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_GT(second->waited_ns(), 50'000'000);
}

TEST_F(LeaseTest, ADeadHolderGivesItBack) {
  const pid_t child = fork();
  if (child == 0) {
    auto held = Lease::take(request(5));
    _exit(held ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(Lease::take(request(1)));
}

TEST_F(LeaseTest, DevicesDoNotShareALock) {
  auto first = Lease::take(request(1));
  auto wanted = request(0.2);
  wanted.device = "gpu-1";
  EXPECT_TRUE(Lease::take(wanted));
}

TEST_F(LeaseTest, WaitingCanBeGivenUp) {
  auto first = Lease::take(request(1));
  auto wanted = request(60);
  wanted.stop = [] { return true; };
  const auto second = Lease::take(wanted);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, base::ErrorKind::interrupted);
}

TEST_F(LeaseTest, NoLinkIsFollowedAndNoSpecialFileTaken) {
  const auto lock = m_dir.path() / "ako-measuring-cpu.lock";
  const auto victim = m_dir.path() / "victim";
  ASSERT_TRUE(base::write_file_atomic(victim, "precious"));
  base::fs::create_symlink(victim, lock);
  EXPECT_FALSE(Lease::take(request(0.2)));
  EXPECT_EQ(base::read_file(victim).value(), "precious");
  base::fs::remove(lock);
  ASSERT_EQ(mkfifo(lock.c_str(), 0600), 0);
  EXPECT_FALSE(Lease::take(request(0.2)));
}

TEST(RuntimeDir, AFolderThatIsNoneIsNamed) {
  setenv("AKO_RUNTIME_DIR", "/no/such/folder", 1);
  const auto dir = executors::runtime_dir();
  unsetenv("AKO_RUNTIME_DIR");
  ASSERT_FALSE(dir);
  EXPECT_EQ(dir.error().kind, base::ErrorKind::environment);
  EXPECT_EQ(dir.error().where, "/no/such/folder");
  EXPECT_TRUE(executors::runtime_dir());
}

} // namespace
} // namespace ako::test
