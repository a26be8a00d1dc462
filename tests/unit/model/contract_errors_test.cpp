// Each rule of the format, broken once in a contract that is otherwise lawful.
#include "error_cases.hpp"
#include "model/contract_toml.hpp"

#include <gtest/gtest.h>

namespace ako::model {
namespace {

class Broken : public testing::TestWithParam<cases::ErrorCase> {};

TEST_P(Broken, SaysWhatWhereAllowedAndNext) {
  const cases::ErrorCase& rule = GetParam();
  std::string text = cases::k_good;
  const std::size_t spot = text.find(rule.from);
  ASSERT_NE(spot, std::string::npos);
  ASSERT_EQ(text.find(rule.from, spot + 1), std::string::npos) << "the edit must be unambiguous";
  text.replace(spot, std::string(rule.from).size(), rule.to);

  const auto contract = parse_contract(text, "task.toml");
  ASSERT_FALSE(contract) << "accepted";
  const base::Error& error = contract.error();
  EXPECT_EQ(error.kind, base::ErrorKind::invalid);
  EXPECT_EQ(error.where, rule.where);
  EXPECT_EQ(error.message, rule.message);
  EXPECT_EQ(error.found, rule.found);
  EXPECT_EQ(error.allowed.substr(0, std::string(rule.allowed).size()), rule.allowed);
  EXPECT_FALSE(error.allowed.empty());
  const std::string usual = "correct it there; docs/task-toml.md describes every key";
  EXPECT_EQ(error.next, std::string(rule.next).empty() ? usual : rule.next);
}

INSTANTIATE_TEST_SUITE_P(Rules, Broken, testing::ValuesIn(cases::k_cases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(BrokenTwin, TheUneditedContractIsLawful) {
  const auto contract = parse_contract(cases::k_good, "task.toml");
  EXPECT_TRUE(contract) << contract.error().text();
}

} // namespace
} // namespace ako::model
