// What the lane makes of CUTLASS' words.
#include "lanes/cutlass/words.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

using lanes::cutlass::explain;
using lanes::cutlass::notices;
using lanes::cutlass::shortened;

std::string assertion(const std::string& words) {
  return "/opt/cutlass/include/cutlass/gemm/collective/x.inl(99): error: static assertion failed "
         "with \"" +
         words + "\"\n          detected during instantiation of class \"X\" at line 7 of k.cu\n";
}

TEST(CutlassWords, TheUsualAssertionsAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"Should meet TMA alignment requirement\\n", "alignment is below the 16 bytes"},
      {"Specialization requires Stages set to value 2 or more.", "no room for two stages"},
      {"Could not build a collective for given parameters.", "has no collective for this"},
      {"Could not find a mainloop specialization.", "has no collective for this"},
      {"Cooperative kernel requires Tile Size to be greater than or equal to 128 along the "
       "M-dimension.",
       "at least 128 rows"}};
  for (const auto& [said, told] : cases) {
    const auto error = explain(assertion(said), "4.2.0");
    ASSERT_TRUE(error) << said;
    EXPECT_NE(error->message.find(told), std::string::npos) << error->message;
    EXPECT_EQ(error->where, "/opt/cutlass/include/cutlass/gemm/collective/x.inl(99)");
    EXPECT_FALSE(error->allowed.empty() || error->next.empty()) << said;
  }
  // Twins: an assertion of the candidate's own is told in its own words, also where what follows
  // from it would be known.
  EXPECT_FALSE(explain(assertion("rows must be even"), "4.2.0"));
  EXPECT_FALSE(explain(assertion("rows must be even") +
                           assertion("Could not build a collective for given parameters."),
                       "4.2.0"));
}

TEST(CutlassWords, HeadersAndNamesOfAnotherVersionNameTheOneThatIsThere) {
  const auto header = explain("solution/k.cu(3): catastrophic error: cannot open source file "
                              "\"cutlass/gemm/nosuch.hpp\"\n",
                              "4.2.0");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->message, "CUTLASS 4.2.0 has no header cutlass/gemm/nosuch.hpp");
  const auto fatal = explain(
      "solution/k.cu:3:10: fatal error: cute/nosuch.hpp: No such file or directory\n", "3.8.0");
  ASSERT_TRUE(fatal);
  EXPECT_EQ(fatal->message, "CUTLASS 3.8.0 has no header cute/nosuch.hpp");
  const auto name =
      explain("solution/k.cu(9): error: namespace \"cutlass::gemm\" has no member \"KernelNew\"\n",
              "3.8.0");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->message, "CUTLASS 3.8.0 has no cutlass::gemm::KernelNew");
  EXPECT_EQ(name->where, "solution/k.cu(9)");
  // Twins: the candidate's own header and names.
  EXPECT_FALSE(explain("solution/k.cu(3): catastrophic error: cannot open source file "
                       "\"parts/mine.hpp\"\n",
                       "4.2.0"));
  EXPECT_FALSE(
      explain("solution/k.cu(9): error: namespace \"mine\" has no member \"f\"\n", "4.2.0"));
}

model::Sources worded_sources(const std::string& text) {
  model::Sources out;
  out.texts = {{"solution/k.cu", text, false}};
  return out;
}

TEST(CutlassWords, StagesThatLeaveTheEpilogueNothingAreNoticed) {
  const std::string epilogue = "using E = cutlass::epilogue::collective::CollectiveBuilder<>;\n";
  const auto bad = notices(
      worded_sources(epilogue + "using S = cutlass::gemm::collective::StageCountAuto;\n"), {});
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].line, 2);
  EXPECT_EQ(bad[0].severity, "warning");
  EXPECT_NE(bad[0].text.find("StageCountAutoCarveout"), std::string::npos);
  for (const std::string& good :
       {epilogue +
            "using S = StageCountAutoCarveout<static_cast<int>(sizeof(E::SharedStorage))>;\n",
        epilogue + "// not StageCountAuto\nusing S = StageCount<3>;\n",
        std::string("using S = StageCountAuto; // without a collective epilogue\n")})
    EXPECT_TRUE(notices(worded_sources(good), {}).empty()) << good;
}

TEST(CutlassWords, AWaitThatADefineMustSwitchOnIsNoticed) {
  const std::string text =
      "__global__ void g() {\n  cutlass::arch::wait_on_dependent_grids();\n}\n";
  const auto bad = notices(worded_sources(text), {"-O3"});
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].line, 2);
  EXPECT_NE(bad[0].text.find("CUTLASS_ENABLE_GDC_FOR_SM90"), std::string::npos);
  EXPECT_TRUE(notices(worded_sources(text), {"-DCUTLASS_ENABLE_GDC_FOR_SM90=1"}).empty());
  EXPECT_TRUE(
      notices(worded_sources("#define CUTLASS_ENABLE_GDC_FOR_SM90 1\n" + text), {"-O3"}).empty());
}

TEST(CutlassWords, LongTemplatesAreShortenedAndShortOnesKept) {
  const std::string brief = "A<B<C<D<int>>>>";
  EXPECT_EQ(shortened(brief), brief);
  const std::string deep =
      "class \"G<M<P<int, " + std::string(300, 'x') + ">, 4>, E>\" is a->b <= c";
  EXPECT_EQ(shortened(deep), "class \"G<M<P<...>, 4>, E>\" is a->b <= c");
}

} // namespace
} // namespace ako::test
