// Names of resources, read and written.
#include "mcp/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace ako::mcp {
namespace {

using testing::HasSubstr;

TEST(Addresses, AreReadAndWrittenAlike) {
  for (const char* uri :
       {"ako://log", "ako://iteration/7", "ako://log?task=%2Ftmp%2Ft", "ako://guide/loop?from=4096",
        "ako://report?task=a%20%26%20b%25&from=9&bytes=65536"}) {
    const auto address = parse_address(uri);
    ASSERT_TRUE(address) << uri << ": " << address.error().text();
    EXPECT_EQ(to_uri(*address), uri);
  }
  const auto address = parse_address("ako://l%6Fg?task=%2ftmp%2Ft+%c3%A9&from=3#part");
  ASSERT_TRUE(address) << address.error().text();
  EXPECT_EQ(address->name, "log");
  EXPECT_EQ(address->task, "/tmp/t+é");
  EXPECT_EQ(address->from, 3);
  EXPECT_EQ(address->bytes, 4096);
  // What a client leaves out of a template it may leave empty.
  EXPECT_EQ(parse_address("ako://log?task=&")->task, "");
}

TEST(Addresses, WhatIsNoneIsSaid) {
  const auto why = [](const std::string& uri) {
    const auto address = parse_address(uri);
    return address ? std::string("read") : address.error().text();
  };
  EXPECT_THAT(why("file:///etc/passwd"), HasSubstr("ako://"));
  for (const char* broken :
       {"ako://%", "ako://log?task=%", "ako://log?task=%4", "ako://log?task=%4g",
        "ako://log?task=%g4", "ako://log?task=%00", "ako://iteration/%-1"})
    EXPECT_THAT(why(broken), HasSubstr("two hexadecimal digits")) << broken;
  EXPECT_EQ(why("ako://log?task=%41"), "read");
  EXPECT_THAT(why("ako://log?taks=x"), HasSubstr("did you mean 'task'"));
  EXPECT_THAT(why("ako://log?from=-1"), HasSubstr("from"));
  EXPECT_THAT(why("ako://log?from=1x"), HasSubstr("from"));
  EXPECT_THAT(why("ako://log?bytes=1023"), HasSubstr("1024 to 262144"));
  EXPECT_EQ(why("ako://log?bytes=1024"), "read");
}

TEST(Addresses, AnyFolderSurvives) {
  std::mt19937 chance(5);
  for (int round = 0; round < 2000; ++round) {
    Address address;
    address.name = "log";
    for (auto length = chance() % 12; length > 0; --length)
      address.task += static_cast<char>(1 + chance() % 255);
    const auto back = parse_address(to_uri(address));
    ASSERT_TRUE(back) << to_uri(address);
    EXPECT_EQ(back->task, address.task);
  }
}

} // namespace
} // namespace ako::mcp
