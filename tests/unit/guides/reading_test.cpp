// Read, unread, changed since; and what a hypothesis may cite.
#include "guides/reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::guides {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReadingTest : public testing::Test {
protected:
  ReadingTest() {
    auto library = Library::load(AKO_SOURCE_DIR "/references");
    EXPECT_TRUE(library);
    m_library = std::move(*library);
    for (const char* id : {"loop", "measuring", "tma"})
      m_required.push_back({m_library.find(id), {"why"}});
  }
  base::Hash hash(const char* id) const { return m_library.find(id)->hash; }
  std::vector<ReadState> states(const std::vector<Receipt>& receipts) const {
    std::vector<ReadState> out;
    for (const auto& item : reading(m_required, receipts)) out.push_back(item.state);
    return out;
  }
  Library m_library;
  std::vector<Required> m_required;
};

TEST_F(ReadingTest, AReceiptCountsForTheEditionThatWasRead) {
  EXPECT_THAT(states({}), ElementsAre(ReadState::unread, ReadState::unread, ReadState::unread));
  EXPECT_THAT(states({{"loop", hash("loop"), 5}, {"tma", base::Hash(64, '0'), 6}}),
              ElementsAre(ReadState::read, ReadState::unread, ReadState::changed));
}

TEST_F(ReadingTest, TheLastReceiptCounts) {
  const base::Hash old(64, '0');
  EXPECT_THAT(states({{"loop", old, 1}, {"loop", hash("loop"), 2}})[0], ReadState::read);
  EXPECT_THAT(states({{"loop", hash("loop"), 1}, {"loop", old, 2}})[0], ReadState::changed);
}

TEST_F(ReadingTest, WhatIsUnreadOrChangedIsToBeRead) {
  const auto items =
      reading(m_required, {{"loop", hash("loop"), 5}, {"tma", base::Hash(64, '0'), 6}});
  EXPECT_THAT(to_read(items), ElementsAre("measuring", "tma"));
  EXPECT_EQ(items[0].read_ns, 5);
}

class Cites : public ReadingTest {
protected:
  base::Expected<Cited> cited(const std::string& hypothesis, const std::string& cites = "") {
    return citations(hypothesis, cites, &m_library, {"dram_bandwidth_bound", "tail_wave"}, 3);
  }
};

TEST_F(Cites, GuidesFindingsAndIterationsOnRecord) {
  EXPECT_THAT(cited("h", "tma")->ids, ElementsAre("tma"));
  EXPECT_THAT(cited("h", "tma, tail_wave iter-3")->ids, ElementsAre("tma", "tail_wave", "iter-3"));
  EXPECT_THAT(cited("fewer bytes [memory-access] as it is [dram_bandwidth_bound]")->ids,
              ElementsAre("memory-access", "dram_bandwidth_bound"));
  EXPECT_THAT(cited("twice [tma]", "tma")->ids, ElementsAre("tma"));
  EXPECT_THAT(cited("nothing")->ids, IsEmpty());
}

TEST_F(Cites, WhatDoesNotExistIsRefusedWithTheNearest) {
  const auto slip = cited("h", "tmaa");
  ASSERT_FALSE(slip);
  EXPECT_EQ(slip.error().kind, base::ErrorKind::usage);
  EXPECT_THAT(slip.error().next, HasSubstr("tma"));
  EXPECT_FALSE(cited("h", "iter-4")) << "no such iteration";
  EXPECT_FALSE(cited("h", "iter-0"));
  EXPECT_FALSE(cited("as [memory-acess] says"));
}

TEST_F(Cites, OtherBracketsAreTheTextsOwn) {
  for (const char* text :
       {"x[i] is read once", "the interval [0, 1]", "shared[threadIdx.x]", "[", "a ] b ["})
    EXPECT_THAT(cited(text)->ids, IsEmpty()) << text;
}

TEST_F(Cites, WithoutALibraryNothingIsRefused) {
  const auto words = citations("h", "anything", nullptr, {}, 0);
  ASSERT_TRUE(words);
  EXPECT_THAT(words->ids, ElementsAre("anything"));
}

} // namespace
} // namespace ako::guides
