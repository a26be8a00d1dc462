#include "loop/port/flags.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace ako::loop {
namespace {

/// Words of a command line; quotes group, backslashes escape.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  char quote = 0;
  bool any = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (any) out.push_back(std::move(word));
      word.clear();
      any = false;
      continue;
    }
    any = true;
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) word += line[++i];
    else if (quote != 0 && c == quote) quote = 0;
    else if (quote == 0 && (c == '"' || c == '\'')) quote = c;
    else word += c;
  }
  if (any) out.push_back(std::move(word));
  return out;
}

bool is_any(const std::string& word, std::initializer_list<const char*> all) {
  return std::any_of(all.begin(), all.end(), [&](const char* each) { return word == each; });
}

bool starts_any(const std::string& word, std::initializer_list<const char*> all) {
  return std::any_of(all.begin(), all.end(),
                     [&](const char* each) { return word.starts_with(each); });
}

/// What a flag is about: flags of one subject replace one another. Empty = it changes neither
/// numbers nor speed.
std::string subject_of(const std::string& word) {
  if (word == "-O" || (word.starts_with("-O") && word.size() <= 6)) return "-O";
  for (const char* each :
       {"-march", "-mtune", "-mcpu", "-std", "-ffp-contract", "-maxrregcount", "--maxrregcount",
        "-fp-model", "--std", "-mfpmath", "-mprefer-vector-width"})
    if (word == each || word.starts_with(std::string(each) + "=")) return each;
  if (starts_any(word, {"-arch", "--gpu-architecture"})) return "-arch";
  if (starts_any(word, {"-gencode", "--generate-code"})) return "-gencode";
  if (is_any(word,
             {"-G", "--device-debug", "-flto", "-fopenmp", "-use_fast_math", "--use_fast_math"}) ||
      starts_any(word, {"-flto=", "--ftz", "-ftz", "-prec-div", "--prec-div", "-prec-sqrt",
                        "--prec-sqrt", "-fmad", "--fmad", "-fsanitize"}))
    return word.substr(0, word.find('='));
  if (starts_any(word, {"-fPIC", "-fpic", "-fPIE", "-fvisibility", "-fdiagnostics", "-fcolor",
                        "-fmessage", "-fmacro-prefix", "-ffile-prefix", "-fdebug-prefix"}))
    return {};
  if (word.starts_with("-f") && word != "-f") {
    const std::string plain = word.substr(0, word.find('='));
    return plain.starts_with("-fno-") ? "-f" + plain.substr(5) : plain;
  }
  if (word.starts_with("-m") && word.size() > 2)
    return word.starts_with("-mno-") ? "-m" + word.substr(5) : word.substr(0, word.find('='));
  return {};
}

/// By subject; several architectures are one value.
std::map<std::string, std::string> settings_of(std::string_view line) {
  std::map<std::string, std::string> out;
  const auto words = words_of(line);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string subject = subject_of(words[i]);
    if (subject.empty()) continue;
    std::string value = words[i];
    const bool takes_next = is_any(value, {"-arch", "-gencode", "--gpu-architecture",
                                           "--generate-code", "-maxrregcount", "-std", "--std"});
    if (takes_next && i + 1 < words.size()) value += " " + words[++i];
    std::string& there = out[subject];
    there = subject == "-gencode" && !there.empty() ? there + " " + value : value;
  }
  return out;
}

} // namespace

std::vector<std::string> flag_differences(std::string_view measured, std::string_view target) {
  const auto ours = settings_of(measured), theirs = settings_of(target);
  std::set<std::string> subjects;
  for (const auto* side : {&ours, &theirs})
    for (const auto& [subject, value] : *side) subjects.insert(subject);
  std::vector<std::string> out;
  for (const auto& subject : subjects) {
    const auto of = [&](const auto& settings) {
      const auto at = settings.find(subject);
      return at == settings.end() ? std::string("none") : at->second;
    };
    if (of(ours) != of(theirs))
      out.push_back(fmt::format("{}: measured {}, target {}", subject, of(ours), of(theirs)));
  }
  return out;
}

base::Expected<std::string> compile_command(const std::string& json, const std::string& path) {
  AKO_TRY(const base::Json list, base::parse_json(json, "compile_commands.json"));
  if (list.is_array())
    for (const auto& entry : list) {
      if (!entry.is_object()) continue;
      const std::string file = base::get_or<std::string>(entry, "file", "");
      if (file != path && !file.ends_with("/" + path)) continue;
      if (auto line = base::get<std::string>(entry, "command")) return *line;
      std::string out;
      for (const auto& word : base::get_or<base::Json>(entry, "arguments", base::Json::array()))
        if (word.is_string()) out += (out.empty() ? "" : " ") + word.get<std::string>();
      if (!out.empty()) return out;
    }
  return base::fail(base::ErrorKind::invalid,
                    "the build does not say how the call site is compiled",
                    {.where = "compile_commands.json",
                     .found = "no entry for " + path,
                     .allowed = "one that the build writes (CMAKE_EXPORT_COMPILE_COMMANDS=ON)",
                     .next = "mend [port] compile_commands"});
}

} // namespace ako::loop
