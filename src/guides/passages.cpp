#include "guides/search.hpp"

#include <algorithm>

namespace ako::guides {
namespace {

/// Depth of a Markdown heading; 0 = none.
std::size_t depth_of(std::string_view line) {
  const auto depth = line.find_first_not_of('#');
  return depth != line.npos && depth > 0 && depth < 7 && line[depth] == ' ' ? depth : 0;
}

class Cutter {
public:
  Cutter(const std::string& title, std::size_t most) : m_title(title), m_most(most) {}

  void heading(std::size_t depth, std::string_view text, std::size_t line, std::size_t offset) {
    cut(line, offset);
    // The first heading of a guide repeats its title.
    if (depth > 1) {
      m_above.resize(std::min(m_above.size(), depth - 2));
      m_above.resize(depth - 2);
      m_above.emplace_back(text);
    }
  }
  void line(bool blank, std::size_t line, std::size_t offset) {
    const std::size_t length = line - m_line;
    if ((length >= m_most && blank) || length >= m_most + m_most / 2) cut(line, offset);
  }
  void cut(std::size_t line, std::size_t offset) {
    if (offset > m_offset) {
      std::string heading = m_title;
      for (const auto& one : m_above)
        if (!one.empty()) heading += " > " + one;
      m_out.push_back({std::move(heading), m_line, m_offset, offset - m_offset});
    }
    m_line = line;
    m_offset = offset;
  }
  std::vector<Passage> take() { return std::move(m_out); }

private:
  const std::string& m_title;
  std::size_t m_most;
  std::vector<std::string> m_above;
  std::vector<Passage> m_out;
  std::size_t m_line = 1, m_offset = 0;
};

} // namespace

std::vector<Passage> passages(std::string_view text, const std::string& title, TextKind kind,
                              std::size_t most) {
  Cutter cutter(title, most);
  bool fenced = false;
  std::size_t number = 1, offset = 0;
  while (offset < text.size()) {
    const std::size_t end = std::min(text.find('\n', offset), text.size());
    const std::string_view line = text.substr(offset, end - offset);
    const bool fence = kind == TextKind::markdown && line.starts_with("```");
    if (fence) fenced = !fenced;
    const std::size_t depth = kind == TextKind::markdown && !fenced ? depth_of(line) : 0;
    if (depth > 0) cutter.heading(depth, line.substr(depth + 1), number, offset);
    else if (number > 1 && !fenced && !fence)
      cutter.line(line.find_first_not_of(" \t\r") == line.npos, number, offset);
    offset = end + 1;
    ++number;
  }
  cutter.cut(number, text.size());
  return cutter.take();
}

} // namespace ako::guides
