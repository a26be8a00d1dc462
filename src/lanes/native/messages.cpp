#include "lanes/native/messages.hpp"

#include "base/cpp_scan.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::native {

using model::CompilerMessage;

namespace {

struct Place {
  std::string file;
  int line = 0, column = 0;
};

struct Line {
  Place place;
  std::string severity; ///< "error", "warning", "note"; empty = context
  std::string text;
};

int to_int(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

/// file ":" line ":" [column ":"] " " rest; the file may hold colons and spaces.
std::optional<Line> read_line(std::string_view row) {
  constexpr std::string_view k_severities[] = {"fatal error", "error", "warning", "note"};
  for (std::size_t colon = row.find(':'); colon != std::string_view::npos;
       colon = row.find(':', colon + 1)) {
    std::size_t end = row.find(':', colon + 1);
    if (end == std::string_view::npos) return std::nullopt;
    Line line;
    line.place.line = to_int(row.substr(colon + 1, end - colon - 1));
    if (line.place.line < 0) continue;
    line.place.file = row.substr(0, colon);
    const std::size_t next = row.find(':', end + 1);
    if (next != std::string_view::npos) {
      line.place.column = to_int(row.substr(end + 1, next - end - 1));
      if (line.place.column >= 0) end = next;
      else line.place.column = 0;
    }
    std::string_view rest = row.substr(end + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    for (const auto severity : k_severities)
      if (rest.starts_with(severity) && rest.substr(severity.size()).starts_with(": ")) {
        line.severity = severity == "fatal error" ? "error" : severity;
        rest.remove_prefix(severity.size() + 2);
        break;
      }
    line.text = rest;
    return line;
  }
  return std::nullopt;
}

/// nvcc's front end: file "(" line "): " severity [" #" number "-D"] ": " rest
std::optional<Line> read_edg_line(std::string_view row) {
  const std::size_t close = row.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t open = row.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  Line line;
  line.place.line = to_int(row.substr(open + 1, close - open - 1));
  if (line.place.line < 0) return std::nullopt;
  line.place.file = row.substr(0, open);
  std::string_view rest = row.substr(close + 3);
  for (const std::string_view severity : {"catastrophic error", "error", "warning"}) {
    if (!rest.starts_with(severity)) continue;
    const std::size_t colon = rest.find(": ", severity.size());
    if (colon == std::string_view::npos) return std::nullopt;
    line.severity = severity == "warning" ? "warning" : "error";
    line.text = rest.substr(colon + 2);
    return line;
  }
  return std::nullopt;
}

/// "instantiation of ... at line N [of FILE]" below a message of nvcc's front end; without a file
/// it is the message's own.
std::optional<Line> read_edg_context(std::string_view row, const std::vector<Line>& before) {
  const std::size_t at = row.rfind(" at line ");
  if (at == std::string_view::npos || !row.starts_with("  ") || before.empty()) return std::nullopt;
  std::string_view rest = row.substr(at + 9);
  const std::size_t of = rest.find(" of ");
  Line line;
  line.place.line = to_int(rest.substr(0, of));
  if (line.place.line < 0) return std::nullopt;
  if (of != std::string_view::npos) line.place.file = rest.substr(of + 4);
  else
    for (std::size_t i = before.size(); i-- > 0 && line.place.file.empty();)
      if (before[i].severity != "note") line.place.file = before[i].place.file;
  std::erase(line.place.file, '"');
  line.severity = "note";
  line.text = "requested here";
  return line;
}

/// "ptxas [FILE, line N;] error   : rest", the same of nvlink and nvcc: no place in a source.
std::optional<Line> read_tool_line(std::string_view row) {
  const bool tool =
      row.starts_with("ptxas ") || row.starts_with("nvlink ") || row.starts_with("nvcc ");
  const std::size_t colon = row.find(" : ");
  if (!tool || colon == std::string_view::npos) return std::nullopt;
  const std::string_view head = row.substr(0, colon), rest = row.substr(colon + 3);
  Line line;
  line.text = rest;
  const auto says = [&](std::string_view word) {
    return head.find(word) != std::string_view::npos;
  };
  if (rest.starts_with("Ptx assembly aborted")) return std::nullopt;
  if (says("error") || says("fatal")) line.severity = "error";
  else if (says("warning")) line.severity = "warning";
  else if (rest.find("Potential Performance Loss") != std::string_view::npos)
    line.severity = "warning";
  else return std::nullopt;
  return line;
}

std::vector<Line> read_lines(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    at = end + 1;
    auto line = read_tool_line(row);
    if (!line) line = read_edg_line(row);
    if (!line) line = read_edg_context(row, lines);
    if (!line) line = read_line(row);
    if (line) lines.push_back(std::move(*line));
  }
  return lines;
}

std::string normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().generic_string();
}

bool is_own(const std::string& file, const model::Sources& sources) {
  return sources.find(normal(file)) != nullptr;
}

std::string line_of(const model::SourceText& source, int number) {
  std::size_t at = 0;
  for (int line = 1; line < number; ++line) {
    at = source.content.find('\n', at);
    if (at == std::string::npos) return {};
    ++at;
  }
  std::string text = source.content.substr(at, source.content.find('\n', at) - at);
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text.substr(0, 400);
}

/// Where in the candidate's own text a message belongs: its own place, or the nearest "required
/// from here" before it (gcc), or "requested here" after it (clang).
Place own_place(const std::vector<Line>& lines, std::size_t index, const model::Sources& sources) {
  if (is_own(lines[index].place.file, sources)) return lines[index].place;
  for (std::size_t i = index; i-- > 0 && lines[i].severity.empty();)
    if (is_own(lines[i].place.file, sources)) return lines[i].place;
  for (std::size_t i = index + 1; i < lines.size() && lines[i].severity == "note"; ++i)
    if (is_own(lines[i].place.file, sources) &&
        lines[i].text.find("requested here") != std::string::npos)
      return lines[i].place;
  return {};
}

/// The n-th (from 0) template argument after `open`, which points behind "<".
std::string template_argument(std::string_view text, std::size_t open, int wanted) {
  int depth = 0, number = 0;
  std::size_t begin = open;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(') ++depth;
    const bool end = depth == 0 && (c == ',' || c == '>');
    if (end && number++ == wanted) {
      std::string_view found = text.substr(begin, i - begin);
      found.remove_prefix(std::min(found.find_first_not_of(' '), found.size()));
      return std::string(found.substr(0, found.find_last_not_of(' ') + 1));
    }
    if (end && c == '>') return {};
    if (end) begin = i + 1;
    if (c == '>' || c == ')') --depth;
  }
  return {};
}

/// Arguments of the first ako_shim_::<name><...> in the text. nvcc's front end shows the
/// parameters' names there and the arguments behind: name_<A, B> [with A=1, B=float *].
std::vector<std::string> shim_arguments(std::string_view text, std::string_view name, int count) {
  const std::string key = fmt::format("ako_shim_::{}<", name);
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t end = std::min(text.find('\n', at), text.size());
  constexpr std::string_view k_with = "> [with ";
  const std::size_t with = text.substr(0, end).find(k_with, at);
  std::vector<std::string> list;
  if (with == std::string_view::npos ||
      text.substr(with, end - with).find(" = ") != std::string_view::npos) {
    for (int i = 0; i < count; ++i) list.push_back(template_argument(text, at + key.size(), i));
    return list;
  }
  std::string given(text.substr(with + k_with.size(), end - with - k_with.size()));
  given = given.substr(0, given.rfind(']')) + ">";
  for (int i = 0; i < count; ++i) {
    const std::string pair = template_argument(given, 0, i);
    const std::size_t equals = pair.find('=');
    list.push_back(equals == std::string::npos ? pair : pair.substr(equals + 1));
  }
  return list;
}

std::vector<base::Function> named(const std::string& symbol, const std::string& file,
                                  const model::Sources& sources, bool only_same) {
  const auto* source = sources.find(file);
  if (source == nullptr) return {};
  auto functions = base::find_functions(source->content);
  const std::string plain = symbol.substr(0, symbol.find('<'));
  std::erase_if(functions, [&](const base::Function& function) {
    const bool same = function.qualified == plain || function.name == plain ||
                      function.qualified.ends_with("::" + plain);
    return only_same ? !same : function.is_member;
  });
  return functions;
}

std::string signatures(const std::vector<base::Function>& functions) {
  std::string list;
  for (const auto& function : functions)
    list += fmt::format("{}{} (line {})", list.empty() ? "" : "; ", function.signature(),
                        function.line);
  return list.empty() ? "no function at all" : list;
}

base::Error make_error(const model::EntryRef& entry, std::string message, std::string found,
                       std::string allowed, std::string next) {
  return {base::ErrorKind::invalid,
          std::move(message),
          fmt::format("{}, function {}", entry.file, entry.symbol),
          std::move(found),
          std::move(allowed),
          std::move(next)};
}

/// Where task.toml names the function of this side.
const char* symbol_key(Role role) {
  switch (role) {
  case Role::reference: return "reference.entry.symbol";
  case Role::baseline: return "entry.symbol of its [[baseline]]";
  case Role::candidate:
  case Role::incumbent: break;
  }
  return "kernel.entry.symbol";
}

/// The name could not be taken as one function: absent, overloaded or a template.
base::Error explain_entry(Role role, const model::EntryRef& entry, const model::Sources& sources,
                          const std::string& said) {
  const std::string key = symbol_key(role);
  const auto same = named(entry.symbol, entry.file, sources, true);
  if (same.size() > 1)
    return make_error(entry, fmt::format("the entry '{}' is overloaded", entry.symbol),
                      signatures(same), "one function of that name",
                      "rename the one that is to be called, and name it in " + key);
  if (same.size() == 1 && same[0].is_template && entry.symbol.find('<') == std::string::npos)
    return make_error(entry, fmt::format("the entry '{}' is a template", entry.symbol),
                      signatures(same), "a function, or one instance such as name<float>",
                      "name the instance in " + key);
  if (same.size() == 1 && same[0].qualified != entry.symbol)
    return make_error(entry, fmt::format("there is no function '{}'", entry.symbol),
                      signatures(same), "the function's qualified name",
                      fmt::format("write it as '{}' in {}", same[0].qualified, key));
  if (same.empty())
    return make_error(entry, fmt::format("there is no function '{}'", entry.symbol),
                      signatures(named(entry.symbol, entry.file, sources, false)),
                      "a function that is defined in the entry's file",
                      "correct the name in " + key + ", or define the function");
  return make_error(entry, fmt::format("'{}' cannot be called as the entry", entry.symbol), said,
                    "one function, not static in another file", "see the compiler's message");
}

std::string given_list(const std::vector<Argument>& arguments) {
  std::string list;
  for (const auto& argument : arguments) list += (list.empty() ? "" : ", ") + argument.name;
  return list;
}

std::optional<base::Error> explain_argument(std::string_view text,
                                            const std::vector<Argument>& arguments,
                                            const model::EntryRef& entry) {
  const auto parts = shim_arguments(text, "argument_", 2);
  if (parts.size() != 2) return std::nullopt;
  const int number = to_int(parts[0]);
  if (number < 1 || number > static_cast<int>(arguments.size())) return std::nullopt;
  const Argument& argument = arguments[static_cast<std::size_t>(number - 1)];
  std::string next = "change the parameter, or the order in kernel.args";
  const bool narrow = argument.kind == Argument::Kind::axis &&
                      (parts[1] == "int" || parts[1] == "unsigned" || parts[1] == "unsigned int");
  if (narrow)
    next = fmt::format("take std::int64_t, or lower axes.{}.max to what the parameter can hold",
                       argument.name);
  return make_error(entry,
                    fmt::format("argument {} of '{}' has the wrong type: the contract gives {}, "
                                "the function takes {}",
                                number, entry.symbol, argument.gives, parts[1]),
                    parts[1], argument.accepts, std::move(next));
}

} // namespace

