#include "scratch_repo.hpp"

#include "base/process.hpp"

#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>

namespace ako::test {

std::string shell(const fs::path& folder, const std::string& command) {
  base::CommandOptions options;
  options.argv = {"/bin/bash", "-c", "set -e; " + command};
  options.cwd = folder.string();
  auto result = base::run_command(options);
  if (!result || !result->ok()) {
    ADD_FAILURE() << command << "\n" << (result ? result->err : result.error().text());
    return {};
  }
  return result->out;
}

void put(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string get(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

ScratchRepo::ScratchRepo(const std::string& task)
    : m_dir(base::TemporaryDir::make("ako-test-").value()), m_top(m_dir.path() / "repo"),
      m_task(task) {
  fs::create_directories(m_top);
  shell(m_top, "git init -q -b main . && git config user.email t@t && git config user.name t");
}

void ScratchRepo::add_task() {
  put(task() / "task.toml", "format = 1\n");
  put(task() / "solution/k.cpp", "int v0;\n");
  put(task() / "input/ref.cpp", "int ref;\n");
  git("add -A && git commit -qm base");
}

std::map<std::string, std::string> picture(const fs::path& top,
                                           const std::vector<std::string>& except) {
  std::map<std::string, std::string> seen;
  const auto left_out = [&](const std::string& path) {
    for (const auto& prefix : except)
      if (path.starts_with(prefix)) return true;
    return false;
  };
  for (auto walk = fs::recursive_directory_iterator(top); walk != fs::end(walk); ++walk) {
    const std::string path = walk->path().lexically_relative(top).generic_string();
    if (walk->path().filename() == ".git") {
      walk.disable_recursion_pending();
      continue;
    }
    if (left_out(path) || walk->is_directory()) continue;
    struct stat info {};
    lstat(walk->path().c_str(), &info);
    const std::string content =
        walk->is_symlink() ? fs::read_symlink(walk->path()).string() : get(walk->path());
    seen["file " + path] = fmt::format("{:o} {}", info.st_mode, content);
  }
  std::istringstream index(shell(top, "git ls-files -s"));
  for (std::string row; std::getline(index, row);)
    if (const auto path = row.substr(row.find('\t') + 1); !left_out(path))
      seen["index " + path] = row;
  std::istringstream status(shell(top, "git status --porcelain --ignored"));
  for (std::string row; std::getline(status, row);)
    if (!left_out(row.substr(3))) seen["status " + row.substr(3)] = row;
  seen["stash"] = shell(top, "git stash list");
  seen["branches"] = shell(top, "git for-each-ref --format='%(refname)' refs/heads");
  return seen;
}

} // namespace ako::test
