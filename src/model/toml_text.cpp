#include "model/toml_text.hpp"

#include "model/toml_reader.hpp"

#include <fmt/format.h>

namespace ako::model {

using base::ErrorKind;
using base::Status;

namespace {

enum class In { bare, comment, basic, literal, long_basic, long_literal };

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_surrogate(std::uint32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

/// Length of the character at the front, 0 when it is none in UTF-8: overlong forms, surrogates and
/// numbers above U+10FFFF are none.
std::size_t decode(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return code = first, 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t k_least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < k_least[length] || code > 0x10FFFF || is_surrogate(code) ? 0 : length;
}

class Checker {
public:
  Checker(std::string_view text, std::string_view file) : m_text(text), m_file(file) {}

  Status run() {
    if (m_text.starts_with("\xEF\xBB\xBF")) m_at = 3;
    while (m_at < m_text.size() && !m_open_ended) {
      std::uint32_t code = 0;
      const std::size_t length = decode(m_text.substr(m_at), code);
      if (length == 0)
        return trouble("this is not UTF-8",
                       fmt::format("byte 0x{:02X}", static_cast<unsigned char>(m_text[m_at])),
                       "text in UTF-8", "save the file as UTF-8");
      AKO_TRY_STATUS(take(code, length));
    }
    return {};
  }

private:
  base::Status trouble(std::string message, std::string found, std::string allowed,
                       std::string next) const {
    return base::fail(ErrorKind::invalid, std::move(message),
                      {.where = at(m_file, m_place),
                       .found = std::move(found),
                       .allowed = std::move(allowed),
                       .next = std::move(next)});
  }

  void advance(std::size_t bytes, int characters) { m_at += bytes, m_place.column += characters; }
  bool follows(std::string_view what) const { return m_text.substr(m_at).starts_with(what); }

  Status take(std::uint32_t code, std::size_t length) {
    if (code == '\n' || follows("\r\n")) return line_end(code == '\n' ? 1 : 2), Status{};
    if ((code < 0x20 && code != '\t') || code == 0x7F)
      return trouble("a control character", fmt::format("U+{:04X}", code),
                     "tabs and line ends; others as escapes in double quotes",
                     fmt::format("remove it, or write \\u{:04X}", code));
    switch (m_in) {
    case In::bare: return bare(code, length);
    case In::comment: break;
    case In::basic:
    case In::long_basic:
      if (code == '\\') return escape();
      if (code == '"') return quote('"'), Status{};
      break;
    case In::literal:
    case In::long_literal:
      if (code == '\'') return quote('\''), Status{};
      break;
    }
    advance(length, 1);
    return {};
  }

  void line_end(std::size_t bytes) {
    m_open_ended = m_in == In::basic || m_in == In::literal;
    if (m_in == In::comment) m_in = In::bare;
    m_at += bytes, ++m_place.line, m_place.column = 1;
  }

  Status bare(std::uint32_t code, std::size_t length) {
    if (code >= 0x80)
      return trouble("a character that may stand inside quotes only",
                     std::string(m_text.substr(m_at, length)),
                     "letters A to Z, digits, - and _ outside quotes", "put it into quotes");
    if (code == '#') m_in = In::comment;
    if (code != '"' && code != '\'') return advance(1, 1), Status{};
    const bool basic = code == '"';
    if (follows(basic ? "\"\"\"" : "'''")) {
      m_in = basic ? In::long_basic : In::long_literal;
      return advance(3, 3), Status{};
    }
    m_in = basic ? In::basic : In::literal;
    return advance(1, 1), Status{};
  }

  /// A quote inside a string of its own kind. A long string may end with two quotes of its text.
  void quote(char kind) {
    if (m_in == In::basic || m_in == In::literal) {
      m_in = In::bare;
      return advance(1, 1);
    }
    std::size_t run = 0;
    while (run < 5 && m_at + run < m_text.size() && m_text[m_at + run] == kind) ++run;
    if (run >= 3) m_in = In::bare;
    advance(run, static_cast<int>(run));
  }

  Status escape() {
    const char c = m_at + 1 < m_text.size() ? m_text[m_at + 1] : '\n';
    if (c == 'u' || c == 'U') return escaped_code(c == 'u' ? 4 : 8);
    if (std::string_view("btnfr\"\\").find(c) != std::string_view::npos)
      return advance(2, 2), Status{};
    if (m_in == In::long_basic) {
      // A backslash at a line's end joins the lines.
      const std::size_t end = m_text.find_first_not_of(" \t", m_at + 1);
      if (end != std::string_view::npos &&
          (m_text[end] == '\n' || m_text.substr(end).starts_with("\r\n"))) {
        advance(end - m_at, static_cast<int>(end - m_at));
        return {};
      }
    }
    std::uint32_t code = 0;
    const std::string_view rest = m_text.substr(std::min(m_at + 1, m_text.size()));
    const std::size_t length = rest.empty() ? 0 : decode(rest, code);
    const bool shown = length > 0 && code >= 0x20 && code != 0x7F;
    return trouble("an unknown escape", "\\" + std::string(rest.substr(0, shown ? length : 0)),
                   R"(\b \t \n \f \r \" \\ \uXXXX \UXXXXXXXX)",
                   R"(write \\ for a backslash, or use single quotes)");
  }

  Status escaped_code(std::size_t digits) {
    const std::string_view text = m_text.substr(m_at, digits + 2);
    std::uint32_t code = 0;
    std::size_t good = 2;
    for (; good < text.size() && is_hex(text[good]); ++good)
      code = code << 4 | static_cast<std::uint32_t>(
                             text[good] <= '9' ? text[good] - '0' : (text[good] | 32) - 'a' + 10);
    if (good < digits + 2)
      return trouble("an escape without its digits", std::string(text.substr(0, good)),
                     R"(\u with four hexadecimal digits, \U with eight)", "complete it");
    if (code > 0x10FFFF || is_surrogate(code))
      return trouble("an escape that names no character", std::string(text),
                     "U+0000 to U+D7FF, U+E000 to U+10FFFF", "write the character itself");
    return advance(digits + 2, static_cast<int>(digits) + 2), Status{};
  }

  std::string_view m_text, m_file;
  std::size_t m_at = 0;
  Place m_place;
  In m_in = In::bare;
  bool m_open_ended = false; ///< a short string met its line's end
};

} // namespace

Status check_toml_text(std::string_view text, std::string_view file) {
  return Checker(text, file).run();
}

} // namespace ako::model
