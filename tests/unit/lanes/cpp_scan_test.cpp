#include "base/cpp_scan.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

using base::find_functions;
using base::Parameter;

TEST(CppScan, DefinitionsWithTheirScopesAndParameters) {
  const auto list = find_functions(R"cpp(
#include <x.h> /* a comment that
goes on: void no() {} */
#define TRAP void trap() {
// void comment() {}
const char* text = "void string() {";
const char* raw = R"(void raw() {)";
void declared(int);
namespace a::b { namespace {
static inline void f(const float* __restrict__ x, std::uint16_t *y, size_t n, const unsigned k = 3) noexcept { if (n) { } }
} }
extern "C" { int g(void) { return 0; } }
extern "C" __attribute__((noinline)) double h(int rows[4], float const* p, const std::vector<int>& v) { return 0; }
template <class T, int N> void t(T* x) {}
struct S { void m() {} static void s(bool b) {} int field = 0; };
struct S make(int) { return {}; }
void S2::out(unsigned) const {}
auto late(long long n) -> int { return 0; }
)cpp");
  std::vector<std::string> names;
  for (const auto& function : list) names.push_back(function.qualified);
  EXPECT_EQ(names, (std::vector<std::string>{"a::b::f", "g", "h", "t", "S::m", "S::s", "make",
                                             "S2::out", "late"}));
  const auto& f = list[0];
  EXPECT_EQ(f.signature(), "void a::b::f(const float* __restrict__ x, std::uint16_t* y, size_t n, "
                           "const unsigned k)");
  ASSERT_EQ(f.parameters.size(), 4u);
  EXPECT_TRUE(f.parameters[0].is_const);
  EXPECT_EQ(f.parameters[0].base, "float");
  EXPECT_EQ(f.parameters[0].kind, Parameter::Kind::pointer);
  EXPECT_FALSE(f.parameters[1].is_const);
  EXPECT_EQ(f.parameters[1].base, "std::uint16_t");
  EXPECT_EQ(f.parameters[3].kind, Parameter::Kind::integer);
  EXPECT_EQ(f.parameters[3].name, "k");
  EXPECT_EQ(f.line, 10);
  EXPECT_TRUE(list[1].parameters.empty());
  EXPECT_EQ(list[2].returns, "double");
  EXPECT_EQ(list[2].parameters[0].kind, Parameter::Kind::pointer);
  EXPECT_TRUE(list[2].parameters[1].is_const);
  EXPECT_EQ(list[2].parameters[2].kind, Parameter::Kind::other);
  EXPECT_TRUE(list[3].is_template);
  EXPECT_TRUE(list[4].is_member);
  EXPECT_FALSE(list[5].is_member);
  EXPECT_EQ(list[7].parameters[0].name, "");
}

TEST(CppScan, IncludesOutsideOfComments) {
  const auto list = base::find_includes("#include \"a b/c.h\"\n  #  include <d.h> // x\n"
                                        "// #include \"no.h\"\n/*\n#include \"no.h\"\n*/\n"
                                        "#include MACRO\n#include \"end.h\"");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].name, "a b/c.h");
  EXPECT_FALSE(list[1].quoted);
  EXPECT_EQ(list[2].name, "end.h");
  EXPECT_EQ(list[2].line, 8);
}

TEST(CppScan, TornTextEndsTheScan) {
  for (const char* text : {"void f(", "void f() {", "R\"(", "/*", "\"", "template <", "namespace",
                           "struct", "#include \"", "(", "}}}}", "a::b::", "R\"", "#\\", ""}) {
    find_functions(text);
    base::find_includes(text);
  }
}

} // namespace
} // namespace ako::test
