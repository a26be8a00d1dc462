// The library as it is found and read; the heads of guides and of template notes.
#include "guides/front_matter.hpp"
#include "guides/library.hpp"
#include "guides/templates.hpp"
#include "profiles/playbook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

namespace ako::guides {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = base::fs;

Library shipped() {
  auto library = Library::load(AKO_SOURCE_DIR "/references");
  EXPECT_TRUE(library) << library.error().text();
  return library ? std::move(*library) : Library();
}

TEST(FrontMatter, ReadsWordsAndListsAndLeavesSourcesAlone) {
  const auto head =
      read_front_matter("---\nid: a-b\ntitle: \"One: two\"\nlanes: [cuda, \"x, y\"]\nsources:\n"
                        "  - {title: \"T\", url: \"u\"}\nempty: []\n---\n# Text\n",
                        "f.md");
  ASSERT_TRUE(head) << head.error().text();
  EXPECT_EQ(head->word("id"), "a-b");
  EXPECT_EQ(head->word("title"), "One: two");
  EXPECT_THAT(head->list("lanes"), ElementsAre("cuda", "x, y"));
  EXPECT_TRUE(head->list("empty").empty());
  EXPECT_TRUE(head->list("absent").empty());
}

TEST(FrontMatter, WhatItCannotReadIsAnErrorWithTheFile) {
  for (const char* text :
       {"# no head\n", "---\nid: x\n", "---\nnot a line\n---\n", "---\na: [x\n---\n", ""}) {
    const auto head = read_front_matter(text, "some/f.md");
    ASSERT_FALSE(head) << text;
    EXPECT_THAT(head.error().where, HasSubstr("some/f.md"));
  }
}

TEST(Library, IsFoundFromTheProgramAndHoldsEveryGuide) {
  const auto folder = Library::find_folder(); // this program lies in the source tree
  ASSERT_TRUE(folder) << folder.error().text();
  EXPECT_TRUE(fs::equivalent(*folder, AKO_SOURCE_DIR "/references"));
  const Library library = shipped();
  EXPECT_GE(library.guides().size(), 32u);
  for (const Guide& guide : library.guides()) {
    EXPECT_FALSE(guide.title.empty()) << guide.id;
    EXPECT_FALSE(guide.lanes.empty()) << guide.id;
    EXPECT_EQ(guide.hash.size(), 64u);
    EXPECT_GE(guide.lines, 80u) << guide.id;
    EXPECT_TRUE(guide.shown().starts_with("# ")) << guide.id;
  }
  EXPECT_EQ(library.find("SOURCES"), nullptr);
}

TEST(Library, NamesTheNearestGuideAndTheVariable) {
  const Library library = shipped();
  const auto missing = library.get("memroy-access");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().next, HasSubstr("memory-access"));
  ::setenv("AKO_REFERENCES", "/nowhere", 1);
  const auto folder = Library::find_folder();
  ::unsetenv("AKO_REFERENCES");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, base::ErrorKind::environment);
  EXPECT_THAT(folder.error().next, HasSubstr("AKO_REFERENCES"));
}

TEST(Library, AChangedLetterIsAnotherEdition) {
  const auto dir = base::TemporaryDir::make("ako-test-").value();
  const auto write = [&](const char* body) {
    std::ofstream(dir.path() / "one.md") << "---\nid: one\ntitle: One\nlanes: [any]\n---\n# One\n"
                                         << body;
    return Library::load(dir.path()).value().find("one")->hash;
  };
  EXPECT_NE(write("a\n"), write("b\n"));
  EXPECT_EQ(write("a\n"), write("a\n"));
}

TEST(Library, WhatWasReadIsReadAgainOnceAFileHasChanged) {
  const auto dir = base::TemporaryDir::make("ako-test-").value();
  const auto write = [&](const char* body) {
    std::ofstream(dir.path() / "one.md") << "---\nid: one\ntitle: One\nlanes: [any]\n---\n# One\n"
                                         << body;
  };
  const auto hash = [&] { return Library::load(dir.path()).value().find("one")->hash; };
  write("a\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100)); // young files are never kept
  const auto first = hash();
  EXPECT_EQ(hash(), first);
  write("b\n");
  EXPECT_NE(hash(), first);
}

/// From a finding to guides, from guides to findings: no name on the way that leads nowhere.
TEST(Library, EveryGuideThatAMoveNamesExistsAndEveryFindingHasOne) {
  const Library library = shipped();
  std::set<std::string> findings;
  for (const auto id : profiles::finding_ids()) {
    findings.insert(std::string(id));
    EXPECT_FALSE(library.answering(id).empty()) << id;
    for (int capability : {80, 86, 89, 90, 100, 103, 120})
      for (const auto& move : profiles::moves_for(id, capability))
        EXPECT_NE(library.find(move.guide), nullptr) << id << " names " << move.guide;
  }
  for (const Guide& guide : library.guides())
    for (const auto& finding : guide.findings)
      EXPECT_TRUE(findings.contains(finding)) << guide.id << " answers " << finding;
}

TEST(Templates, NameGuidesAndFindingsThatExist) {
  const Library library = shipped();
  const auto all = load_templates(AKO_SOURCE_DIR "/templates");
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_GE(all->size(), 14u);
  std::set<std::string> families;
  for (const Template& one : *all) {
    EXPECT_FALSE(one.title.empty()) << one.id;
    EXPECT_FALSE(one.families.empty()) << one.id;
    EXPECT_FALSE(one.guides.empty()) << one.id;
    EXPECT_FALSE(one.findings.empty()) << one.id;
    families.insert(one.families.begin(), one.families.end());
    for (const auto& guide : one.guides)
      EXPECT_NE(library.find(guide), nullptr) << one.id << ": " << guide;
    for (const auto& finding : one.findings)
      EXPECT_FALSE(profiles::kind_of(finding).empty()) << one.id << ": " << finding;
  }
  for (const char* family : {"elementwise", "reduction", "norm", "softmax", "gemm", "attention",
                             "paged-attention", "rotary", "moe", "dequantise", "transpose"})
    EXPECT_TRUE(families.contains(family)) << family;
}

TEST(Templates, AFolderWithoutANoteIsSaidToBeOne) {
  const auto dir = base::TemporaryDir::make("ako-test-").value();
  fs::create_directories(dir.path() / "cuda/norm/input");
  fs::create_directories(dir.path() / "cuda/input"); // of the lane's own starting task: no template
  EXPECT_EQ(load_templates(dir.path()).value().size(), 0u);
  std::ofstream(dir.path() / "cuda/norm/task.toml") << "format = 1\n";
  const auto broken = load_templates(dir.path());
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().text(), HasSubstr("NOTES.md"));
  std::ofstream(dir.path() / "cuda/norm/NOTES.md")
      << "---\nid: cuda/norm\ntitle: T\nguides: [loop]\nfindings: [tail_wave]\n---\n";
  const auto one = load_templates(dir.path());
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(templates_for(*one, "loop").size(), 1u);
  EXPECT_EQ(templates_for(*one, "tail_wave").size(), 1u);
  EXPECT_TRUE(templates_for(*one, "numerics").empty());
}

} // namespace
} // namespace ako::guides
