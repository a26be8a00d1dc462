// Every key of task.toml: its type, default and meaning. The readers, "unknown key" and
// docs/task-toml.md all go by these tables.
#pragma once

#include <span>
#include <string_view>

namespace ako::model {

struct KeySpec {
  const char* key;
  const char* type;
  const char* fallback; ///< "required" where there is no default
  const char* meaning;
};

struct SectionSpec {
  const char* name;    ///< "kernel", "tensor", "fill", "" for the top level
  const char* heading; ///< as it is written: "[kernel]", "[[tensor]]"
  std::span<const KeySpec> keys;

  bool has(std::string_view key) const;
  const KeySpec& key(std::string_view key) const; ///< it must have it
};

std::span<const SectionSpec> all_sections();
const SectionSpec& section_spec(std::string_view name); ///< it must be there

} // namespace ako::model