std::vector<CompilerMessage> parse_messages(std::string_view text, const model::Sources& sources,
                                            std::size_t most) {
  const auto lines = read_lines(text);
  std::vector<CompilerMessage> errors, warnings;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    const bool error = line.severity == "error";
    if ((!error && line.severity != "warning") || (error ? errors : warnings).size() >= most)
      continue;
    CompilerMessage message;
    message.severity = line.severity;
    message.text = line.text.substr(0, 2000);
    const Place place = own_place(lines, i, sources);
    if (!place.file.empty()) {
      message.file = normal(place.file);
      message.line = place.line;
      message.column = place.column;
      message.source_line = line_of(*sources.find(message.file), place.line);
    }
    (error ? errors : warnings).push_back(std::move(message));
  }
  errors.insert(errors.end(), std::make_move_iterator(warnings.begin()),
                std::make_move_iterator(warnings.end()));
  if (errors.size() > most) errors.resize(most);
  return errors;
}

std::optional<base::Error> explain_shim_error(std::string_view text, model::Lane lane,
                                              const model::Contract& contract, Role role,
                                              const model::EntryRef& entry,
                                              const model::Sources& sources) {
  const auto lines = read_lines(text);
  const auto first = std::find_if(lines.begin(), lines.end(),
                                  [](const Line& line) { return line.severity == "error"; });
  if (first == lines.end()) return std::nullopt;
  // A fault in the candidate's own text comes first and is told in the compiler's words.
  const bool in_shim = first->place.file.starts_with("ako-shim-");
  if (!in_shim) return std::nullopt;
  auto arguments = arguments_of(contract, lane, role);
  if (!arguments) return arguments.error();
  if (first->place.file == k_entry_region) return explain_entry(role, entry, sources, first->text);
  if (text.find("AKO_FUNCTION") != std::string_view::npos)
    return make_error(entry, fmt::format("'{}' is no function", entry.symbol), "an object",
                      "a function with a fixed number of arguments", "name a function");
  if (text.find("AKO_COUNT") != std::string_view::npos) {
    const auto parts = shim_arguments(text, "count_", 2);
    return make_error(entry,
                      fmt::format("'{}' takes {} arguments, the contract gives {}", entry.symbol,
                                  parts.empty() ? "other" : parts[0], arguments->size()),
                      signatures(named(entry.symbol, entry.file, sources, true)),
                      given_list(*arguments),
                      lane == model::Lane::cpu
                          ? "change the function, or list its arguments in kernel.args"
                          : "change the function (the stream is its last argument), or list its "
                            "arguments in kernel.args");
  }
  if (text.find("AKO_ARGUMENT") != std::string_view::npos)
    if (auto error = explain_argument(text, *arguments, entry)) return error;
  if (text.find("AKO_RESULT") != std::string_view::npos) {
    const auto parts = shim_arguments(text, "result_", 1);
    return make_error(entry, fmt::format("'{}' returns the wrong type", entry.symbol),
                      parts.empty() ? "" : parts[0],
                      lane == model::Lane::cpu ? "void, or int with 0 for success"
                      : lane == model::Lane::cutlass
                          ? "void, cudaError_t, cutlass::Status, or int with 0 for success"
                          : "void, cudaError_t, or int with 0 for success",
                      "change what the function returns");
  }
  return std::nullopt;
}

std::optional<std::string> first_linker_error(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    at = end + 1;
    for (const std::string_view key :
         {"undefined reference to", "undefined symbol", "multiple definition of",
          "duplicate symbol", "cannot find -l", "unable to find library"}) {
      const std::size_t found = row.find(key);
      if (found != std::string_view::npos) return std::string(row.substr(found, 400));
    }
  }
  return std::nullopt;
}

} // namespace ako::lanes::native
