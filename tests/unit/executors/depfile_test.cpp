#include "executors/build.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

using Names = std::vector<std::string>;

TEST(Depfile, NamesAsCompilersWriteThem) {
  EXPECT_EQ(executors::read_depfile("a.o: b.cpp \\\n c.h d\\ e.h \\\n  f$$g.h h\\#i.h\n"),
            (Names{"b.cpp", "c.h", "d e.h", "f$g.h", "h#i.h"}));
  EXPECT_EQ(executors::read_depfile("a.o:\\\r\n C:x.h\r\n"), (Names{"C:x.h"}));
  EXPECT_EQ(executors::read_depfile("a.o: b.h\nc.o: d.h\n"), (Names{"b.h", "d.h"}));
  EXPECT_EQ(executors::read_depfile("my\\ lib.so: b.h"), (Names{"b.h"}));
}

TEST(Depfile, TornTextNamesNothingThatIsNotThere) {
  EXPECT_TRUE(executors::read_depfile("").empty());
  EXPECT_TRUE(executors::read_depfile("a.o").empty());
  EXPECT_EQ(executors::read_depfile("a.o: b.h \\"), (Names{"b.h", "\\"}));
}

} // namespace
} // namespace ako::test
