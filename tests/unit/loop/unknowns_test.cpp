// What a scope asks for, and that an answer ends the question.
#include "loop/unknowns.hpp"
#include "model/contract_toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::loop {
namespace {

using testing::HasSubstr;

constexpr const char* k_unknowns_contract = R"(format = 1
[kernel]
entry = { file = "solution/k.cpp", symbol = "gather" }
[axes]
N = { var = true }
[[tensor]]
name = "rows"
role = "in"
dtype = "int32"
shape = ["N"]
fill = { kind = "index", limit = "N" }
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
[[shape]]
N = 4
[[shape]]
N = 8
[reference]
entry = { file = "input/ref.cpp", symbol = "gather" }
[[baseline]]
name = "first"
entry = { file = "input/k.cpp", symbol = "gather" }
)";

model::Contract contract(std::string text = k_unknowns_contract) {
  auto parsed = model::parse_contract(text, "task.toml");
  EXPECT_TRUE(parsed) << parsed.error().text();
  return parsed.value_or(model::Contract{});
}

std::string all(const model::Contract& contract, const ScopeFacts& facts) {
  std::string out;
  for (const auto& each : unknowns(contract, facts)) out += each.what + "\n";
  return out;
}

TEST(Unknowns, EachIsAskedForByName) {
  EXPECT_EQ(all(contract(), {}),
            "is this kernel hot, and what would it win end to end?\n"
            "how often does production call each of the shapes?\n"
            "where is it called in production?\n"
            "what does tensor rows hold in production?\n"
            "what is the fastest library that does this, or why is there none?\n");
}

TEST(Unknowns, AnAnswerEndsTheQuestion) {
  std::string text = k_unknowns_contract;
  text.replace(text.find("[axes]"), 6, "call_sites = [\"engine.cpp:40\"]\n[axes]");
  text.replace(text.find("fill = { kind = \"index\", limit = \"N\" }"), 38,
               "fill = { kind = \"recorded\", file = \"input/rows.npy\" }");
  EXPECT_EQ(all(contract(text), {true, true, "no library gathers so"}), "");
}

TEST(Unknowns, ALibraryOrAReason) {
  EXPECT_THAT(library_trouble(contract(), {}), HasSubstr("nobody said why"));
  EXPECT_EQ(library_trouble(contract(), {false, false, "none has it"}), "");
  EXPECT_EQ(
      library_trouble(contract(std::string(k_unknowns_contract) + "kind = \"library\"\n"), {}), "");
}

} // namespace
} // namespace ako::loop
