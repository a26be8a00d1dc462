#include "loop/contract_line.hpp"

#include "model/contract_toml.hpp"
#include "model/dtype.hpp"
#include "model/expression.hpp"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <vector>

namespace ako::loop {
namespace {

struct Arg {
  std::string name, role, dtype, number;
  std::vector<std::string> shape;
  std::size_t at = 0, shape_at = 0; ///< offsets in the line
  enum class Kind { tensor, scalar, axis } kind = Kind::axis;
  bool fixed = false; ///< static
};
struct Value {
  std::string axis, number;
  std::size_t at = 0;
};
struct Shape {
  std::vector<Value> values;
};

std::string column(std::size_t at) { return fmt::format("--contract, column {}", at + 1); }

/// A text of lines with where each comes from.
class Lines {
public:
  void add(const std::string& line, const std::string& origin) {
    m_out.toml += line + "\n";
    m_out.origins.push_back(origin);
  }
  void gap() { add("", ""); }
  ExpandedLine take() { return std::move(m_out); }

private:
  ExpandedLine m_out;
};

class Reader {
public:
  explicit Reader(std::string_view text) : m_text(text) {}

  base::Status read() {
    AKO_TRY(m_name, word("the kernel's name"));
    AKO_TRY_STATUS(expect('('));
    do AKO_TRY_STATUS(read_arg());
    while (take(','));
    AKO_TRY_STATUS(expect(')'));
    if (take('@')) {
      do AKO_TRY_STATUS(read_shape());
      while (take(';'));
    }
    skip();
    if (m_at != m_text.size()) return wrong("the end, or \"@\" and shapes");
    if (m_shapes.empty()) return wrong("\"@\" and at least one shape, such as @ M=512 H=4096");
    return {};
  }

  ExpandedLine expand(const LineFiles& files) const;

private:
  void write_args(Lines& out) const;
  void write_shapes(Lines& out) const;
  void skip() {
    while (m_at < m_text.size() && std::isspace(static_cast<unsigned char>(m_text[m_at]))) ++m_at;
  }
  bool take(char c) {
    skip();
    if (m_at >= m_text.size() || m_text[m_at] != c) return false;
    ++m_at;
    return true;
  }
  tl::unexpected<base::Error> wrong(const std::string& allowed) const {
    return base::fail(base::ErrorKind::usage, "the contract line cannot be read",
                      {.where = column(m_at),
                       .found = m_at < m_text.size()
                                    ? "\"" + std::string(m_text.substr(m_at, 12)) + "\""
                                    : "the end",
                       .allowed = allowed,
                       .next = "ako compare --help shows a whole line"});
  }
  base::Status expect(char c) {
    if (take(c)) return {};
    return wrong(fmt::format("\"{}\"", c));
  }
  base::Expected<std::string> word(const char* what) {
    skip();
    std::size_t first = m_at;
    while (m_at < m_text.size() &&
           (std::isalnum(static_cast<unsigned char>(m_text[m_at])) || m_text[m_at] == '_' ||
            (m_text[m_at] == ':' && m_at + 1 < m_text.size() && m_text[m_at + 1] == ':' &&
             m_at > first) ||
            (m_text[m_at] == ':' && m_at > first && m_text[m_at - 1] == ':')))
      ++m_at;
    if (first == m_at) return wrong(what);
    return std::string(m_text.substr(first, m_at - first));
  }
  base::Expected<std::string> integer() {
    skip();
    const std::size_t first = m_at;
    while (m_at < m_text.size() && std::isdigit(static_cast<unsigned char>(m_text[m_at]))) ++m_at;
    if (first == m_at) return wrong("an integer");
    return std::string(m_text.substr(first, m_at - first));
  }
  /// A finite number or a truth value, spelled as TOML spells it.
  base::Expected<std::string> number() {
    skip();
    const std::size_t first = m_at;
    const std::string text = until(",)");
    if (text == "true" || text == "false") return text;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && std::isfinite(value)) return fmt::format("{}", value);
    m_at = first;
    return wrong("a number, or true or false");
  }
  std::string until(std::string_view stops) {
    skip();
    std::size_t first = m_at;
    int depth = 0;
    while (m_at < m_text.size()) {
      char c = m_text[m_at];
      if (depth == 0 && stops.find(c) != std::string_view::npos) break;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      ++m_at;
    }
    std::string out(m_text.substr(first, m_at - first));
    while (!out.empty() && std::isspace(static_cast<unsigned char>(out.back()))) out.pop_back();
    return out;
  }

  base::Status read_arg() {
    Arg arg;
    skip();
    arg.at = m_at;
    AKO_TRY(arg.name, word("an argument's name"));
    if (!take(':')) {
      m_args.push_back(std::move(arg));
      return {};
    }
    AKO_TRY(std::string first, word("a role or a dtype"));
    arg.role = "in";
    if (first == "in" || first == "out" || first == "inout" || first == "static") {
      arg.fixed = first == "static";
      if (!arg.fixed) arg.role = first;
      AKO_TRY(first, word("a dtype"));
    }
    if (!model::dtype_from(first)) {
      m_at -= first.size();
      return wrong("a dtype: float32, bfloat16, float16, int8, int32, ...");
    }
    arg.dtype = first;
    if (take('[')) {
      arg.kind = Arg::Kind::tensor;
      skip();
      arg.shape_at = m_at;
      if (!take(']')) {
        do arg.shape.push_back(until(",]"));
        while (take(','));
        AKO_TRY_STATUS(expect(']'));
      }
    } else if (take('=')) {
      arg.kind = Arg::Kind::scalar;
      AKO_TRY(arg.number, number());
    } else {
      return wrong("\"[\" and extents for a tensor, or \"=\" and a number for a scalar");
    }
    m_args.push_back(std::move(arg));
    return {};
  }

