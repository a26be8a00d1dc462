#include "base/cpp_scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace ako::base {

namespace {

struct Token {
  enum class Kind { word, number, literal, punctuation } kind = Kind::punctuation;
  std::string text;
  int line = 1;
};

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Splits text into tokens; comments and preprocessor lines give none.
class Lexer {
public:
  explicit Lexer(std::string_view text) : m_text(text) {}

  std::vector<Token> run() {
    while (m_at < m_text.size()) step();
    return std::move(m_tokens);
  }

private:
  char peek(std::size_t ahead = 0) const {
    return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0';
  }
  void advance() {
    if (m_text[m_at] == '\n') ++m_line;
    ++m_at;
  }
  void push(Token::Kind kind, std::string text) {
    m_tokens.push_back({kind, std::move(text), m_line});
    m_fresh_line = false;
  }

  void step() {
    const char c = peek();
    if (c == '\n') m_fresh_line = true;
    if (std::isspace(static_cast<unsigned char>(c))) advance();
    else if (c == '/' && peek(1) == '/') skip_line();
    else if (c == '/' && peek(1) == '*') skip_comment();
    else if (c == '#' && m_fresh_line) skip_line();
    else if (c == 'R' && peek(1) == '"') raw_string();
    else if (c == '"' || c == '\'') quoted(c);
    else if (starts_word(c)) word();
    else if (std::isdigit(static_cast<unsigned char>(c))) number();
    else if (c == ':' && peek(1) == ':') two("::");
    else if (c == '-' && peek(1) == '>') two("->");
    else {
      push(Token::Kind::punctuation, std::string(1, c));
      advance();
    }
  }

