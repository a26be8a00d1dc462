#include "profiles/csv.hpp"

#include <algorithm>
#include <cstring>

namespace ako::profiles {

CsvScanner::CsvScanner(std::string_view text) : m_text(text) {
  if (m_text.starts_with("\xef\xbb\xbf")) m_text.remove_prefix(3);
}

Record CsvScanner::next_line() {
  Record record;
  record.line = ++m_line;
  std::size_t end = m_text.find('\n', m_at);
  if (end == std::string_view::npos) {
    record.end = RecordEnd::file;
    end = m_text.size();
  }
  record.text = m_text.substr(m_at, end - m_at);
  m_at = std::min(end + 1, m_text.size());
  if (record.text.ends_with('\r')) record.text.remove_suffix(1);
  return record;
}

Record CsvScanner::next_record() {
  const std::size_t begin = m_at;
  const std::int64_t first = m_line;
  Record record = next_line();
  // An odd number of quotes leaves one open; doubled quotes do not change the parity.
  auto quotes = [](std::string_view text) { return std::count(text.begin(), text.end(), '"'); };
  auto open = quotes(record.text) % 2;
  if (!open) return record;
  const std::size_t after_first = m_at;
  while (open && !at_end() && m_at - begin < k_longest) {
    Record more = next_line();
    open ^= quotes(more.text) % 2;
    record.end = more.end;
    record.text = std::string_view(
        record.text.data(),
        static_cast<std::size_t>(more.text.data() + more.text.size() - record.text.data()));
  }
  if (!open) return record;
  m_at = begin, m_line = first;
  record = next_line();
  record.end = RecordEnd::unclosed;
  m_at = after_first;
  return record;
}

bool CsvScanner::split(std::string_view record, char separator,
                       std::vector<std::string_view>& fields) {
  fields.clear();
  std::size_t at = 0;
  while (true) {
    if (at < record.size() && record[at] == '"') {
      const std::size_t begin = ++at;
      bool doubled = false;
      while (true) {
        const void* found =
            at < record.size() ? std::memchr(record.data() + at, '"', record.size() - at) : nullptr;
        if (!found) return false;
        at = static_cast<std::size_t>(static_cast<const char*>(found) - record.data());
        if (at + 1 < record.size() && record[at + 1] == '"') {
          doubled = true;
          at += 2;
          continue;
        }
        break;
      }
      std::string_view field = record.substr(begin, at - begin);
      if (doubled) {
        std::string& plain = m_unescaped.emplace_back();
        for (std::size_t i = 0; i < field.size(); ++i) {
          plain += field[i];
          if (field[i] == '"') ++i;
        }
        field = plain;
      }
      fields.push_back(field);
      ++at;
      if (at < record.size() && record[at] != separator) return false;
    } else {
      std::size_t end = record.find(separator, at);
      if (end == std::string_view::npos) end = record.size();
      fields.push_back(record.substr(at, end - at));
      at = end;
    }
    if (at >= record.size()) return true;
    ++at;
    if (at == record.size()) {
      fields.push_back({});
      return true;
    }
  }
}

} // namespace ako::profiles
