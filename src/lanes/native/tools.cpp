#include "lanes/native/tools.hpp"

#include "base/json.hpp"

#include <fmt/format.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::lanes::native {

using base::Expected;
using base::Json;
namespace fs = base::fs;

namespace {

bool is_program(const fs::path& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

} // namespace

std::string variable(const Surroundings& around, const std::string& name) {
  const auto found = around.environment.find(name);
  return found == around.environment.end() ? std::string() : found->second;
}

/// The file that `name` means; empty when there is none.
std::string locate(const std::string& name, const Surroundings& around) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : std::string();
  std::istringstream path(variable(around, "PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (is_program(candidate)) return fs::absolute(candidate).string();
  }
  return {};
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> list;
  for (std::string word; stream >> word;) list.push_back(word);
  return list;
}

Expected<base::CommandResult> ask(const std::vector<std::string>& command,
                                  const std::vector<std::string>& args,
                                  const Surroundings& around) {
  base::CommandOptions options;
  options.argv = command;
  options.argv.insert(options.argv.end(), args.begin(), args.end());
  options.env = compiler_environment(around);
  options.deadline = base::Deadline::after_seconds(k_ask_seconds);
  return around.runner(options);
}

/// The folders between "search starts here" and "End of search list" of -E -v.
std::vector<std::string> search_dirs(const std::string& text) {
  std::vector<std::string> dirs;
  std::istringstream stream(text);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.find("search starts here") != std::string::npos) inside = true;
    else if (line.starts_with("End of search list")) inside = false;
    else if (inside && line.starts_with(" ")) dirs.push_back(line.substr(1));
  }
  return dirs;
}

/// Everything the answer of a compiler's --version depends on, cheap to look at.
std::string stamp_of(const std::vector<std::string>& command, const Surroundings& around) {
  base::Hasher hasher;
  for (const auto& word : command) {
    hasher.add_field(word);
    struct stat info {};
    if (stat(word.c_str(), &info) != 0) continue;
    hasher.add_field(
        fmt::format("{} {}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec));
  }
  for (const char* name : {"PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
                           "GCC_EXEC_PREFIX", "COMPILER_PATH", "LD_LIBRARY_PATH"})
    hasher.add_field(variable(around, name));
  return hasher.finish();
}

std::optional<Tool> recall(const fs::path& memo, const std::string& stamp) {
  auto text = base::read_file(memo, 1 << 20);
  if (!text) return std::nullopt;
  auto json = base::parse_json(*text, memo.string());
  if (!json || base::get_or<std::string>(*json, "stamp", {}) != stamp) return std::nullopt;
  Tool tool;
  tool.version = base::get_or<std::string>(*json, "version", {});
  tool.identity = base::get_or<std::string>(*json, "identity", {});
  tool.family = base::get_or<std::string>(*json, "family", {});
  for (const auto& dir : base::get_or<Json>(*json, "system_dirs", Json::array()))
    if (dir.is_string()) tool.system_dirs.push_back(dir.get<std::string>());
  return tool;
}

void remember(const fs::path& memo, const std::string& stamp, const Tool& tool) {
  const Json json = {{"stamp", stamp},
                     {"version", tool.version},
                     {"identity", tool.identity},
                     {"family", tool.family},
                     {"system_dirs", tool.system_dirs}};
  // A memo that cannot be written costs the next run a few milliseconds and nothing else.
  static_cast<void>(base::write_file_atomic(memo, base::dump_json(json, 1)));
}

std::vector<std::string> compiler_environment(const Surroundings& around) {
  std::vector<std::string> list = {"LC_ALL=C", "SOURCE_DATE_EPOCH=315532800"};
  for (const auto& [name, value] : around.environment) {
    const bool replaced = name == "LC_ALL" || name == "LANG" || name == "LANGUAGE" ||
                          name.starts_with("LC_") || name == "TMPDIR" ||
                          name == "SOURCE_DATE_EPOCH";
    const bool redirects = name == "DEPENDENCIES_OUTPUT" || name == "SUNPRO_DEPENDENCIES" ||
                           name == "GCC_COLORS" || name.starts_with("GIT_");
    if (!replaced && !redirects) list.push_back(name + "=" + value);
  }
  return list;
}

} // namespace ako::lanes::native