  void two(const char* text) {
    push(Token::Kind::punctuation, text);
    advance();
    advance();
  }
  void skip_line() {
    while (m_at < m_text.size() && peek() != '\n') {
      if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n')))
        while (peek() != '\n') advance();
      // A comment that opens on a directive's line may go on over several.
      if (peek() == '/' && peek(1) == '*') skip_comment();
      else advance();
    }
  }
  void skip_comment() {
    advance();
    advance();
    while (m_at < m_text.size() && !(peek() == '*' && peek(1) == '/')) advance();
    for (int i = 0; i < 2 && m_at < m_text.size(); ++i) advance();
  }
  void quoted(char end) {
    push(Token::Kind::literal, std::string(1, end));
    advance();
    while (m_at < m_text.size() && peek() != end && peek() != '\n') {
      if (peek() == '\\' && m_at + 1 < m_text.size()) advance();
      advance();
    }
    if (m_at < m_text.size()) advance();
  }
  void raw_string() {
    push(Token::Kind::literal, "\"");
    const std::size_t open = m_text.find('(', m_at);
    if (open == std::string_view::npos) return skip_line();
    const std::string close = ")" + std::string(m_text.substr(m_at + 2, open - m_at - 2)) + "\"";
    const std::size_t end = std::min(m_text.find(close, open), m_text.size());
    while (m_at < std::min(end + close.size(), m_text.size())) advance();
  }
  void word() {
    const std::size_t begin = m_at;
    while (in_word(peek())) ++m_at;
    push(Token::Kind::word, std::string(m_text.substr(begin, m_at - begin)));
  }
  void number() {
    const std::size_t begin = m_at;
    while (in_word(peek()) || peek() == '.' || (peek() == '\'' && in_word(peek(1)))) ++m_at;
    push(Token::Kind::number, std::string(m_text.substr(begin, m_at - begin)));
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  int m_line = 1;
  bool m_fresh_line = true;
  std::vector<Token> m_tokens;
};

constexpr std::array k_not_functions = {
    "if",       "for",     "while",   "switch",   "catch",     "return",
    "sizeof",   "alignas", "alignof", "decltype", "do",        "else",
    "requires", "new",     "delete",  "throw",    "co_return", "static_assert"};
constexpr std::array k_specifiers = {"static",  "inline",   "extern", "constexpr",
                                     "virtual", "explicit", "friend", "consteval"};

template <std::size_t N>
bool one_of(const std::string& word, const std::array<const char*, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Words that take an argument list and name no function; those of CUDA C++ too.
bool is_attribute(const std::string& word) {
  static constexpr std::array k_words = {"alignas",          "__declspec",  "__launch_bounds__",
                                         "__cluster_dims__", "__maxnreg__", "__block_size__"};
  return word.starts_with("__attribute") || one_of(word, k_words);
}

/// Joins tokens as people write types: "const std::uint16_t* __restrict__".
std::string join(const std::vector<Token>& tokens, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) {
    const auto& token = tokens[i];
    const bool word = token.kind == Token::Kind::word || token.kind == Token::Kind::number;
    const char last = text.empty() ? '\0' : text.back();
    if (word && !text.empty() &&
        (in_word(last) || last == '*' || last == '&' || last == '>' || last == ','))
      text += ' ';
    text += token.text;
  }
  return text;
}

/// What a builtin or well-known type name is.
Parameter::Kind kind_of_type(const std::string& base) {
  static const std::array k_floats = {"float",  "double",    "long double", "_Float16",
                                      "__bf16", "float16_t", "float32_t"};
  static const std::array k_integers = {"int",
                                        "unsigned",
                                        "unsigned int",
                                        "long",
                                        "unsigned long",
                                        "long long",
                                        "long int",
                                        "unsigned long long",
                                        "short",
                                        "unsigned short",
                                        "size_t",
                                        "ssize_t",
                                        "ptrdiff_t",
                                        "int64_t",
                                        "int32_t",
                                        "int16_t",
                                        "int8_t",
                                        "uint64_t",
                                        "uint32_t",
                                        "uint16_t",
                                        "uint8_t",
                                        "char",
                                        "signed char",
                                        "unsigned char",
                                        "intptr_t",
                                        "long long int",
                                        "long unsigned int",
                                        "uint"};
  const std::string plain = base.starts_with("std::") ? base.substr(5) : base;
  if (plain == "bool") return Parameter::Kind::boolean;
  if (std::find(k_floats.begin(), k_floats.end(), plain) != k_floats.end())
    return Parameter::Kind::floating;
  if (std::find(k_integers.begin(), k_integers.end(), plain) != k_integers.end())
    return Parameter::Kind::integer;
  return Parameter::Kind::other;
}

/// tokens[from, to) is one parameter, perhaps with a default value.
Parameter read_parameter(const std::vector<Token>& tokens, std::size_t from, std::size_t to) {
  Parameter parameter;
  std::size_t end = from;
  while (end < to && tokens[end].text != "=") ++end;
  bool array = false;
  while (end > from && (tokens[end - 1].text == "]" || tokens[end - 1].text == "[" ||
                        tokens[end - 1].kind == Token::Kind::number)) {
    array = true;
    --end;
  }
  // The last word is the name unless it is the only word, or a builtin: "unsigned", "int".
  std::size_t words = 0;
  for (std::size_t i = from; i < end; ++i)
    words += tokens[i].kind == Token::Kind::word && tokens[i].text != "const";
  if (end > from && words > 1 && tokens[end - 1].kind == Token::Kind::word) {
    const std::string& last = tokens[end - 1].text;
    const bool after_scope = end >= from + 2 && tokens[end - 2].text == "::";
    const bool qualifier = last == "const" || last == "volatile" || last.starts_with("__restrict");
    if (!after_scope && !qualifier && kind_of_type(last) == Parameter::Kind::other)
      parameter.name = tokens[--end].text;
  }
  parameter.type = join(tokens, from, end) + (array ? "*" : "");
  bool pointer = array, reference = false;
  std::vector<Token> base;
  for (std::size_t i = from; i < end; ++i) {
    const std::string& text = tokens[i].text;
    if (text == "*") pointer = true;
    else if (text == "&") reference = true;
    else if (text == "const") parameter.is_const = parameter.is_const || !pointer || array;
    else if (!text.starts_with("__restrict") && text != "volatile") base.push_back(tokens[i]);
  }
  parameter.base = join(base, 0, base.size());
  if (reference) parameter.kind = Parameter::Kind::other;
  else parameter.kind = pointer ? Parameter::Kind::pointer : kind_of_type(parameter.base);
  return parameter;
}

class Scanner {
public:
  explicit Scanner(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

  std::vector<Function> run() {
    while (m_at < m_tokens.size()) step();
    return std::move(m_functions);
  }

private:
  struct Scope {
    std::string name; ///< empty: extern "C", unnamed
    bool is_class = false;
  };

  const std::string& text(std::size_t at) const {
    static const std::string s_none;
    return at < m_tokens.size() ? m_tokens[at].text : s_none;
  }

  /// The token after the bracket that closes the one at `open`.
  std::size_t after(std::size_t open) const {
    const std::string& bracket = text(open);
    const std::string close = bracket == "("   ? ")"
                              : bracket == "{" ? "}"
                              : bracket == "<" ? ">"
                                               : "]";
    int depth = 0;
    for (std::size_t i = open; i < m_tokens.size(); ++i) {
      if (text(i) == bracket) ++depth;
      else if (text(i) == close && --depth == 0) return i + 1;
      else if (bracket == "<" && (text(i) == ";" || text(i) == "{")) return open + 1;
    }
    return m_tokens.size();
  }

  void begin_declaration(std::size_t at) {
    m_start = m_first = at;
    m_template = false;
    m_parameters.clear();
  }

  void step() {
    const std::string& now = text(m_at);
    if (now == "template" && text(m_at + 1) == "<") {
      const std::size_t open = m_at + 1;
      m_at = after(open);
      m_parameters = join(m_tokens, open + 1, std::max(open + 1, m_at - 1));
      m_start = m_at;
      m_template = true;
    } else if (now == "namespace") {
      open_namespace();
    } else if ((now == "class" || now == "struct" || now == "union") && m_at == m_start) {
      open_class();
    } else if (now == "[" && text(m_at + 1) == "[") {
      const bool leading = m_at == m_start;
      m_at = after(m_at);
      if (leading) m_start = m_at;
    } else if (now == "(") {
      maybe_function();
    } else if (now == "{") {
      const bool linkage = m_at >= 2 && text(m_at - 2) == "extern" && text(m_at - 1) == "\"";
      if (linkage) {
        m_scopes.push_back({});
        begin_declaration(++m_at);
      } else {
        m_at = after(m_at);
        begin_declaration(m_at);
      }
    } else if (now == "}") {
      if (!m_scopes.empty()) m_scopes.pop_back();
      begin_declaration(++m_at);
    } else if (now == ";") {
      begin_declaration(++m_at);
    } else {
      ++m_at;
    }
  }

  void open_namespace() {
    std::string name;
    std::size_t at = m_at + 1;
    while (at < m_tokens.size() && text(at) != "{" && text(at) != ";" && text(at) != "=")
      name += text(at++);
    if (text(at) == "{") m_scopes.push_back({name, false});
    begin_declaration(m_at = at + 1);
  }

  void open_class() {
    std::size_t at = m_at + 1;
    std::string name;
    while (at < m_tokens.size() && text(at) != "{" && text(at) != ";" && text(at) != "(" &&
           text(at) != "=") {
      if (name.empty() && m_tokens[at].kind == Token::Kind::word && text(at) != "alignas")
        name = text(at);
      ++at;
    }
    if (text(at) == "{") {
      m_scopes.push_back({name, true});
      begin_declaration(m_at = at + 1);
    } else {
      m_at = m_at + 1; // "struct S f(...)": an elaborated type in front of a function
    }
  }

  /// At "(": a definition when a name stands before it and a body behind it.
  void maybe_function() {
    const std::size_t open = m_at, behind = after(open);
    std::size_t name_begin = open;
    if (open > m_start && m_tokens[open - 1].kind == Token::Kind::word) {
      name_begin = open - 1;
      while (name_begin >= m_start + 2 && text(name_begin - 1) == "::" &&
             m_tokens[name_begin - 2].kind == Token::Kind::word)
        name_begin -= 2;
    }
    const bool attribute = open > m_start && is_attribute(text(open - 1));
    if (attribute || name_begin == open || one_of(text(open - 1), k_not_functions) ||
        name_begin == m_start) {
      m_at = behind;
      if (attribute && open == m_start + 1) m_start = behind;
      return;
    }
    std::size_t at = behind;
    while (at < m_tokens.size() && text(at) != "{" && text(at) != ";" && text(at) != "=" &&
           text(at) != ",") {
      if (text(at) == ":") break; // a constructor's initialisers: not a kernel
      at = text(at) == "(" || text(at) == "[" ? after(at) : at + 1;
    }
    if (text(at) != "{") {
      m_at = behind;
      return;
    }
    add_function(name_begin, open, behind);
    m_at = after(at);
    m_functions.back().last_line = m_tokens[m_at - 1].line;
    begin_declaration(m_at);
  }

  void add_function(std::size_t name_begin, std::size_t open, std::size_t behind) {
    Function function;
    function.name = join(m_tokens, name_begin, open);
    for (const auto& scope : m_scopes) {
      if (!scope.name.empty()) function.qualified += scope.name + "::";
      function.is_member = function.is_member || scope.is_class;
    }
    function.qualified += function.name;
    function.line = m_tokens[name_begin].line;
    function.first_line = m_tokens[m_first].line;
    function.is_template = m_template;
    function.template_parameters = m_parameters;
    std::vector<Token> result;
    for (std::size_t i = m_start; i < name_begin; ++i) {
      if (text(i) == "static") function.is_static = true;
      if (is_attribute(text(i))) {
        i = after(i + 1) - 1;
        continue;
      }
      const bool noise = one_of(text(i), k_specifiers) ||
                         m_tokens[i].kind == Token::Kind::literal ||
                         text(i).starts_with("__inline") || text(i).starts_with("__forceinline");
      if (!noise) result.push_back(m_tokens[i]);
    }
    function.is_member = function.is_member && !function.is_static;
    function.returns = join(result, 0, result.size());
    read_parameters(open + 1, behind - 1, function);
    m_functions.push_back(std::move(function));
  }

  void read_parameters(std::size_t from, std::size_t to, Function& function) const {
    if (from >= to || (to == from + 1 && text(from) == "void")) return;
    std::size_t begin = from;
    int depth = 0;
    for (std::size_t i = from; i <= to; ++i) {
      const bool end = i == to;
      if (!end && (text(i) == "(" || text(i) == "<" || text(i) == "{")) ++depth;
      if (!end && (text(i) == ")" || text(i) == ">" || text(i) == "}")) --depth;
      if (!end && !(text(i) == "," && depth == 0)) continue;
      function.parameters.push_back(read_parameter(m_tokens, begin, i));
      begin = i + 1;
    }
  }

  std::vector<Token> m_tokens;
  std::size_t m_at = 0, m_start = 0, m_first = 0;
  bool m_template = false;
  std::string m_parameters;
  std::vector<Scope> m_scopes;
  std::vector<Function> m_functions;
};

/// Replaces comments by spaces, keeping line breaks and strings.
std::string without_comments(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '"' || out[i] == '\'') {
      const char end = out[i];
      for (++i; i < out.size() && out[i] != end && out[i] != '\n'; ++i)
        if (out[i] == '\\') ++i;
    } else if (out.compare(i, 2, "//") == 0) {
      while (i < out.size() && out[i] != '\n') out[i++] = ' ';
    } else if (out.compare(i, 2, "/*") == 0) {
      const std::size_t close = std::min(out.find("*/", i + 2), out.size() - 2) + 2;
      for (; i < close; ++i)
        if (out[i] != '\n') out[i] = ' ';
      --i;
    }
  }
  return out;
}

} // namespace

