#include "lanes/cpu/compiler.hpp"

#include "lanes/native/tools.hpp"

#include <fmt/format.h>

namespace ako::lanes::cpu {

using base::ErrorKind;
using base::Expected;
using base::fail;
using namespace native;
namespace fs = base::fs;

namespace {

std::string family_of(const std::string& version_text) {
  if (version_text.find("clang") != std::string::npos) return "clang";
  const bool gcc = version_text.find("Free Software Foundation") != std::string::npos ||
                   version_text.find("GCC") != std::string::npos ||
                   version_text.find("GNU") != std::string::npos;
  return gcc ? "gcc" : "unknown";
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
