#include "lanes/native/messages.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

model::Sources sources() {
  model::Sources sources;
  sources.texts = {{"solution/k.cpp", "one\ntwo\r\nthree\n", false}};
  return sources;
}

TEST(Messages, GccAndClangLines) {
  const auto list = lanes::native::parse_messages(
      "In file included from ako_shim.cpp:1:\n"
      "solution/../solution/k.cpp:2:7: warning: unused variable 'x' [-Wunused]\n"
      "    2 | two\n      |       ^~~\n"
      "solution/k.cpp:3: error: expected ';'\n"
      "solution/k.cpp:1:1: note: here\n"
      "solution/k.cpp:1:2: fatal error: a: b: No such file\n",
      sources());
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].severity, "error"); // errors first
  EXPECT_EQ(list[0].line, 3);
  EXPECT_EQ(list[0].column, 0);
  EXPECT_EQ(list[1].text, "a: b: No such file");
  EXPECT_EQ(list[2].severity, "warning");
  EXPECT_EQ(list[2].file, "solution/k.cpp");
  EXPECT_EQ(list[2].source_line, "two");
}

TEST(Messages, AnErrorInASystemHeaderIsShownWhereItWasAskedFor) {
  const auto gcc = lanes::native::parse_messages(
      "/usr/include/c++/12/bits/x.h: In instantiation of 'f(T) [with T = S]':\n"
      "/usr/include/c++/12/bits/y.h:10:5:   required from 'g'\n"
      "solution/k.cpp:3:4:   required from here\n"
      "/usr/include/c++/12/bits/x.h:45:23: error: no match for 'operator<'\n",
      sources());
  ASSERT_EQ(gcc.size(), 1u);
  EXPECT_EQ(gcc[0].file, "solution/k.cpp");
  EXPECT_EQ(gcc[0].line, 3);
  const auto clang = lanes::native::parse_messages(
      "/usr/include/c++/12/bits/x.h:45:23: error: invalid operands\n"
      "/usr/include/c++/12/bits/y.h:1:1: note: in instantiation of 'g' requested here\n"
      "solution/k.cpp:2:4: note: in instantiation of 'f' requested here\n",
      sources());
  ASSERT_EQ(clang.size(), 1u);
  EXPECT_EQ(clang[0].line, 2);
}

TEST(Messages, NothingToReadGivesNothing) {
  EXPECT_TRUE(lanes::native::parse_messages("", sources()).empty());
  EXPECT_TRUE(lanes::native::parse_messages("::::\n:1:\nx:1\n", sources()).empty());
  const auto odd = lanes::native::parse_messages("x:99999999999999999999:1: error: y\n", sources());
  ASSERT_EQ(odd.size(), 1u); // a file whose name ends in digits, and none of the candidate's
  EXPECT_EQ(odd[0].file, "");
  EXPECT_EQ(odd[0].text, "y");
  EXPECT_FALSE(lanes::native::first_linker_error("all is well\n"));
  EXPECT_EQ(lanes::native::first_linker_error("ld: k.o: undefined reference to `g()'\n").value(),
            "undefined reference to `g()'");
}

} // namespace
} // namespace ako::test
