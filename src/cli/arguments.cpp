#include "cli/arguments.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace ako::cli {

std::string Arguments::text(const std::string& name, std::string fallback) const {
  auto found = m_values.find(name);
  return found == m_values.end() ? std::move(fallback) : found->second.back();
}

std::optional<std::string> Arguments::maybe(const std::string& name) const {
  auto found = m_values.find(name);
  if (found == m_values.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::all(const std::string& name) const {
  auto found = m_values.find(name);
  return found == m_values.end() ? std::vector<std::string>{} : found->second;
}

namespace {

template <class T>
base::Expected<T> convert(const std::string& name, const std::string& word, const char* allowed) {
  T value{};
  auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc() || end != word.data() + word.size())
    return base::fail(base::ErrorKind::usage, "not a number",
                      {.where = "--" + name, .found = word, .allowed = allowed, .next = {}});
  return value;
}

} // namespace

base::Expected<double> Arguments::number(const std::string& name, double fallback) const {
  if (!has(name)) return fallback;
  AKO_TRY(double value, convert<double>(name, text(name), "a finite number"));
  if (!std::isfinite(value))
    return base::fail(
        base::ErrorKind::usage, "not a finite number",
        {.where = "--" + name, .found = text(name), .allowed = "a finite number", .next = {}});
  return value;
}

base::Expected<std::int64_t> Arguments::integer(const std::string& name,
                                                std::int64_t fallback) const {
  if (!has(name)) return fallback;
  return convert<std::int64_t>(name, text(name), "a whole number");
}

base::Expected<std::filesystem::path> named_file(const std::string& text,
                                                 const std::filesystem::path& dir) {
  std::error_code why;
  for (const auto& path : {std::filesystem::absolute(text), std::filesystem::absolute(dir / text)})
    if (std::filesystem::is_regular_file(path, why)) return path;
  const bool there = std::filesystem::exists(dir / text, why);
  return base::fail(base::ErrorKind::usage, "there is no such file",
                    {.where = text,
                     .found = there ? "something that is no file" : "nothing of that name",
                     .allowed = "a file, named from here or from " + dir.string(),
                     .next = "check the name"});
}

base::Expected<std::optional<std::string>> persons_word(const Arguments& arguments,
                                                        const std::string& option) {
  auto word = arguments.maybe(option);
  const char* unattended = std::getenv("AKO_UNATTENDED");
  if (!word || unattended == nullptr || *unattended == '\0') return word;
  return base::fail(
      base::ErrorKind::refused, "an unattended agent waives nothing and flags nothing",
      {.where = "--" + option,
       .found = *word,
       .allowed = "a person's word: [[waiver]] in a campaign's file, or a server that "
                  "a person started as ako mcp --allow-waivers",
       .next = "go on without it: supply what the gate asks for"});
}

} // namespace ako::cli
