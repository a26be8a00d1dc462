#include "loop/port/call_site.hpp"

#include "base/cpp_scan.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace ako::loop {
namespace {

enum class Language { native, python };

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Spots of code blanked out: comments and strings become spaces, lines keep their places.
class Blanked {
public:
  Blanked(const std::string& text, Language language) : m_text(text), m_language(language) {
    while (m_at < text.size()) step();
    m_out.resize(text.size(), ' ');
  }
  const std::string& text() const { return m_out; }

private:
  void copy(std::size_t count) {
    for (; count > 0 && m_at < m_text.size(); --count) m_out += m_text[m_at++];
  }
  void blank(std::size_t count) {
    for (; count > 0 && m_at < m_text.size(); --count) m_out += m_text[m_at++] == '\n' ? '\n' : ' ';
  }
  bool here(std::string_view what) const { return m_text.compare(m_at, what.size(), what) == 0; }
  void blank_to(std::string_view end, std::size_t from) {
    const std::size_t at = m_text.find(end, from);
    blank(at == std::string::npos ? m_text.size() : at + end.size() - m_at);
  }

  void quoted(char mark) {
    std::size_t at = m_at + 1;
    while (at < m_text.size() && m_text[at] != mark && m_text[at] != '\n')
      at += m_text[at] == '\\' ? 2 : 1;
    blank(at + 1 - m_at);
  }

  void step() {
    const bool python = m_language == Language::python;
    if (python && here("#")) return blank_to("\n", m_at);
    if (python && (here("\"\"\"") || here("'''")))
      return blank_to(m_text.substr(m_at, 3), m_at + 3);
    if (!python && here("//")) return blank_to("\n", m_at);
    if (!python && here("/*")) return blank_to("*/", m_at + 2);
    if (!python && here("R\"")) {
      const std::size_t open = m_text.find('(', m_at);
      if (open != std::string::npos)
        return blank_to(")" + m_text.substr(m_at + 2, open - m_at - 2) + "\"", open);
    }
    if (here("\"")) return quoted('"');
    // 1'000 in C++ is a number.
    if (here("'") && (python || m_at == 0 || !is_word_char(m_text[m_at - 1]))) return quoted('\'');
    copy(1);
  }

  const std::string& m_text;
  Language m_language;
  std::size_t m_at = 0;
  std::string m_out;
};

/// Where a callee stands with a parenthesis behind it, and begins no longer name.
std::vector<std::size_t> calls_in(const std::string& code, const std::string& call) {
  std::vector<std::size_t> out;
  for (std::size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) {
    if (at > 0) {
      const char before = code[at - 1];
      if (is_word_char(before) || before == ':' || before == '.' ||
          (before == '>' && at > 1 && code[at - 2] == '-'))
        continue;
    }
    std::size_t behind = at + call.size();
    if (behind < code.size() && is_word_char(code[behind])) continue;
    while (behind < code.size() && std::isspace(static_cast<unsigned char>(code[behind]))) ++behind;
    if (behind < code.size() && code[behind] == '(') out.push_back(at);
  }
  return out;
}

int line_of(const std::string& text, std::size_t at) {
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

std::string line_text(const std::string& text, int line) {
  std::size_t at = 0;
  for (int i = 1; i < line && at != std::string::npos; ++i) at = text.find('\n', at) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

base::Expected<Rewritten> put_in(const std::string& text, const CallSite& site,
                                 const std::vector<std::size_t>& places, int behind_line) {
  if (text.find(site.dispatch + "(") != std::string::npos)
    return base::fail(base::ErrorKind::refused, "the call is led to a dispatch already",
                      {.where = site.path,
                       .found = site.dispatch,
                       .allowed = "a target branch without this port",
                       .next = "name another [port] branch, or revert the port there"});
  if (places.empty())
    return base::fail(
        base::ErrorKind::refused, "the call was not found at its site",
        {.where = site.path,
         .found = "no call of " + site.call + " inside a function",
         .allowed = "the callee as it is written there, a plain function",
         .next = "mend [port] call and call_site in task.toml, or give [port] patches"});
  Rewritten out;
  std::size_t done = 0;
  for (const std::size_t at : places) {
    out.lines.push_back(line_of(text, at));
    out.text += text.substr(done, at - done) + site.dispatch + "(" + site.call + ")";
    done = at + site.call.size();
  }
  out.text += text.substr(done);
  // All calls stand below the line that the include goes behind.
  std::size_t at = 0;
  for (int i = 0; i < behind_line; ++i) at = out.text.find('\n', at) + 1;
  const bool crlf = out.text.find("\r\n") != std::string::npos;
  out.text.insert(at, site.include + (crlf ? "\r\n" : "\n"));
  return out;
}

/// The last #include that stands outside of #if, above all functions; an include guard counts as
/// outside.
int last_include(const std::string& text, int before_line) {
  int line = 0, depth = 0, best = 0, best_depth = INT32_MAX;
  for (std::size_t at = 0; at < text.size() && line + 1 < before_line;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string row = text.substr(at, end - at);
    at = end + 1;
    ++line;
    row.erase(0, row.find_first_not_of(" \t"));
    if (!row.starts_with("#")) continue;
    row.erase(0, row.find_first_not_of(" \t", 1));
    if (row.starts_with("if")) ++depth;
    if (row.starts_with("endif")) --depth;
    if (row.starts_with("include") && depth <= best_depth) best = line, best_depth = depth;
  }
  return best;
}

} // namespace

base::Expected<Rewritten> rewrite_native(const std::string& text, const CallSite& site) {
  const Blanked code(text, Language::native);
  const auto functions = base::find_functions(text);
  std::vector<std::size_t> places;
  int first = INT32_MAX;
  for (const auto& function : functions) first = std::min(first, function.first_line);
  for (const std::size_t at : calls_in(code.text(), site.call)) {
    const int line = line_of(text, at);
    for (const auto& function : functions) {
      if (line < function.first_line || line > function.last_line) continue;
      // Behind the brace that opens the body: what stands before it is the signature.
      std::size_t start = 0;
      for (int i = 1; i < function.first_line; ++i) start = text.find('\n', start) + 1;
      const std::size_t body = code.text().find('{', start);
      if (body != std::string::npos && at > body) {
        places.push_back(at);
        break;
      }
    }
  }
  return put_in(text, site, places, last_include(text, first));
}

base::Expected<Rewritten> rewrite_python(const std::string& text, const CallSite& site) {
  const Blanked code(text, Language::python);
  std::vector<std::size_t> places;
  for (const std::size_t at : calls_in(code.text(), site.call)) {
    std::string row = line_text(code.text(), line_of(text, at));
    row.erase(0, std::min(row.find_first_not_of(" \t"), row.size()));
    const bool declares = row.starts_with("def ") || row.starts_with("async def ") ||
                          row.starts_with("class ") || row.starts_with("@");
    if (!declares) places.push_back(at);
  }
  // Behind the last import at the left margin that is above all calls, its brackets closed.
  const int first = places.empty() ? 0 : line_of(text, places.front());
  int behind = 0;
  for (int line = 1; line < first; ++line) {
    const std::string row = line_text(code.text(), line);
    if (!row.starts_with("import ") && !row.starts_with("from ")) continue;
    behind = line;
    if (row.find('(') != std::string::npos && row.find(')') == std::string::npos)
      while (behind < first && line_text(code.text(), behind).find(')') == std::string::npos)
        ++behind;
    while (behind < first && line_text(code.text(), behind).ends_with("\\")) ++behind;
  }
  return put_in(text, site, places, behind);
}

} // namespace ako::loop
