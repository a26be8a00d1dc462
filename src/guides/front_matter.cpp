#include "guides/front_matter.hpp"

namespace ako::guides {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

/// At commas that stand outside quotes.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"') quoted = !quoted;
    if (i < text.size() && (quoted || text[i] != ',')) continue;
    if (const auto part = unquoted(text.substr(begin, i - begin)); !part.empty())
      out.push_back(part);
    begin = i + 1;
  }
  return out;
}

bool read_line(std::string_view line, FrontMatter& into) {
  if (line.empty() || line[0] == ' ') return true; // an item of the list above, or nothing
  const auto colon = line.find(':');
  if (colon == line.npos) return false;
  const std::string key(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (value.empty()) return true;
  if (value.front() != '[') {
    into.words[key] = unquoted(value);
    return true;
  }
  if (value.back() != ']') return false;
  into.lists[key] = split(value.substr(1, value.size() - 2));
  return true;
}

} // namespace

std::string FrontMatter::word(const std::string& key) const {
  const auto found = words.find(key);
  return found == words.end() ? std::string() : found->second;
}

std::vector<std::string> FrontMatter::list(const std::string& key) const {
  const auto found = lists.find(key);
  return found == lists.end() ? std::vector<std::string>() : found->second;
}

base::Expected<FrontMatter> read_front_matter(std::string_view text, const std::string& where) {
  constexpr std::string_view k_begin = "---\n", k_end = "\n---\n";
  const auto end = text.find(k_end);
  if (!text.starts_with(k_begin) || end == text.npos)
    return base::fail(
        base::ErrorKind::invalid, "this text has no head",
        {.where = where,
         .found = std::string(text.substr(0, std::min<std::size_t>(40, text.find('\n')))),
         .allowed = "front matter between two lines of ---",
         .next = "run tools/references/check.py"});
  FrontMatter out;
  out.body = end + k_end.size();
  std::string_view head = text.substr(k_begin.size(), end - k_begin.size());
  while (!head.empty()) {
    const auto stop = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, stop);
    if (!read_line(line, out))
      return base::fail(base::ErrorKind::invalid, "a line of the head is not understood",
                        {.where = where,
                         .found = std::string(line.substr(0, 80)),
                         .allowed = "key: value, key: [a, b]",
                         .next = "run tools/references/check.py"});
    head.remove_prefix(std::min(stop + 1, head.size()));
  }
  return out;
}

} // namespace ako::guides
