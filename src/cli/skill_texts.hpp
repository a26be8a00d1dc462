// The page that tells a coding agent how to use ako, in the form that each of them reads.
#pragma once

#include <string>
#include <vector>

namespace ako::cli {

struct SkillPlace {
  std::string name;    ///< "claude", "codex", "cursor", "agents"
  std::string reader;  ///< "Claude Code"
  std::string path;    ///< below the target folder
  std::string heading; ///< what an empty file begins with
};
const std::vector<SkillPlace>& skill_places();

/// The block between ako's marks; its first line names the version.
std::string skill_block(const std::string& version);
/// The version that a block's first line names; empty where there is none.
std::string skill_version(const std::string& block);

} // namespace ako::cli
