// The one change to a call site: every call inside a function body, and nothing that only looks
// like one.
#include "loop/port/call_site.hpp"

#include <gtest/gtest.h>

namespace ako::loop {
namespace {

const CallSite k_native{"src/e.cpp", "eng::halve", "ako_port::halve_or",
                        "#include \"halve_dispatch.hpp\""};

TEST(CallSite, CallsAreLedToTheDispatchAndLookalikesStay) {
  const std::string text = R"cpp(// eng::halve(x) in a comment
#include "engine.hpp"
#include <vector>
#if X
#include <x>
#endif
namespace eng { void halve(const float* x, float* y, int n); }
void eng::halve(const float* x, float* y, int n) { y[0] = x[0]; }
void run(const float* x, float* y) {
  const char* s = "eng::halve(x)";
  eng::halve(x, y, 3);
  my_eng::halve(x, y, 3); /* eng::halve(y) */
  eng::halved(x);
  if (true) eng::halve(y, y, 4);
  auto f = eng::halve;
}
)cpp";
  const auto out = rewrite_native(text, k_native);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->lines, (std::vector<int>{11, 14}));
  EXPECT_EQ(out->text, R"cpp(// eng::halve(x) in a comment
#include "engine.hpp"
#include <vector>
#include "halve_dispatch.hpp"
#if X
#include <x>
#endif
namespace eng { void halve(const float* x, float* y, int n); }
void eng::halve(const float* x, float* y, int n) { y[0] = x[0]; }
void run(const float* x, float* y) {
  const char* s = "eng::halve(x)";
  ako_port::halve_or(eng::halve)(x, y, 3);
  my_eng::halve(x, y, 3); /* eng::halve(y) */
  eng::halved(x);
  if (true) ako_port::halve_or(eng::halve)(y, y, 4);
  auto f = eng::halve;
}
)cpp");
}

TEST(CallSite, NothingToLeadAndLedAlreadyAreRefused) {
  EXPECT_EQ(rewrite_native("void f() {}\n", k_native).error().kind, base::ErrorKind::refused);
  EXPECT_FALSE(rewrite_native("void eng::halve(int);\n", k_native));
  const auto twice = rewrite_native(
      "#include <a>\nvoid f() { ako_port::halve_or(eng::halve)(1); eng::halve(2); }\n", k_native);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("already"), std::string::npos);
}

TEST(CallSite, LineEndsStayAsTheyAre) {
  const auto out = rewrite_native("#include <a>\r\nvoid f() { eng::halve(1); }\r\n", k_native);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->text, "#include <a>\r\n#include \"halve_dispatch.hpp\"\r\nvoid f() { "
                       "ako_port::halve_or(eng::halve)(1); }\r\n");
}

TEST(CallSite, PythonCallsBehindTheImports) {
  const CallSite site{"e.py", "ops.halve", "halve_or", "from .ako.halve_dispatch import halve_or"};
  const std::string text = R"("""ops.halve(x) in words"""
import os
from a import (
    b,
    c,
)

def halve(x):  # ops.halve(x)
    s = 'ops.halve(x)'
    return ops.halve(x, ops.halve(x)) + my.ops.halve(x)
)";
  const auto out = rewrite_python(text, site);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->text, R"("""ops.halve(x) in words"""
import os
from a import (
    b,
    c,
)
from .ako.halve_dispatch import halve_or

def halve(x):  # ops.halve(x)
    s = 'ops.halve(x)'
    return halve_or(ops.halve)(x, halve_or(ops.halve)(x)) + my.ops.halve(x)
)");
  EXPECT_FALSE(
      rewrite_python("def halve(x):\n    pass\n", {"e.py", "halve", "halve_or", "import x"}));
}

} // namespace
} // namespace ako::loop
