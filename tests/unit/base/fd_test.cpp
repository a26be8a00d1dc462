#include "base/fd.hpp"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ako::base {
namespace {

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesOnceAndOnMove) {
  auto pair = make_pipe();
  ASSERT_TRUE(pair);
  const int first = pair->first.get(), second = pair->second.get();
  EXPECT_TRUE((fcntl(first, F_GETFD) & FD_CLOEXEC) != 0);
  pair->first = std::move(pair->second);
  EXPECT_FALSE(is_open(first));
  EXPECT_TRUE(is_open(second));
  pair->first.reset();
  EXPECT_FALSE(is_open(second));
  EXPECT_FALSE(pair->first);
}

TEST(Fd, WholeMessagesPassThroughSmallPipes) {
  for (auto make : {make_pipe, make_socket_pair}) {
    auto pair = make();
    ASSERT_TRUE(pair);
    std::vector<std::byte> sent(3'000'000), got(sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 251);
    std::thread writer(
        [&] { EXPECT_TRUE(write_all(pair->second.get(), sent, Deadline::after_seconds(60))); });
    EXPECT_TRUE(read_all(pair->first.get(), got, Deadline::after_seconds(60)));
    writer.join();
    EXPECT_EQ(sent, got);
  }
}

TEST(Fd, AFullPipeAndAnEmptyOneMeetTheirDeadline) {
  for (auto make : {make_pipe, make_socket_pair}) {
    auto pair = make();
    ASSERT_TRUE(pair);
    std::vector<std::byte> bytes(8'000'000);
    const auto full = write_all(pair->second.get(), bytes, Deadline::after_seconds(0.1));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, ErrorKind::timeout);
    auto other = make();
    const auto empty = read_all(other->first.get(), bytes, Deadline::after_seconds(0.1));
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().kind, ErrorKind::timeout);
  }
}

TEST(Fd, AClosedEndIsAnErrorAndNoSignal) {
  for (auto make : {make_pipe, make_socket_pair}) {
    auto pair = make();
    ASSERT_TRUE(pair);
    std::byte bytes[4] = {};
    pair->first.reset();
    const auto broken = write_all(pair->second.get(), bytes, Deadline::after_seconds(10));
    ASSERT_FALSE(broken) << "and the process is still here, with SIGPIPE at its default";
    EXPECT_EQ(broken.error().kind, ErrorKind::io);
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
    auto other = make();
    other->second.reset();
    const auto ended = read_all(other->first.get(), bytes, Deadline::after_seconds(10));
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().found, "end of stream");
  }
}

TEST(Fd, DescriptorsPassAndKeepTheirFile) {
  auto channel = make_socket_pair();
  auto pipe = make_pipe();
  ASSERT_TRUE(channel && pipe);
  const int both[] = {pipe->first.get(), pipe->second.get()};
  ASSERT_TRUE(send_fds(channel->first.get(), both, Deadline::after_seconds(10)));
  auto got = receive_fds(channel->second.get(), 2, Deadline::after_seconds(10));
  ASSERT_TRUE(got) << got.error().text();
  ASSERT_EQ(got->size(), 2u);
  EXPECT_TRUE((fcntl((*got)[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  ASSERT_EQ(write((*got)[1].get(), "q", 1), 1);
  char byte = 0;
  ASSERT_EQ(read(pipe->first.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'q');
}

int open_count() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += is_open(fd) ? 1 : 0;
  return count;
}

TEST(Fd, MoreDescriptorsThanAskedForAreRefusedAndClosed) {
  auto channel = make_socket_pair();
  ASSERT_TRUE(channel);
  const int before = open_count();
  const int three[] = {0, 1, 2};
  ASSERT_TRUE(send_fds(channel->first.get(), three, Deadline::after_seconds(10)));
  const auto got = receive_fds(channel->second.get(), 2, Deadline::after_seconds(10));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::invalid);
  EXPECT_EQ(open_count(), before);
}

TEST(Fd, APlainByteCarriesNoDescriptors) {
  auto channel = make_socket_pair();
  ASSERT_TRUE(channel);
  ASSERT_EQ(write(channel->first.get(), "f", 1), 1);
  const auto none = receive_fds(channel->second.get(), 2, Deadline::after_seconds(10));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::invalid);
  channel->first.reset();
  const auto ended = receive_fds(channel->second.get(), 2, Deadline::after_seconds(10));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().found, "end of stream");
  const auto nothing = send_fds(channel->second.get(), {}, Deadline::after_seconds(10));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::invalid);
}

TEST(Memfd, IsZeroReservedAndOfFixedSize) {
  const auto fd = make_memfd("test", 1u << 20);
  ASSERT_TRUE(fd) << fd.error().text();
  struct stat info {};
  ASSERT_EQ(fstat(fd->get(), &info), 0);
  EXPECT_EQ(info.st_size, 1 << 20);
  EXPECT_EQ(info.st_blocks * 512, 1 << 20) << "pages are there before anybody writes";
  EXPECT_NE(ftruncate(fd->get(), 4096), 0) << "nobody shrinks it under the others' feet";
  EXPECT_NE(ftruncate(fd->get(), 4 << 20), 0);
  char byte = 1;
  ASSERT_EQ(pread(fd->get(), &byte, 1, 1000), 1);
  EXPECT_EQ(byte, 0);
  EXPECT_TRUE(make_memfd("empty", 0));
}

TEST(Memfd, MoreThanThereIsIsRefusedBeforeAnythingIsTaken) {
  const auto fd = make_memfd("huge", std::size_t{1} << 50);
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().kind, ErrorKind::environment);
  EXPECT_NE(fd.error().found.find("1125899906842624 bytes wanted"), std::string::npos)
      << fd.error().text();
}

} // namespace
} // namespace ako::base
