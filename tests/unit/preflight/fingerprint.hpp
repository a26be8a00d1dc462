// A repository byte for byte: files with modes, the index, references, stashes, configuration.
#pragma once

#include "base/fs.hpp"
#include "base/hash.hpp"

#include <fmt/format.h>
#include <map>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace ako::test {

/// Every file below `top`, .git included, but for what may be added: objects, and paths (relative,
/// "/" between) that begin with one of `except`.
inline std::map<std::string, std::string> fingerprint(const base::fs::path& top,
                                                      const std::vector<std::string>& except) {
  std::map<std::string, std::string> seen;
  std::error_code why;
  if (!base::fs::is_directory(base::fs::symlink_status(top, why))) return seen;
  for (auto walk = base::fs::recursive_directory_iterator(top); walk != base::fs::end(walk);
       ++walk) {
    const std::string path = walk->path().lexically_relative(top).generic_string();
    bool left_out = false;
    for (const auto& prefix : except) left_out = left_out || path.starts_with(prefix);
    if (left_out) {
      if (walk->is_directory() && !walk->is_symlink()) walk.disable_recursion_pending();
      continue;
    }
    struct stat info {};
    lstat(walk->path().c_str(), &info);
    std::string content;
    if (walk->is_symlink()) content = base::fs::read_symlink(walk->path()).string();
    else if (S_ISREG(info.st_mode))
      content = base::sha256_file(walk->path()).value_or("unreadable");
    seen[path] = fmt::format("{:o} {}", info.st_mode, content);
  }
  return seen;
}

/// What is another in two fingerprints, one line a path; empty = the same.
inline std::string difference(const std::map<std::string, std::string>& before,
                              const std::map<std::string, std::string>& after) {
  std::string out;
  for (const auto& [path, seen] : before) {
    const auto now = after.find(path);
    if (now == after.end()) out += "gone: " + path + "\n";
    else if (now->second != seen) out += "changed: " + path + "\n";
  }
  for (const auto& [path, seen] : after)
    if (!before.contains(path)) out += "new: " + path + "\n";
  return out;
}

} // namespace ako::test
