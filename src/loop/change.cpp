#include "loop/change.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace ako::loop {
namespace {

// One hypothesis changes one function, or a kernel and its launcher; a tile size may touch a few
// more lines. Beyond this a result cannot be ascribed to one idea.
constexpr std::size_t k_files = 2, k_functions = 3;
constexpr int k_lines = 120;

bool python(const std::string& path) { return path.ends_with(".py"); }

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Words with one blank between two that would run together; strings as they are.
class Normal {
public:
  Normal(const std::string& text, bool is_python) : m_text(text), m_python(is_python) {
    while (m_at < m_text.size()) step();
  }
  const std::string& text() const { return m_out; }

private:
  bool here(std::string_view what) const { return m_text.compare(m_at, what.size(), what) == 0; }
  void skip_to(std::string_view end, std::size_t from, std::size_t keep) {
    const std::size_t at = m_text.find(end, from);
    m_at = at == std::string::npos ? m_text.size() : at + end.size() - keep;
    m_gap = true;
  }
  void add(char c) {
    if (m_gap && !m_out.empty() && word(m_out.back()) && word(c)) m_out += ' ';
    m_gap = false;
    m_out += c;
  }
  void string(char mark) {
    add(mark);
    for (++m_at; m_at < m_text.size(); ++m_at) {
      m_out += m_text[m_at];
      if (m_text[m_at] == '\\' && m_at + 1 < m_text.size()) m_out += m_text[++m_at];
      else if (m_text[m_at] == mark) break;
    }
    ++m_at;
  }
  /// In Python the indentation is part of what it says.
  void line_end() {
    ++m_at;
    if (!m_python) {
      m_gap = true;
      return;
    }
    std::size_t indent = 0;
    while (m_at + indent < m_text.size() && m_text[m_at + indent] == ' ') ++indent;
    const std::size_t next = m_at + indent;
    const bool blank = next >= m_text.size() || m_text[next] == '\n' || m_text[next] == '#';
    if (blank) return;
    m_out += '\n' + std::string(indent, ' ');
    m_at = next;
    m_gap = false;
  }
  void step() {
    if (m_python && here("#")) return skip_to("\n", m_at, 1);
    if (!m_python && here("//")) return skip_to("\n", m_at, 1);
    if (!m_python && here("/*")) return skip_to("*/", m_at + 2, 0);
    const char c = m_text[m_at];
    if (c == '\n') return line_end();
    if (std::isspace(static_cast<unsigned char>(c))) {
      m_gap = true;
      ++m_at;
      return;
    }
    if (c == '"' || (c == '\'' && (m_python || m_at == 0 || !word(m_text[m_at - 1]))))
      return string(c);
    add(c);
    ++m_at;
  }

  const std::string& m_text;
  bool m_python;
  std::size_t m_at = 0;
  bool m_gap = false;
  std::string m_out;
};

} // namespace

std::string ChangeWidth::text() const {
  const auto many = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{}, {}, {} (+{} -{})", many(files.size(), "file"),
                     many(functions.size(), "function"),
                     many(static_cast<std::size_t>(added + removed), "line"), added, removed);
}

ChangeWidth width_of(std::string_view diff) {
  ChangeWidth out;
  std::string file;
  const auto note = [](std::vector<std::string>& list, const std::string& name) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  };
  bool in_hunk = false;
  for (std::size_t at = 0; at < diff.size();) {
    const std::size_t end = std::min(diff.find('\n', at), diff.size());
    const std::string_view line = diff.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("diff --git ")) {
      const std::size_t b = line.rfind(" b/");
      file = b == line.npos ? std::string(line) : std::string(line.substr(b + 3));
      note(out.files, file);
      in_hunk = false;
    } else if (line.starts_with("@@ ")) {
      ++out.hunks;
      in_hunk = true;
      const std::size_t close = line.find("@@", 3);
      std::string context(close == line.npos ? "" : line.substr(close + 2));
      context.erase(0, std::min(context.find_first_not_of(' '), context.size()));
      if (!context.empty()) note(out.functions, file + ": " + context);
    } else if (in_hunk && line.starts_with("+")) ++out.added;
    else if (in_hunk && line.starts_with("-")) ++out.removed;
  }
  return out;
}

std::string wider_than_one_idea(const ChangeWidth& width) {
  const bool wide = width.files.size() > k_files || width.functions.size() > k_functions ||
                    width.added + width.removed > k_lines;
  if (!wide) return {};
  return fmt::format("the change is wider than one idea: {}; a result cannot be ascribed to the "
                     "hypothesis alone",
                     width.text());
}

base::Hash normalised_hash(const model::Sources& sources) {
  base::Hasher hasher;
  for (const auto& text : sources.texts) {
    const Normal normal(text.content, python(text.path));
    hasher.add_field(text.path).add_field(normal.text());
  }
  return hasher.finish();
}

} // namespace ako::loop
