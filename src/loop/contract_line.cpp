#include "loop/contract_line.hpp"

#include "model/dtype.hpp"
#include "model/expression.hpp"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <set>
#include <vector>

namespace ako::loop {
namespace {

struct Arg {
  std::string name, role, dtype, number;
  std::vector<std::string> shape;
  enum class Kind { tensor, scalar, axis } kind = Kind::axis;
  bool fixed = false; ///< static
};
struct Shape {
  std::vector<std::pair<std::string, std::string>> values;
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

  std::string toml(const LineFiles& files) const;

private:
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
                      {.where = fmt::format("--contract, column {}", m_at + 1),
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
      AKO_TRY(std::string name, word("an axis"));
      AKO_TRY_STATUS(expect('='));
      AKO_TRY(std::string value, integer());
      shape.values.emplace_back(std::move(name), std::move(value));
    }
    if (shape.values.empty()) return wrong("an axis and its value, such as M=512");
    m_shapes.push_back(std::move(shape));
    return {};
  }

  std::set<std::string> axes() const {
    std::set<std::string> out;
    for (const auto& arg : m_args) {
      if (arg.kind == Arg::Kind::axis) out.insert(arg.name);
      for (const auto& extent : arg.shape)
        if (auto parsed = model::Expression::parse(extent))
          out.insert(parsed->names().begin(), parsed->names().end());
    }
    return out;
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  std::string m_name;
  std::vector<Arg> m_args;
  std::vector<Shape> m_shapes;
};

std::string Reader::toml(const LineFiles& files) const {
  std::string out =
      fmt::format("format = 1\n\n[kernel]\nlane = \"{}\"\n", model::to_string(files.lane));
  std::string plain =
      m_name.substr(m_name.rfind(':') == std::string::npos ? 0 : m_name.rfind(':') + 1);
  out += fmt::format("name = \"{}\"\nentry = {{ file = \"{}\", symbol = \"{}\" }}\n", plain,
                     files.entry_file, m_name);
  if (files.lane == model::Lane::cpu) out += "flags = [\"-O3\", \"-march=native\"]\n";
  out += "args = [";
  for (std::size_t i = 0; i < m_args.size(); ++i)
    out += fmt::format("{}\"{}\"", i ? ", " : "", m_args[i].name);
  out += "]\n\n[axes]\n";
  for (const auto& axis : axes()) out += fmt::format("{} = {{ var = true }}\n", axis);
  for (const auto& arg : m_args) {
    if (arg.kind == Arg::Kind::tensor) {
      out += fmt::format("\n[[tensor]]\nname = \"{}\"\nrole = \"{}\"\ndtype = \"{}\"\nshape = [",
                         arg.name, arg.role, arg.dtype);
      for (std::size_t i = 0; i < arg.shape.size(); ++i)
        out += fmt::format("{}\"{}\"", i ? ", " : "", arg.shape[i]);
      out += arg.fixed ? "]\nlifetime = \"static\"\n" : "]\n";
    } else if (arg.kind == Arg::Kind::scalar) {
      out += fmt::format("\n[[scalar]]\nname = \"{}\"\ndtype = \"{}\"\nvalue = {}\n", arg.name,
                         arg.dtype, arg.number);
    }
  }
  for (const auto& shape : m_shapes) {
    out += "\n[[shape]]\n"; // its values make its tag
    for (const auto& [name, value] : shape.values) out += fmt::format("{} = {}\n", name, value);
  }
  out += fmt::format("\n[reference]\nentry = {{ file = \"{}\", symbol = \"{}\" }}\nprecision = "
                     "\"{}\"\n",
                     files.reference_file, m_name, files.precision);
  out += fmt::format("\n[[baseline]]\nname = \"old\"\nentry = {{ file = \"{}\", symbol = \"{}\" "
                     "}}\n",
                     files.baseline_file, m_name);
  return out;
}

} // namespace

base::Expected<std::string> expand_contract_line(std::string_view line, const LineFiles& files) {
  Reader reader(line);
  AKO_TRY_STATUS(reader.read());
  return reader.toml(files);
}

} // namespace ako::loop
