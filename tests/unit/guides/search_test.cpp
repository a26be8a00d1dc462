// Finding passages: where they begin, which come first, and what happens to the index.
#include "guides/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace ako::guides {
namespace {

using testing::HasSubstr;
namespace fs = base::fs;

TEST(Passages, BeginAtHeadingsAndKeepTheirLines) {
  const std::string text =
      "---\nid: x\n---\n# Title\n\nfirst\n\n## How\n\nwords\n### Deep\nmore\n```cpp\n# no heading\n"
      "```\n## Signs\nlast";
  const auto cut = passages(text, "Title", TextKind::markdown);
  std::vector<std::pair<std::string, std::size_t>> got;
  std::string whole;
  for (const auto& one : cut) {
    got.emplace_back(one.heading, one.line);
    whole += text.substr(one.offset, one.bytes);
  }
  EXPECT_EQ(whole, text) << "nothing is lost and nothing twice";
  const std::vector<std::pair<std::string, std::size_t>> wanted = {{"Title", 1},
                                                                   {"Title", 4},
                                                                   {"Title > How", 8},
                                                                   {"Title > How > Deep", 11},
                                                                   {"Title > Signs", 16}};
  EXPECT_EQ(got, wanted);
}

TEST(Passages, LongOnesAreCutAtBlankLines) {
  std::string text;
  for (int i = 1; i <= 100; ++i) text += i % 12 == 0 ? "\n" : "line " + std::to_string(i) + "\n";
  const auto cut = passages(text, "h.h", TextKind::code, 20);
  ASSERT_GT(cut.size(), 3u);
  for (const auto& one : cut) {
    const auto piece = text.substr(one.offset, one.bytes);
    EXPECT_LE(std::count(piece.begin(), piece.end(), '\n'), 30);
    EXPECT_EQ(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(one.offset), '\n') + 1,
        static_cast<std::ptrdiff_t>(one.line));
  }
}

class SearchTest : public testing::Test {
protected:
  SearchTest() : m_dir(base::TemporaryDir::make("ako-test-").value()) {
    auto library = Library::load(AKO_SOURCE_DIR "/references");
    EXPECT_TRUE(library);
    m_library = std::move(*library);
  }
  std::vector<Hit> find(const std::vector<std::string>& words,
                        const std::optional<ToolkitPlace>& toolkit = std::nullopt,
                        std::size_t limit = 5) {
    auto hits = Search(m_dir.path() / "cache").find(m_library, toolkit, words, limit);
    EXPECT_TRUE(hits) << hits.error().text();
    return hits ? *hits : std::vector<Hit>{};
  }
  std::vector<std::string> indices() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(m_dir.path() / "cache"))
      out.push_back(entry.path().filename().string());
    return out;
  }
  ToolkitPlace toolkit() const {
    const auto root = m_dir.path() / "cuda";
    fs::create_directories(root / "include/cccl/cub");
    std::ofstream(root / "include/cuda.h")
        << "/* cuTensorMapEncodeTiled\n * boxDim must be at most 256 */\n";
    std::ofstream(root / "include/cccl/cub/block_reduce.cuh")
        << "// BlockReduce: sums over a block\n";
    std::ofstream(root / "include/blob.h") << std::string("bin\0ary boxDim", 14);
    return {root, {}, {}};
  }
  base::TemporaryDir m_dir;
  Library m_library;
};

TEST_F(SearchTest, TheGuideThatSaysMostComesFirst) {
  const std::pair<std::vector<std::string>, const char*> k_asked[] = {
      {{"bank", "conflicts"}, "shared-memory"},
      {{"bulk", "tensor", "copy", "swizzle"}, "tma"},
      {{"decoupled", "look-back"}, "reductions"},
      {{"register", "spills"}, "build-flags"},
      {{"online", "softmax"}, "attention"},
      {{"how", "to", "port", "back"}, "porting-back"},
      {{"warp", "specialisation"}, "warp-specialisation"}};
  for (const auto& [words, guide] : k_asked) {
    const auto hits = find(words, std::nullopt, 3);
    std::vector<std::string> ids;
    for (const auto& hit : hits) ids.push_back(hit.id);
    EXPECT_THAT(ids, testing::Contains(guide)) << words[0];
  }
}

TEST_F(SearchTest, AHitNamesTheLineThatAnswers) {
  const auto hits = find({"setmaxnreg"});
  ASSERT_FALSE(hits.empty());
  std::ifstream file(hits[0].file);
  std::string line;
  for (std::size_t i = 0; i < hits[0].line; ++i) std::getline(file, line);
  EXPECT_THAT(line, HasSubstr("setmaxnreg"));
  EXPECT_FALSE(hits[0].heading.empty());
  EXPECT_LE(hits[0].excerpt.size(), 240u);
  EXPECT_EQ(hits[0].excerpt.find('\n'), std::string::npos);
}

TEST_F(SearchTest, TheToolkitsHeadersAreSearchedWherePresent) {
  const auto place = toolkit();
  auto hits = find({"boxDim"}, place);
  ASSERT_FALSE(hits.empty());
  EXPECT_EQ(hits.back().source, Hit::Source::toolkit);
  EXPECT_THAT(hits.back().file, HasSubstr("include/cuda.h"));
  EXPECT_EQ(hits.back().line, 2u);
  EXPECT_THAT(find({"BlockReduce"}, place).back().file, HasSubstr("block_reduce.cuh"));
  for (const auto& hit : find({"boxDim"})) EXPECT_EQ(hit.source, Hit::Source::guide);
}

TEST_F(SearchTest, MetricsOfNcuAreFoundByName) {
  auto place = toolkit();
  const auto ncu = m_dir.path() / "ncu";
  std::ofstream(ncu) << "#!/bin/sh\n[ \"$3\" = gh100 ] && echo 'dram__bytes_read.sum   bytes read "
                        "from device memory'\n";
  fs::permissions(ncu, fs::perms::owner_all);
  place.ncu = ncu.string();
  const auto hits = find({"dram__bytes_read.sum"}, place);
  ASSERT_FALSE(hits.empty());
  EXPECT_EQ(hits.back().heading, "ncu metrics of gh100");
  EXPECT_THAT(hits.back().excerpt, HasSubstr("bytes read from device memory"));
}

TEST_F(SearchTest, AnIndexIsMadeOnceAndAnewWhenAGuideChanges) {
  find({"loop"});
  const auto first = indices();
  ASSERT_EQ(first.size(), 1u);
  find({"loop"});
  EXPECT_EQ(indices(), first);
  const auto folder = m_dir.path() / "refs";
  fs::create_directories(folder);
  std::ofstream(folder / "one.md")
      << "---\nid: one\ntitle: One\nlanes: [any]\n---\n# One\nzyzzyva\n";
  m_library = Library::load(folder).value();
  const auto hits = find({"zyzzyva"});
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].line, 7u);
  ASSERT_EQ(indices().size(), 1u) << "the earlier one is gone";
  EXPECT_NE(indices(), first);
}

TEST_F(SearchTest, NoWordsQuotesAndOperatorsAreHarmless) {
  const auto none = Search(m_dir.path() / "cache").find(m_library, std::nullopt, {"the", "of"}, 5);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::usage);
  for (const char* word : {"\"", "a\"b", "AND", "NEAR(", "x*", "cp.async.bulk", "-", "col:on", "ü"})
    EXPECT_TRUE(Search(m_dir.path() / "cache").find(m_library, std::nullopt, {word, "tma"}, 5))
        << word;
}

} // namespace
} // namespace ako::guides
