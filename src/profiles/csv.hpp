// Records of comma-separated text that may stand among other text.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

enum class RecordEnd {
  line,     ///< the record ended at a line's end
  file,     ///< at the end of the text, no line end there
  unclosed, ///< a quote was still open at the end of the text, or for more than k_longest bytes
};

struct Record {
  std::int64_t line = 0; ///< the line it begins on, from 1
  std::string_view text; ///< as it stands, without the line end
  RecordEnd end = RecordEnd::line;
};

/// Walks the text line by line; a record joins the lines that an open quote spans. Views point into
/// the text, or into this object where doubled quotes had to be undone.
class CsvScanner {
public:
  static constexpr std::size_t k_longest = 1 << 20;

  explicit CsvScanner(std::string_view text);
  bool at_end() const { return m_at >= m_text.size(); }
  struct Place {
    std::size_t at;
    std::int64_t line;
  };
  Place place() const { return {m_at, m_line}; }
  void go_back(Place place) { m_at = place.at, m_line = place.line; }
  /// The next line alone, quotes ignored.
  Record next_line();
  /// The next record; with `unclosed` only its first line is taken.
  Record next_record();
  /// Splits at `separator` outside quotes into `fields` (cleared first). False when a quote is
  /// malformed: text after a closing quote, or none closing.
  bool split(std::string_view record, char separator, std::vector<std::string_view>& fields);

private:
  std::string_view m_text;
  std::size_t m_at = 0;
  std::int64_t m_line = 0;
  std::deque<std::string> m_unescaped;
};

} // namespace ako::profiles
