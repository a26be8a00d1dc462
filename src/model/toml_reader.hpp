// A TOML document as a plain tree with the place of every key and value, in file order.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ako::model {

/// Of a document.
inline constexpr std::size_t k_most_toml_bytes = 1u << 20;

/// Line and column from 1; columns count characters.
struct Place {
  int line = 1, column = 1;
};

struct TomlMember;

struct TomlNode {
  enum class Kind { table, array, string, integer, floating, boolean, date };
  Kind kind = Kind::table;
  Place place;
  std::string text; ///< string; date as written
  std::int64_t integer = 0;
  double floating = 0;
  bool boolean = false;
  std::vector<TomlMember> members; ///< table, in file order
  std::vector<TomlNode> items;     ///< array

  const TomlMember* member(std::string_view key) const;
  const TomlNode* find(std::string_view key) const;
};

struct TomlMember {
  std::string key;
  Place place; ///< of the key
  TomlNode value;
};

/// Kind invalid with file:line:column for what is not TOML, not UTF-8, or larger than 1 MiB.
base::Expected<TomlNode> read_toml(std::string_view text, std::string_view file);

/// "file:line:column"
std::string at(std::string_view file, Place place);
/// "string 'abc'", "integer 5", "a table", ... ; long text is cut.
std::string describe(const TomlNode& node);

} // namespace ako::model
