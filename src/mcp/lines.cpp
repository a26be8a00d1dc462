#include "mcp/lines.hpp"

namespace ako::mcp {

void LineReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (!m_dropping && m_open.size() + part.size() > m_most) {
      m_dropping = true;
      m_open.clear();
      m_open.shrink_to_fit();
    }
    if (!m_dropping) m_open += part;
    if (end == std::string_view::npos) return;
    if (!m_open.empty() && m_open.back() == '\r') m_open.pop_back();
    m_lines.push_back({std::move(m_open), m_dropping});
    m_open = {};
    m_dropping = false;
    bytes.remove_prefix(end + 1);
  }
}

std::optional<Line> LineReader::next() {
  if (m_lines.empty()) return std::nullopt;
  Line line = std::move(m_lines.front());
  m_lines.pop_front();
  return line;
}

} // namespace ako::mcp
