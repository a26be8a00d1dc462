// What a command may be told, as data, and what it was told. Parsing itself is in parse.cpp alone.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::cli {

enum class Arity { flag, one, many };

struct OptionSpec {
  std::string name;  ///< long form without dashes
  std::string value; ///< what stands for its value in help; empty for flags
  std::string help;
  Arity arity = Arity::one;
};

struct PositionalSpec {
  std::string name;
  std::string help;
  Arity arity = Arity::one; ///< one or many
  bool required = true;
};

/// The words of one command line, already matched to the specs above.
class Arguments {
public:
  void add(const std::string& name, std::string value) {
    m_values[name].push_back(std::move(value));
  }
  bool has(const std::string& name) const { return m_values.count(name) != 0; }
  std::string text(const std::string& name, std::string fallback = {}) const;
  std::optional<std::string> maybe(const std::string& name) const;
  std::vector<std::string> all(const std::string& name) const;
  base::Expected<double> number(const std::string& name, double fallback) const;
  base::Expected<std::int64_t> integer(const std::string& name, std::int64_t fallback) const;

private:
  std::map<std::string, std::vector<std::string>> m_values;
};

/// A file that the user names, from here or from `dir`, as an absolute path. Kind usage when there
/// is no such file.
base::Expected<std::filesystem::path> named_file(const std::string& text,
                                                 const std::filesystem::path& dir);

/// What only a person may give: --waive, --flag. Kind refused for an agent (AKO_UNATTENDED): inside
/// a campaign, whose waivers come from its file alone, and behind a server that was not allowed
/// them.
base::Expected<std::optional<std::string>> persons_word(const Arguments& arguments,
                                                        const std::string& option);

} // namespace ako::cli
