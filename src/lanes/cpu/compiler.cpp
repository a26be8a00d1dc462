#include "lanes/cpu/compiler.hpp"

#include "base/json.hpp"

#include <array>
#include <fmt/format.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::lanes::cpu {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;
namespace fs = base::fs;

namespace {

constexpr double k_ask_seconds = 20;

std::string variable(const Surroundings& around, const std::string& name) {
  const auto found = around.environment.find(name);
  return found == around.environment.end() ? std::string() : found->second;
}

bool is_program(const fs::path& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
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

std::string family_of(const std::string& version_text) {
  if (version_text.find("clang") != std::string::npos) return "clang";
  const bool gcc = version_text.find("Free Software Foundation") != std::string::npos ||
                   version_text.find("GCC") != std::string::npos ||
                   version_text.find("GNU") != std::string::npos;
  return gcc ? "gcc" : "unknown";
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

tl::unexpected<base::Error> no_answer(const std::string& path, const base::CommandResult& result) {
  std::string found = result.timed_out ? fmt::format("no answer within {} s", k_ask_seconds)
                                       : fmt::format("{}: {}", result.ending.text(),
                                                     (result.err + result.out).substr(0, 200));
  return fail(ErrorKind::environment, "the compiler does not tell its version",
              {.where = path + " --version",
               .found = std::move(found),
               .allowed = "g++ or clang++",
               .next = "name a compiler that works in kernel.compiler or CXX"});
}

Expected<Tool> identify(std::vector<std::string> command, const Surroundings& around) {
  const std::string path = command.back();
  const std::string stamp = stamp_of(command, around);
  const fs::path memo = around.memo_dir / fmt::format("compiler-{}.json", stamp.substr(0, 16));
  std::optional<Tool> tool;
  if (!around.memo_dir.empty()) tool = recall(memo, stamp);
  if (!tool) {
    tool.emplace();
    AKO_TRY(const auto answer, ask(command, {"--version"}, around));
    if (!answer.ok()) return no_answer(path, answer);
    tool->version = answer.out.substr(0, answer.out.find('\n'));
    tool->family = family_of(answer.out);
    AKO_TRY(const auto hash, base::sha256_file(path));
    tool->identity = fmt::format("{} | {}", tool->version, hash);
    AKO_TRY(const auto verbose, ask(command, {"-E", "-v", "-x", "c++", "/dev/null"}, around));
    tool->system_dirs = search_dirs(verbose.err);
    if (!around.memo_dir.empty()) remember(memo, stamp, *tool);
  }
  tool->path = path;
  tool->command = std::move(command);
  return std::move(*tool);
}

tl::unexpected<base::Error> missing(const std::string& where, const std::string& found,
                                    const std::vector<std::string>& looked) {
  std::string list;
  for (const auto& line : looked) list += (list.empty() ? "" : "; ") + line;
  return fail(ErrorKind::environment, "no C++ compiler was found",
              {.where = where,
               .found = found.empty() ? list : found,
               .allowed = "g++ or clang++, in PATH or by its path",
               .next = "install one (Debian, Ubuntu: apt install g++), or name one in "
                       "kernel.compiler or CXX"});
}

} // namespace

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

Expected<Tool> find_compiler(const std::string& wanted, const Surroundings& around,
                             std::vector<std::string>* looked) {
  std::vector<std::string> notes;
  std::vector<std::string>& said = looked != nullptr ? *looked : notes;
  const auto resolve = [&](const std::string& text, const std::string& where) {
    std::vector<std::string> command = words(text);
    for (auto& word : command) {
      if (word.starts_with("-")) continue;
      const std::string path = locate(word, around);
      said.push_back(fmt::format("{} '{}': {}", where, word, path.empty() ? "not found" : path));
      if (path.empty()) return std::vector<std::string>();
      word = path;
    }
    return command;
  };
  const auto take = [&](std::vector<std::string> command, const char* by) -> Expected<Tool> {
    AKO_TRY(Tool tool, identify(std::move(command), around));
    tool.chosen_by = by;
    return tool;
  };
  if (!wanted.empty()) {
    auto command = resolve(wanted, "kernel.compiler");
    if (command.empty()) return missing("kernel.compiler", wanted, said);
    return take(std::move(command), "kernel.compiler");
  }
  const auto cxx = around.environment.find("CXX");
  if (cxx != around.environment.end() && words(cxx->second).empty()) {
    said.push_back("CXX: set but empty, ignored");
  } else if (cxx != around.environment.end()) {
    auto command = resolve(cxx->second, "CXX");
    if (command.empty()) return missing("CXX", cxx->second, said);
    return take(std::move(command), "CXX");
  }
  for (const char* name : {"g++", "clang++"}) {
    auto command = resolve(name, "PATH");
    if (!command.empty()) return take(std::move(command), "PATH");
  }
  for (const char* name : {"gcc", "clang"})
    if (const auto path = locate(name, around); !path.empty())
      said.push_back(fmt::format("{} is there, but it compiles C; C++ needs its ++ form", path));
  return missing("PATH", {}, said);
}

Probe probe_compiler(const std::string& wanted, const Surroundings& around,
                     const fs::path& scratch) {
  Probe probe;
  auto tool = find_compiler(wanted, around, &probe.looked);
  if (!tool) {
    probe.summary = tool.error().message + ": " + tool.error().found;
    probe.next = tool.error().next;
    return probe;
  }
  probe.tool = *tool;
  probe.next = "name another compiler in kernel.compiler or CXX, or repair this one";
  const fs::path source = scratch / "probe.cpp", library = scratch / "probe.so";
  const char* text = "#include <cstdint>\n#include <vector>\n"
                     "extern \"C\" int ako_probe(std::int64_t n) {\n"
                     "  return static_cast<int>(std::vector<int>(n).size());\n}\n";
  if (auto wrote = base::write_file_atomic(source, text); !wrote) {
    probe.summary = wrote.error().text();
    probe.next = "make the temporary folder writable";
    return probe;
  }
  std::error_code why;
  fs::remove(library, why);
  auto result =
      ask(tool->command, {"-shared", "-fPIC", source.string(), "-o", library.string()}, around);
  if (!result) {
    probe.summary = result.error().text();
    return probe;
  }
  probe.output = (result->err + result->out).substr(0, 4000);
  if (result->timed_out)
    probe.summary = fmt::format("{} did not finish five lines in {} s", tool->path, k_ask_seconds);
  else if (!result->ok())
    probe.summary = fmt::format("{} ({}) cannot compile five lines of C++: {}", tool->path,
                                tool->version, result->ending.text());
  else if (!fs::is_regular_file(library, why))
    probe.summary =
        fmt::format("{} ({}) ended well but wrote no library", tool->path, tool->version);
  else {
    probe.works = true;
    probe.next.clear();
    probe.summary =
        fmt::format("{} ({}), chosen by {}", tool->path, tool->version, tool->chosen_by);
  }
  return probe;
}

} // namespace ako::lanes::cpu
