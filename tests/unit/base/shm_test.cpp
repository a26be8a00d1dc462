#include "base/fd.hpp"
#include "base/shm.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::base {
namespace {

constexpr std::size_t k_bytes = 1u << 16;
constexpr std::uint64_t k_address = 0x5a0000000000;

TEST(Mapping, IsSharedAtOneAddressBetweenProcesses) {
  const auto fd = make_memfd("shared", k_bytes);
  ASSERT_TRUE(fd);
  const pid_t child = fork();
  if (child == 0) {
    auto mapping = Mapping::map(fd->get(), k_bytes, k_address, Access::read_write);
    if (!mapping) _exit(1);
    *reinterpret_cast<std::byte**>(mapping->data()) = mapping->data() + 8;
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto mapping = Mapping::map(fd->get(), k_bytes, k_address, Access::read);
  ASSERT_TRUE(mapping) << mapping.error().text();
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(mapping->data()), k_address);
  EXPECT_EQ(*reinterpret_cast<std::byte**>(mapping->data()), mapping->data() + 8)
      << "a pointer means the same here";
}

TEST(Mapping, ATakenAddressIsRefusedAndUntouched) {
  const auto fd = make_memfd("one", k_bytes);
  const auto other = make_memfd("two", k_bytes);
  ASSERT_TRUE(fd && other);
  auto first = Mapping::map(fd->get(), k_bytes, k_address, Access::read_write);
  ASSERT_TRUE(first);
  first->data()[4096] = std::byte{42};
  const auto second = Mapping::map(other->get(), k_bytes, k_address, Access::read_write);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::environment);
  EXPECT_EQ(first->data()[4096], std::byte{42});
  *first = Mapping();
  EXPECT_TRUE(Mapping::map(other->get(), k_bytes, k_address, Access::read_write))
      << "free again once the first is gone";
}

TEST(Mapping, UnlawfulRequestsAreErrorsNotFaults) {
  const auto fd = make_memfd("small", k_bytes);
  ASSERT_TRUE(fd);
  for (const auto& [bytes, address] :
       {std::pair<std::size_t, std::uint64_t>{k_bytes + 1, 0}, {0, 0}, {k_bytes, k_address + 12}}) {
    const auto mapping = Mapping::map(fd->get(), bytes, address, Access::read);
    ASSERT_FALSE(mapping) << bytes << " at " << address;
    EXPECT_EQ(mapping.error().kind, ErrorKind::invalid);
  }
  EXPECT_FALSE(Mapping::map(-1, k_bytes, 0, Access::read));
}

TEST(Mapping, ReadMeansRead) {
  const auto fd = make_memfd("read", k_bytes);
  ASSERT_TRUE(fd);
  auto mapping = Mapping::map(fd->get(), k_bytes, 0, Access::read);
  ASSERT_TRUE(mapping);
  EXPECT_DEATH(mapping->data()[0] = std::byte{1}, "");
}

} // namespace
} // namespace ako::base
