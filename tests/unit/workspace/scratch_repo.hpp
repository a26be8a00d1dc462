// A git repository in a temporary folder, and a picture of everything in it that is the user's.
#pragma once

#include "base/fs.hpp"
#include "workspace/workdir.hpp"

#include <map>
#include <string>

namespace ako::test {

namespace fs = std::filesystem;

/// Runs a shell command in `folder`; fails the test and returns "" when it fails.
std::string shell(const fs::path& folder, const std::string& command);
void put(const fs::path& path, const std::string& content);
std::string get(const fs::path& path);

class ScratchRepo {
public:
  /// `task` relative to the repository's root; "" = the root itself.
  explicit ScratchRepo(const std::string& task = "task");
  const fs::path& top() const { return m_top; }
  fs::path task() const { return m_task.empty() ? m_top : m_top / m_task; }
  workspace::Workdir workdir() const { return workspace::Workdir::at(task()).value(); }
  std::string git(const std::string& args) const { return shell(m_top, "git " + args); }
  /// solution/k.cpp, input/ref.cpp, task.toml; committed as "base".
  void add_task();

private:
  base::TemporaryDir m_dir;
  fs::path m_top;
  std::string m_task;
};

/// What is the user's: all files with bytes and modes (without .git), `git status`, index entries,
/// stashes, branches. Paths that start with one of `except` are left out.
std::map<std::string, std::string> picture(const fs::path& top,
                                           const std::vector<std::string>& except);

} // namespace ako::test