  base::Status read_shape() {
    Shape shape;
    for (;;) {
      skip();
      if (m_at >= m_text.size() || m_text[m_at] == ';') break;
      const std::size_t at = m_at;
      AKO_TRY(std::string name, word("an axis"));
      AKO_TRY_STATUS(expect('='));
      AKO_TRY(std::string value, integer());
      shape.values.push_back({std::move(name), std::move(value), at});
    }
    if (shape.values.empty()) return wrong("an axis and its value, such as M=512");
    m_shapes.push_back(std::move(shape));
    return {};
  }

  /// Each axis and where it is first named.
  std::map<std::string, std::size_t> axes() const {
    std::map<std::string, std::size_t> out;
    for (const auto& arg : m_args) {
      if (arg.kind == Arg::Kind::axis) out.emplace(arg.name, arg.at);
      for (const auto& extent : arg.shape)
        if (auto parsed = model::Expression::parse(extent))
          for (const auto& name : parsed->names()) out.emplace(name, arg.shape_at);
    }
    return out;
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  std::string m_name;
  std::vector<Arg> m_args;
  std::vector<Shape> m_shapes;
};

ExpandedLine Reader::expand(const LineFiles& files) const {
  Lines out;
  out.add("format = 1", "");
  out.add("[kernel]", column(0));
  out.add(fmt::format("lane = \"{}\"", model::to_string(files.lane)), "--lane");
  const std::string plain =
      m_name.substr(m_name.rfind(':') == std::string::npos ? 0 : m_name.rfind(':') + 1);
  out.add(fmt::format("name = \"{}\"", plain), column(0));
  // Its symbol was read as a word: what can be wrong here is the file.
  const auto entry = [&](const std::string& file) {
    return fmt::format("entry = {{ file = {}, symbol = \"{}\" }}", model::toml_string(file),
                       m_name);
  };
  out.add(entry(files.entry_file), "the new file");
  if (files.lane == model::Lane::cpu) out.add("flags = [\"-O3\", \"-march=native\"]", "");
  write_args(out);
  write_shapes(out);
  out.add("[reference]", "");
  const bool own = files.reference_file != files.baseline_file;
  out.add(entry(files.reference_file), own ? "--reference" : "the old file");
  out.add(fmt::format("precision = \"{}\"", files.precision), "--precision");
  out.add("[[baseline]]", "");
  out.add("name = \"old\"", "");
  out.add(entry(files.baseline_file), "the old file");
  return out.take();
}

void Reader::write_args(Lines& out) const {
  std::string names;
  for (const auto& arg : m_args)
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", arg.name);
  out.add("args = [" + names + "]", column(m_args.front().at));
  out.add("[axes]", "");
  for (const auto& [axis, at] : axes()) out.add(axis + " = { var = true }", column(at));
  for (const auto& arg : m_args) {
    if (arg.kind == Arg::Kind::axis) continue;
    const std::string here = column(arg.at);
    out.gap();
    out.add(arg.kind == Arg::Kind::tensor ? "[[tensor]]" : "[[scalar]]", here);
    out.add(fmt::format("name = \"{}\"", arg.name), here);
    out.add(fmt::format("dtype = \"{}\"", arg.dtype), here);
    if (arg.kind == Arg::Kind::scalar) {
      out.add("value = " + arg.number, here);
      continue;
    }
    out.add(fmt::format("role = \"{}\"", arg.role), here);
    std::string extents;
    for (const auto& extent : arg.shape)
      extents += fmt::format("{}\"{}\"", extents.empty() ? "" : ", ", extent);
    out.add("shape = [" + extents + "]", column(arg.shape_at));
    if (arg.fixed) out.add("lifetime = \"static\"", here);
  }
}

void Reader::write_shapes(Lines& out) const {
  for (const auto& shape : m_shapes) {
    out.gap();
    out.add("[[shape]]", column(shape.values.front().at)); // its values make its tag
    for (const auto& value : shape.values)
      out.add(fmt::format("{} = {}", value.axis, value.number), column(value.at));
  }
}

} // namespace

base::Error ExpandedLine::told(base::Error error, std::string_view path) const {
  const std::string here = std::string(path) + ":";
  const std::size_t at = error.where.find(here);
  if (at == std::string::npos) return error;
  const std::size_t line = std::strtoul(error.where.c_str() + at + here.size(), nullptr, 10);
  const std::string origin = line >= 1 && line <= origins.size() ? origins[line - 1] : "";
  error.kind = base::ErrorKind::usage;
  error.where = origin.empty() ? "--contract" : origin;
  // Where the files lie in the stand-in task is nobody's business.
  for (const char* folder : {"solution/", "old/", "judge/"})
    for (std::string* text : {&error.message, &error.found, &error.allowed})
      for (std::size_t spot; (spot = text->find(folder)) != std::string::npos;)
        text->erase(spot, std::string_view(folder).size());
  if (error.found.empty()) error.found = "the line as it is";
  if (error.allowed.empty()) error.allowed = "a line such as: ako compare --help shows";
  if (!error.next.starts_with("did you mean"))
    error.next = "correct it and run the command again; ako compare --help shows a whole line";
  return error;
}

base::Expected<ExpandedLine> expand_contract_line(std::string_view line, const LineFiles& files) {
  Reader reader(line);
  AKO_TRY_STATUS(reader.read());
  return reader.expand(files);
}

} // namespace ako::loop
