// Where CUTLASS is found, which version it is, and what a source may ask for.
#include "cutlass_bench.hpp"
#include "lanes/cutlass/headers.hpp"
#include "lanes/registry.hpp"

#include <fstream>

namespace ako::test {
namespace {

using lanes::cutlass::check_version;
using lanes::cutlass::find_headers;
using lanes::cutlass::Headers;
using lanes::cutlass::identity_of;
using lanes::cutlass::needs_of;
using lanes::cutlass::Version;

model::Sources cutlass_sources(const std::string& text) {
  model::Sources out;
  out.texts = {{"solution/k.cu", text, false}};
  return out;
}

TEST(CutlassHeaders, TheRootOrItsIncludeFolderInCutlassPath) {
  CutlassBench bench;
  const std::string root = (bench.root() / "cutlass").string();
  for (const auto& path : {root, root + "/include"}) {
    bench.around.environment["CUTLASS_PATH"] = path;
    const auto found = find_headers(bench.around);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->include, fs::path(root) / "include");
    EXPECT_EQ(found->version, (Version{4, 2, 1}));
    EXPECT_EQ(found->version.text(), "4.2.1");
    EXPECT_EQ(found->chosen_by, "CUTLASS_PATH");
  }
}

TEST(CutlassHeaders, AWrongPathIsNotReplacedByAnother) {
  CutlassBench bench;
  const fs::path site = bench.root() / "venv/lib/python3.11/site-packages/cutlass_library/source";
  write_stand_in(site, "3", "9", "0");
  bench.around.environment["VIRTUAL_ENV"] = (bench.root() / "venv").string();
  bench.around.environment["CUTLASS_PATH"] = (bench.root() / "nowhere").string();
  const auto found = find_headers(bench.around);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, base::ErrorKind::environment);
  EXPECT_EQ(found.error().where, "CUTLASS_PATH");
  EXPECT_NE(found.error().found.find("nowhere"), std::string::npos);
  bench.around.environment.erase("CUTLASS_PATH"); // the twin: then the environment's is taken
  std::vector<std::string> looked;
  const auto other = find_headers(bench.around, &looked);
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->chosen_by, "VIRTUAL_ENV");
  EXPECT_EQ(other->version, (Version{3, 9, 0}));
  ASSERT_FALSE(looked.empty());
  EXPECT_NE(looked.back().find("3.9.0"), std::string::npos) << looked.back();
}

TEST(CutlassHeaders, AnEditedHeaderIsAnotherToolchain) {
  CutlassBench bench;
  const Headers headers = find_headers(bench.around).value();
  const auto first = identity_of(headers, bench.around.memo_dir);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_TRUE(first->starts_with("CUTLASS 4.2.1 | ")) << *first;
  EXPECT_EQ(identity_of(headers, bench.around.memo_dir).value(), *first); // remembered
  EXPECT_EQ(identity_of(headers, {}).value(), *first);                    // and asked anew
  bench.header("cute/tensor.hpp", "#pragma once\n// mended\n");
  EXPECT_NE(identity_of(headers, bench.around.memo_dir).value(), *first);
  bench.header("cute/tensor.hpp", "#pragma once\n"); // as it was: the content counts, not the time
  EXPECT_EQ(identity_of(headers, bench.around.memo_dir).value(), *first);
}

TEST(CutlassHeaders, ASourceAsksForVersionsInAComment) {
  struct Case {
    const char* comment;
    bool holds; ///< for 4.2.1
  };
  const Case cases[] = {
      {"// cutlass >= 4.0", true},   {"// CUTLASS >= 3.8, < 5", true}, {"  //cutlass == 4.2", true},
      {"// cutlass == 4.2.1", true}, {"// cutlass == 4.2.0", false},   {"// cutlass > 4.2.0", true},
      {"// cutlass > 4", false},     {"// cutlass <= 4", true},        {"// cutlass < 4", false},
      {"// cutlass >= 4.3", false},  {"// cutlass >= 3.8, < 4", false}};
  const Headers headers{"/opt/cutlass/include", {4, 2, 1}, "CUTLASS_PATH"};
  for (const auto& each : cases) {
    const auto needs = needs_of(cutlass_sources("\n" + std::string(each.comment) + "\nint x;\n"));
    ASSERT_TRUE(needs) << each.comment;
    ASSERT_FALSE(needs->empty()) << each.comment;
    const auto held = check_version(*needs, headers);
    EXPECT_EQ(held.has_value(), each.holds) << each.comment;
    if (held) continue;
    EXPECT_EQ(held.error().kind, base::ErrorKind::environment);
    EXPECT_EQ(held.error().where, "solution/k.cu:2");
    EXPECT_NE(held.error().found.find("CUTLASS 4.2.1 at /opt/cutlass/include"), std::string::npos);
  }
}

TEST(CutlassHeaders, AWishThatCannotBeReadIsAnErrorAndOtherCommentsAreNone) {
  for (const char* bad : {"// cutlass >= four", "// cutlass >= 4.2 or so", "// cutlass >"}) {
    const auto needs = needs_of(cutlass_sources(bad));
    ASSERT_FALSE(needs) << bad;
    EXPECT_EQ(needs.error().where, "solution/k.cu:1");
  }
  for (const char* plain :
       {"// cutlass is a library", "// cutlass", "int cutlass; // > 4", "x = y // cutlass >= 9"})
    EXPECT_TRUE(needs_of(cutlass_sources(plain)).value().empty()) << plain;
}

TEST(CutlassHeaders, WithoutHeadersEveryPlaceAndTheRemedyAreNamed) {
  CutlassBench bench;
  std::vector<std::string> said;
  const fs::path empty = bench.root() / "empty", whole = bench.root() / "cutlass/include";
  const auto none = lanes::cutlass::first_with_headers({{"here", empty}, {"there", empty}}, said);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::environment);
  for (const char* word : {"by here", "by there", "no cutlass/version.h"})
    EXPECT_NE(none.error().found.find(word), std::string::npos) << none.error().found;
  EXPECT_NE(none.error().next.find("scripts/setup --with-cutlass"), std::string::npos);
  EXPECT_NE(none.error().next.find("nvidia-cutlass"), std::string::npos);
  EXPECT_EQ(
      lanes::cutlass::first_with_headers({{"here", empty}, {"there", whole}}, said)->chosen_by,
      "there");
}

} // namespace
} // namespace ako::test
