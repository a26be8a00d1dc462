#include "lanes/native/machine_fault.hpp"

#include <algorithm>
#include <array>

namespace ako::lanes::native {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::string_view k_no_space = "No space left on device";

/// "/usr/bin/x86_64-linux-gnu-g++-12" is g++.
std::string_view plain_name(std::string_view tool) {
  tool.remove_prefix(std::min(tool.rfind('/') + 1, tool.size()));
  const std::size_t version = tool.rfind('-');
  if (version != std::string_view::npos && version + 1 < tool.size() &&
      tool.find_first_not_of("0123456789.", version + 1) == std::string_view::npos)
    tool = tool.substr(0, version);
  return tool.substr(std::min(tool.rfind('-') + 1, tool.size()));
}

bool is_tool(std::string_view name) {
  // What comes without a tool's name is clang's.
  constexpr std::array k_tools = std::to_array<std::string_view>(
      {"g++",      "gcc",       "c++",        "cc",          "cc1plus", "cc1",      "lto1",
       "as",       "ld",        "ld.gold",    "ld.bfd",      "ld.lld",  "lld",      "ld.mold",
       "collect2", "clang",     "clang++",    "nvcc",        "cicc",    "cudafe++", "ptxas",
       "nvlink",   "fatbinary", "LLVM ERROR", "fatal error", "error"});
  return std::find(k_tools.begin(), k_tools.end(), name) != k_tools.end();
}

void drop_front(std::string_view& text, std::string_view front) {
  if (text.starts_with(front)) text.remove_prefix(front.size());
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  while (!text.empty() && std::string_view(" \r.'\")").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  return text;
}

} // namespace

/// tool [" error" | " fatal"] ":" rest, and the same without a tool's name.
std::optional<std::string_view> said_of_itself(std::string_view row) {
  const std::size_t colon = row.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view head = trimmed(row.substr(0, colon));
  if (row.front() == ' ') return std::nullopt; // a quoted line
  if (!is_tool(head))
    for (const std::string_view severity : {" error", " fatal"})
      if (head.ends_with(severity)) head = trimmed(head.substr(0, head.size() - severity.size()));
  if (head == "virtual memory exhausted") return row;
  if (!is_tool(plain_name(head))) return std::nullopt;
  std::string_view rest = trimmed(row.substr(colon + 1));
  const bool place = !rest.empty() && rest.front() >= '0' && rest.front() <= '9';
  if (place || rest.find("undefined reference") != std::string_view::npos) return std::nullopt;
  for (const std::string_view severity :
       {"fatal error: ", "internal compiler error: ", "error: ", "Fatal error: "})
    drop_front(rest, severity);
  return rest;
}

namespace {

/// A place in a source, and then what could not be written for it.
std::optional<std::string_view> said_of_its_output(std::string_view row) {
  for (const std::string_view severity :
       {"fatal error: ", "Fatal error: ", "catastrophic error: "}) {
    const std::size_t at = row.find(severity);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = trimmed(row.substr(at + severity.size()));
    if (rest == "out of memory") return rest;
    for (const std::string_view start : {"error writing to", "error closing", "error while writing",
                                         "can't write", "can't close", "error in backend"})
      if (rest.starts_with(start)) return rest;
    return std::nullopt;
  }
  return std::nullopt;
}

enum class Machine { no_space, no_memory, no_compiler_proper };

std::optional<Machine> read_row(std::string_view row) {
  if (row.empty() || row.size() > 4096) return std::nullopt;
  auto rest = said_of_itself(row);
  if (!rest) rest = said_of_its_output(row);
  if (!rest) return std::nullopt;
  const auto begins = [&](std::string_view start) { return rest->starts_with(start); };
  if (rest->ends_with(k_no_space)) return Machine::no_space;
  if (begins("out of memory") || begins("virtual memory exhausted") ||
      begins("Killed signal terminated program") || begins("Killed (program") ||
      begins("unable to execute command: Killed") || begins("Memory allocation failure") ||
      rest->find("' died due to signal 9") != std::string_view::npos ||
      rest->find(" terminated with signal 9") != std::string_view::npos)
    return Machine::no_memory;
  if (begins("cannot execute 'cc1plus'") || begins("error trying to exec 'cc1plus'"))
    return Machine::no_compiler_proper;
  return std::nullopt;
}

Error error_of(Machine fault) {
  switch (fault) {
  case Machine::no_space:
    return {ErrorKind::environment,
            "the compiler found no space left on the device",
            "build",
            std::string(k_no_space),
            {},
            "free some space, or set TMPDIR and XDG_CACHE_HOME to folders with space"};
  case Machine::no_memory:
    return {ErrorKind::environment,
            "the compiler ran out of memory",
            "build",
            "the compiler was killed",
            {},
            "free some memory, build fewer things at a time, or make the source simpler: fewer "
            "instances in one file"};
  case Machine::no_compiler_proper: break;
  }
  return {ErrorKind::environment,
          "the compiler has no C++ part",
          "build",
          "cc1plus is missing",
          {},
          "install g++ (Debian, Ubuntu: apt install g++)"};
}

} // namespace

std::optional<Error> machine_fault(std::string_view said,
                                   const std::vector<model::CompilerMessage>& messages) {
  // An error in the source stands, whatever else went wrong.
  for (const auto& message : messages)
    if (message.severity == "error" && !message.file.empty() &&
        !said_of_its_output("fatal error: " + message.text))
      return std::nullopt;
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    if (const auto fault = read_row(said.substr(at, end - at))) return error_of(*fault);
    at = end + 1;
  }
  return std::nullopt;
}

} // namespace ako::lanes::native
