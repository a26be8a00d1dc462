// Bytes from a pipe, cut into lines.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace ako::mcp {

struct Line {
  std::string text;      ///< without its line break; empty when too_long
  bool too_long = false; ///< it was longer than the reader takes and has been dropped
};

/// Holds at most `most` bytes of an unfinished line; of a longer one only that it was there.
class LineReader {
public:
  explicit LineReader(std::size_t most) : m_most(most) {}
  void feed(std::string_view bytes);
  std::optional<Line> next();
  /// What stands after the last line break, at the end of the stream.
  std::string rest() { return m_dropping ? std::string() : std::move(m_open); }

private:
  std::size_t m_most;
  std::string m_open;
  bool m_dropping = false;
  std::deque<Line> m_lines;
};

} // namespace ako::mcp
