// Where a winner goes: the table [port] of task.toml. No part of the contract's identity: what is
// judged and measured does not depend on it.
#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ako::model {

struct PortSpec {
  enum class Switch { environment, macro };
  enum class Path { new_path, old_path };

  bool declared = false;
  std::string repository; ///< a git repository, from the task folder or absolute
  std::string branch;     ///< empty = the one that is checked out there
  std::string folder;     ///< in the repository: kernel/ and the dispatch go below it

  std::string call_site, call;      ///< a file there, and the callee as it is written in it
  std::vector<std::string> patches; ///< files of the task: git diffs that integrate instead
  std::vector<std::string> paths;   ///< files and folders there that patches may touch

  std::string switch_name; ///< keeps the old path reachable
  Switch switch_kind = Switch::environment;
  Path otherwise = Path::new_path; ///< where the switch says nothing

  std::string build; ///< command, in the work tree's root
  double build_seconds = 600;
  std::string library;          ///< what the build makes, to be loaded and measured
  std::string measure;          ///< its C symbol, or "package.module:function", that is called with
                                ///< the contract's arguments
  std::string compile_commands; ///< what the build writes, for comparing flags
};

/// declared = false where the table is absent. Errors as parse_contract.
base::Expected<PortSpec> parse_port(std::string_view toml, std::string_view where);
base::Expected<PortSpec> load_port(const std::filesystem::path& task_dir);

} // namespace ako::model
