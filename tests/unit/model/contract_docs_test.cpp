// docs/task-toml.md and the parser's tables list the same keys in the same words.
#include "base/fs.hpp"
#include "model/contract_keys.hpp"
#include "model/contract_toml.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace ako::model {
namespace {

std::string document() {
  auto text = base::read_file(std::string(AKO_SOURCE_DIR) + "/docs/task-toml.md");
  EXPECT_TRUE(text) << text.error().text();
  return text ? *text : std::string{};
}

/// "heading: row" for every row of a table of keys.
std::set<std::string> rows_of_document() {
  std::set<std::string> out;
  std::istringstream lines(document());
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line.starts_with("| `")) out.insert(heading + ": " + line);
  }
  return out;
}

std::set<std::string> rows_of_tables() {
  std::set<std::string> out;
  for (const SectionSpec& section : all_sections())
    for (const KeySpec& key : section.keys) {
      const std::string heading = *section.name ? section.heading : "Top level";
      out.insert(heading + ": | `" + key.key + "` | " + key.type + " | " + key.fallback + " | " +
                 key.meaning + " |");
    }
  return out;
}

TEST(ContractDocument, ListsEveryKeyOfTheParserAndNoOther) {
  const auto documented = rows_of_document();
  const auto known = rows_of_tables();
  EXPECT_GT(known.size(), 90u);
  for (const std::string& row : known) EXPECT_TRUE(documented.contains(row)) << "missing: " << row;
  for (const std::string& row : documented) EXPECT_TRUE(known.contains(row)) << "extra: " << row;
}

TEST(ContractDocument, ItsWholeExampleIsLawful) {
  const std::string text = document();
  const std::size_t start = text.find("```toml\n");
  ASSERT_NE(start, std::string::npos);
  const std::size_t end = text.find("```", start + 8);
  const auto contract = parse_contract(text.substr(start + 8, end - start - 8), "example");
  EXPECT_TRUE(contract) << contract.error().text();
}

} // namespace
} // namespace ako::model