std::string Function::signature() const {
  std::string text = (returns.empty() ? "" : returns + " ") + qualified + "(";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i > 0) text += ", ";
    text += parameters[i].type;
    if (!parameters[i].name.empty()) text += " " + parameters[i].name;
  }
  return text + ")";
}

std::vector<Function> find_functions(std::string_view text) {
  return Scanner(Lexer(text).run()).run();
}

int find_assembled_file(std::string_view text) {
  const std::string clean = without_comments(text);
  for (const std::string_view directive : {".incbin", ".include"})
    for (std::size_t at = clean.find(directive); at != std::string::npos;
         at = clean.find(directive, at + 1)) {
      // A quotation mark follows, escaped in a string; x.include("...") has a bracket before it.
      const std::size_t next = clean.find_first_not_of(" \t", at + directive.size());
      if (next != std::string::npos && (clean[next] == '"' || clean[next] == '\\'))
        return 1 + static_cast<int>(std::count(
                       clean.begin(), clean.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
  return 0;
}

std::vector<Include> find_includes(std::string_view text) {
  const std::string clean = without_comments(text);
  std::vector<Include> includes;
  int line = 0;
  for (std::size_t at = 0; at < clean.size();) {
    const std::size_t end = std::min(clean.find('\n', at), clean.size());
    std::string_view row(clean.data() + at, end - at);
    at = end + 1;
    ++line;
    const auto skip = [&](std::string_view what) {
      row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
      if (!row.starts_with(what)) return false;
      row.remove_prefix(what.size());
      return true;
    };
    if (!skip("#") || !skip("include")) continue;
    row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
    if (row.empty() || (row[0] != '"' && row[0] != '<')) continue;
    const bool quoted = row[0] == '"';
    const std::size_t close = row.find(quoted ? '"' : '>', 1);
    if (close != std::string_view::npos)
      includes.push_back({std::string(row.substr(1, close - 1)), line, quoted});
  }
  return includes;
}

} // namespace ako::base
