#include "base/frame.hpp"

#include "base/fd.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <unistd.h>

namespace ako::base {
namespace {

void put_raw(int fd, const std::string& bytes) {
  ASSERT_TRUE(write_all(fd, std::as_bytes(std::span(bytes)), Deadline::after_seconds(10)));
}

Expected<Frame> received(const std::string& stream) {
  auto pair = make_socket_pair();
  std::thread writer([&] {
    put_raw(pair->second.get(), stream);
    pair->second.reset();
  });
  auto frame = receive_frame(pair->first.get(), Deadline::after_seconds(10));
  pair->first.reset();
  writer.join();
  return frame;
}

TEST(Frame, TheBytesAreThoseOfTheGrammar) {
  const std::string bytes = encode_frame({0x0102, 0x0304, 0x05060708090a0b0c, "xy"});
  EXPECT_EQ(bytes, std::string("\x02\0\0\0\x02\x01\x04\x03\x0c\x0b\x0a\x09\x08\x07\x06\x05xy", 18));
}

TEST(Frame, PassesUnchangedAtEverySize) {
  auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536},
                                 std::size_t{3'000'001}, std::size_t{k_max_payload}}) {
    const Frame sent{7, 9, size, std::string(size, static_cast<char>(size))};
    std::thread writer(
        [&] { EXPECT_TRUE(send_frame(pair->second.get(), sent, Deadline::after_seconds(60))); });
    const auto got = receive_frame(pair->first.get(), Deadline::after_seconds(60));
    writer.join();
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->kind, 7);
    EXPECT_EQ(got->flags, 9);
    EXPECT_EQ(got->id, size);
    EXPECT_EQ(got->payload, sent.payload);
  }
}

TEST(Frame, ArrivesWholeWhenItTricklesByteByByte) {
  auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  const std::string bytes = encode_frame({1, 2, 3, "payload"}) + encode_frame({4, 5, 6, ""});
  std::thread writer([&] {
    for (const char byte : bytes) {
      ASSERT_EQ(write(pair->second.get(), &byte, 1), 1);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  const auto first = receive_frame(pair->first.get(), Deadline::after_seconds(30));
  const auto second = receive_frame(pair->first.get(), Deadline::after_seconds(30));
  writer.join();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->payload, "payload");
  EXPECT_EQ(second->id, 6u);
}

TEST(Frame, AnEndBetweenFramesIsNotAnEndInsideOne) {
  const std::string whole = encode_frame({1, 2, 3, "payload"});
  const auto clean = received("");
  ASSERT_FALSE(clean);
  EXPECT_EQ(clean.error().kind, ErrorKind::io);
  EXPECT_EQ(clean.error().found, "end of stream");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    const auto torn = received(whole.substr(0, cut));
    ASSERT_FALSE(torn) << cut;
    EXPECT_EQ(torn.error().kind, ErrorKind::invalid) << cut;
  }
  EXPECT_TRUE(received(whole));
}

TEST(Frame, TooLongIsRefusedAtBothEnds) {
  std::string bytes = encode_frame({1, 2, 3, ""});
  const std::uint32_t length = k_max_payload + 1;
  std::memcpy(bytes.data(), &length, sizeof length);
  const auto forged = received(bytes);
  ASSERT_FALSE(forged);
  EXPECT_EQ(forged.error().kind, ErrorKind::invalid);
  EXPECT_EQ(forged.error().found, "16777217 bytes");
  auto pair = make_socket_pair();
  const auto sent = send_frame(pair->first.get(), {1, 2, 3, std::string(length, 'x')},
                               Deadline::after_seconds(10));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::invalid);
}

TEST(Frame, AStalledSenderMeetsTheDeadline) {
  auto pair = make_socket_pair();
  ASSERT_TRUE(pair);
  put_raw(pair->second.get(), encode_frame({1, 2, 3, "payload"}).substr(0, 18));
  const auto late = receive_frame(pair->first.get(), Deadline::after_seconds(0.1));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::timeout);
}

TEST(Frame, RandomStreamsAreEitherFramesOrErrors) {
  std::mt19937_64 random(20260131);
  int whole = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string stream;
    for (std::uint64_t i = 0, n = random() % 64; i < n; ++i) stream += static_cast<char>(random());
    if (round % 2 == 0 && stream.size() >= 4) { // half of them with a plausible length
      const std::uint32_t length = static_cast<std::uint32_t>(random() % 48);
      std::memcpy(stream.data(), &length, sizeof length);
    }
    const auto frame = received(stream);
    if (!frame) {
      ++refused;
      continue;
    }
    ++whole;
    const std::string again = encode_frame(*frame);
    EXPECT_EQ(again, stream.substr(0, again.size()));
  }
  EXPECT_GT(whole, 20);
  EXPECT_GT(refused, 100);
}

} // namespace
} // namespace ako::base
