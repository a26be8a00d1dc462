// One table of task.toml, read key by key against the list of its known keys. Every reader leaves
// its target alone when the key is absent.
#pragma once

#include "model/contract_keys.hpp"
#include "model/enum_names.hpp"
#include "model/expression.hpp"
#include "model/nearest.hpp"
#include "model/toml_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ako::model {

/// What to do where nothing better is known than what is allowed.
inline constexpr const char* k_look_up = "correct it there; docs/task-toml.md describes every key";

/// What a number must satisfy, and how to say so.
struct NumberRule {
  bool (*holds)(double);
  const char* allowed;
};
struct IntegerRule {
  std::int64_t low, high;
};

class Section {
public:
  /// `path` names the table in messages: "kernel", "tensor#2", "axes.M".
  Section(std::string_view file, std::string path, const TomlNode& table, Place place,
          std::string_view spec);

  /// Kind invalid naming the first unknown key and the nearest known one. `also` may stand there
  /// too.
  base::Status known_keys_only(const std::vector<std::string>& also = {}) const;
  base::Status require(std::string_view key) const;

  bool has(std::string_view key) const { return node(key) != nullptr; }
  const TomlNode* node(std::string_view key) const;
  const TomlNode& table() const { return *m_table; }

  base::Status read(std::string_view key, std::string& into) const; ///< not empty, one line
  base::Status read(std::string_view key, bool& into) const;
  base::Status read(std::string_view key, std::int64_t& into, IntegerRule rule) const;
  base::Status read(std::string_view key, int& into, IntegerRule rule) const;
  base::Status read(std::string_view key, double& into, NumberRule rule) const; ///< finite
  base::Status read(std::string_view key, std::optional<double>& into, NumberRule rule) const;
  base::Status read(std::string_view key, std::vector<std::string>& into) const;
  /// A string or an integer.
  base::Status read(std::string_view key, std::optional<Expression>& into) const;
  base::Status read(std::string_view key, std::vector<Expression>& into) const;
  template <class E> base::Status read_enum(std::string_view key, E& into) const;
  template <class E> base::Status read_enum(std::string_view key, std::optional<E>& into) const;

  base::Expected<Expression> expression(std::string_view key, const TomlNode& node) const;

  /// An error at the value of `key`, or at the key's table where it is absent.
  tl::unexpected<base::Error> error(std::string_view key, std::string message,
                                    std::string allowed = {}, std::string next = {}) const;
  tl::unexpected<base::Error> error_at(const TomlNode& node, std::string_view key,
                                       std::string message, std::string allowed = {},
                                       std::string next = {}) const;

  std::string where(std::string_view key, Place place) const;
  const std::string& path() const { return m_path; }
  std::string_view file() const { return m_file; }
  Place place() const { return m_place; }

private:
  tl::unexpected<base::Error> wrong_type(const TomlNode& node, std::string_view key,
                                         std::string allowed) const;
  std::string_view m_file;
  std::string m_path;
  const TomlNode* m_table;
  Place m_place;
  const SectionSpec* m_spec;
};

template <class E> base::Status Section::read_enum(std::string_view key, E& into) const {
  std::string text;
  AKO_TRY_STATUS(read(key, text));
  if (!has(key)) return {};
  const auto value = enum_from<E>(text);
  if (!value) {
    std::vector<std::string> known;
    for (const auto& name : enum_names<E>()) known.emplace_back(name.text);
    return error(key, "unknown " + std::string(key) + " '" + text + "'", join(known),
                 did_you_mean(text, known));
  }
  into = *value;
  return {};
}

template <class E>
base::Status Section::read_enum(std::string_view key, std::optional<E>& into) const {
  if (!has(key)) return {};
  E value{};
  AKO_TRY_STATUS(read_enum(key, value));
  into = value;
  return {};
}

/// The tables of a [[key]] list, in file order; none when it is absent, kind invalid when it is not
/// a list of tables.
base::Expected<std::vector<Section>> sections(std::string_view file, const TomlNode& root,
                                              std::string_view key);

} // namespace ako::model
