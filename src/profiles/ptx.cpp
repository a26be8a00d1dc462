#include "profiles/ptx.hpp"

#include "profiles/lines.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ako::profiles {
namespace {

/// The parts of "ld.global.nc.v4.f32", by position.
std::vector<std::string_view> dotted_parts(std::string_view opcode) {
  std::vector<std::string_view> out;
  while (!opcode.empty()) {
    const std::size_t end = std::min(opcode.find('.'), opcode.size());
    out.push_back(opcode.substr(0, end));
    opcode.remove_prefix(std::min(end + 1, opcode.size()));
  }
  return out;
}

bool has_part(const std::vector<std::string_view>& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

/// "f32", "b128", "f16x2": bits of one element; 0 when it is no type.
int bits_of(std::string_view part) {
  if (part == "f16x2" || part == "bf16x2") return 32;
  if (part == "bf16") return 16;
  if (part.size() < 2 || std::string_view("busf").find(part[0]) == std::string_view::npos) return 0;
  int bits = 0;
  const auto [end, error] = std::from_chars(part.data() + 1, part.data() + part.size(), bits);
  return error == std::errc() && end == part.data() + part.size() && bits >= 8 && bits <= 256 ? bits
                                                                                              : 0;
}

int access_bits(const std::vector<std::string_view>& parts) {
  int lanes = 1, bits = 0;
  for (const std::string_view part : parts) {
    if (part == "v2" || part == "v4" || part == "v8") lanes = part[1] - '0';
    if (const int own = bits_of(part); own > 0) bits = own; // the type is the last of them
  }
  return lanes * bits;
}

/// Waits and groups move nothing.
void count_copy(const std::vector<std::string_view>& parts, CodeFunction& f) {
  const bool moves = std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.starts_with("shared") || part.starts_with("global") || part == "L2";
  });
  if (parts[0] != "cp" || !has_part(parts, "async") || !moves) return;
  ++(has_part(parts, "bulk") ? f.tma : f.async_copy);
}

void count_access(const std::vector<std::string_view>& parts, CodeFunction& f) {
  const bool load = parts[0] == "ld" || parts[0] == "ldu", store = parts[0] == "st";
  if (!load && !store) return;
  const auto in = [&](std::string_view space) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
      return part == space ||
             (part.starts_with(space) && part.substr(space.size()).starts_with("::"));
    });
  };
  // Without a space it is generic; most of these are global memory behind a pointer.
  if (in("global")) ++(load ? f.load_bits : f.store_bits)[access_bits(parts)];
  else if (in("local")) ++(load ? f.local_loads : f.local_stores);
  else if (in("shared")) ++(load ? f.shared_loads : f.shared_stores);
}

void count_opcode(std::string_view opcode, CodeFunction& f) {
  const auto parts = dotted_parts(opcode);
  const std::string_view stem = parts[0];
  ++f.instructions;
  // "fma.rn.f32" and not "fma" alone: the type is what matters.
  std::string name(stem);
  for (auto part = parts.rbegin(); part + 1 != parts.rend(); ++part)
    if (bits_of(*part) > 0 || *part == "pred") {
      name += fmt::format(".{}", *part);
      break;
    }
  ++f.opcodes[name];
  count_access(parts, f);
  count_copy(parts, f);
  const auto is = [&](std::initializer_list<std::string_view> all) {
    return std::find(all.begin(), all.end(), stem) != all.end();
  };
  if (stem == "wgmma" && has_part(parts, "mma_async")) ++f.wgmma, ++f.tensor;
  if (is({"mma", "wmma"}) && (stem == "mma" || has_part(parts, "mma"))) ++f.tensor;
  if (stem == "tcgen05" && has_part(parts, "mma")) ++f.tensor;
  if (is({"atom", "red", "redux"})) ++f.atomics;
  if (is({"bar", "barrier", "mbarrier"})) ++f.barriers;
  if (is({"bra", "brx", "call", "ret", "exit"})) ++f.branches;
  if (is({"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"}) ||
      (is({"rcp", "sqrt", "div"}) && has_part(parts, "approx")))
    ++f.special;
  if (stem == "ldmatrix") ++f.shared_loads;
  if (stem == "stmatrix") ++f.shared_stores;
}

class PtxReader {
public:
  void take(std::string_view line) {
    line = trim(without_comments(line));
    while (!line.empty()) {
      if (m_depth == 0 && m_header.empty()) line = outside(line);
      else if (!m_header.empty()) line = header(line);
      else line = statement(line);
      line = trim(line);
    }
  }

  base::Expected<std::vector<CodeFunction>> finish(const std::string& where) {
    if (!m_all.empty()) return std::move(m_all);
    return base::fail(base::ErrorKind::invalid, "no function with a body in this PTX",
                      {.where = where,
                       .found = "no .entry and no .func followed by {",
                       .allowed = "what nvcc -ptx or cuobjdump --dump-ptx writes",
                       .next = "dump the PTX of the library that was loaded"});
  }

private:
  std::string_view without_comments(std::string_view line) {
    m_kept.clear();
    while (!line.empty()) {
      if (m_in_comment) {
        const std::size_t end = line.find("*/");
        if (end == std::string_view::npos) return m_kept;
        m_in_comment = false;
        line.remove_prefix(end + 2);
        continue;
      }
      const std::size_t slashes = line.find("//"), block = line.find("/*");
      if (block == std::string_view::npos || slashes < block) {
        m_kept += line.substr(0, slashes);
        return m_kept;
      }
      m_kept += line.substr(0, block);
      m_in_comment = true;
      line.remove_prefix(block + 2);
    }
    return m_kept;
  }

  std::string_view outside(std::string_view line) {
    if (m_skipping) return skip_to_end(line);
    if (line.starts_with(".file")) return note_file(line), std::string_view();
    if (line.starts_with(".target")) {
      m_target = trim(line.substr(7));
      m_target = m_target.substr(0, m_target.find(','));
      return {};
    }
    for (const std::string_view directive : {".version", ".address_size", ".section"})
      if (line.starts_with(directive)) return {};
    if (is_loc(line)) return {};
    if (line.find(".entry") != std::string_view::npos ||
        line.find(".func") != std::string_view::npos)
      return header(line);
    return skip_to_end(line);
  }

  /// A declaration: initialisers and debug sections hold braces of their own.
  std::string_view skip_to_end(std::string_view line) {
    const std::size_t end = line.find_first_of(";}");
    m_skipping = end == std::string_view::npos;
    return m_skipping ? std::string_view() : line.substr(end + 1);
  }

  /// From .entry or .func to the body, or to the end of a declaration.
  std::string_view header(std::string_view line) {
    constexpr std::size_t k_most = 1 << 16;
    const std::size_t end = line.find_first_of("{;");
    if (m_header.size() < k_most) m_header += " " + std::string(line.substr(0, end));
    if (end == std::string_view::npos) return {};
    if (line[end] == '{') {
      m_all.emplace_back().name = name_in(m_header);
      m_all.back().target = m_target;
      m_depth = 1, m_mark.clear();
    }
    m_header.clear();
    return line.substr(end + 1);
  }

  /// The name stands behind .entry; behind .func a result in parentheses may come first.
  static std::string name_in(std::string_view text) {
    const std::size_t entry = text.find(".entry"),
                      at = entry == std::string_view::npos ? text.find(".func") + 5 : entry + 6;
    text = trim(text.substr(std::min(at, text.size())));
    if (text.starts_with('('))
      text = trim(text.substr(std::min(text.find(')'), text.size() - 1) + 1));
    return std::string(text.substr(0, text.find_first_of(" \t(")));
  }

  std::string_view statement(std::string_view line) {
    if (m_continued) return rest_of_statement(line);
    if (line[0] == '{' || line[0] == '}') {
      m_depth += line[0] == '{' ? 1 : -1;
      return line.substr(1);
    }
    if (line[0] == ';' || line[0] == ')') return line.substr(1);
    if (is_loc(line)) return note_loc(line), std::string_view();
    if (line.starts_with(".file")) return note_file(line), std::string_view();
    if (line.starts_with(".pragma")) return rest_of_statement(line);
    if (line[0] == '.') return declaration(line);
    if (const std::size_t colon = line.find(':'); is_label(line, colon))
      return line.substr(colon + 1);
    return instruction(line);
  }

  /// And not .local.
  static bool is_loc(std::string_view line) {
    return line.starts_with(".loc ") || line.starts_with(".loc\t");
  }

  std::string_view rest_of_statement(std::string_view line) {
    const std::size_t end = line.find(';');
    m_continued = end == std::string_view::npos;
    return m_continued ? std::string_view() : line.substr(end + 1);
  }

  static bool is_label(std::string_view line, std::size_t colon) {
    if (colon == std::string_view::npos || colon == 0) return false;
    const std::string_view name = trim(line.substr(0, colon));
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '$' || c == '%';
    };
    return std::all_of(name.begin(), name.end(), plain) && !line.substr(colon).starts_with("::");
  }

  /// ".local .align 16 .b8 __local_depot0[576];" counts; registers and parameters do not.
  std::string_view declaration(std::string_view line) {
    if (line.starts_with(".local")) {
      const std::size_t open = line.find('[');
      std::int64_t elements = 1, bits = 8;
      if (open != std::string_view::npos)
        std::from_chars(line.data() + open + 1, line.data() + line.size(), elements);
      for (const std::string_view part : dotted_parts(line.substr(0, line.find(';'))))
        if (const int own = bits_of(trim(part.substr(0, part.find(' ')))); own > 0) bits = own;
      constexpr std::int64_t k_most = std::int64_t(1) << 32;
      if (elements > 0 && elements < k_most) m_all.back().local_bytes += elements * bits / 8;
    }
    return rest_of_statement(line);
  }

  std::string_view instruction(std::string_view line) {
    if (line[0] == '@') {
      const std::size_t blank = line.find_first_of(" \t");
      if (blank == std::string_view::npos) return {}; // the opcode is on the next line
      line = trim(line.substr(blank));
      if (line.empty()) return {};
    }
    const std::string_view opcode = line.substr(0, line.find_first_of(" \t;"));
    if (!opcode.empty() && opcode[0] >= 'a' && opcode[0] <= 'z') {
      count_opcode(opcode, m_all.back());
      if (!m_mark.empty()) ++m_all.back().lines[m_mark];
    }
    return rest_of_statement(line);
  }

  /// .file 1 "/a/k.cu"
  void note_file(std::string_view line) {
    constexpr std::size_t k_most = 4096;
    int number = 0;
    line = trim(line.substr(5));
    std::from_chars(line.data(), line.data() + line.size(), number);
    const std::size_t open = line.find('"'),
                      close = open == std::string_view::npos ? open : line.find('"', open + 1);
    if (close != std::string_view::npos && m_files.size() < k_most)
      m_files[number] = line.substr(open + 1, close - open - 1);
    // Triton and newer compilers name all files behind the code.
    if (const auto known = m_files.find(number); known != m_files.end())
      for (CodeFunction& function : m_all) rename(function, number, known->second);
  }

  static void rename(CodeFunction& function, int number, const std::string& file) {
    const std::string prefix = fmt::format("file {}:", number);
    for (auto at = function.lines.lower_bound(prefix);
         at != function.lines.end() && at->first.starts_with(prefix);) {
      function.lines[file + at->first.substr(prefix.size() - 1)] += at->second;
      at = function.lines.erase(at);
    }
  }

  /// .loc 2 15 3, function_name $L, inlined_at 1 40 3. What was inlined from another file, such as
  /// a header of the toolkit, counts where it was called.
  void note_loc(std::string_view line) {
    constexpr std::string_view k_inlined = "inlined_at";
    Place place = place_at(line.substr(4));
    if (const std::size_t at = line.find(k_inlined); at != std::string_view::npos)
      if (const Place caller = place_at(line.substr(at + k_inlined.size()));
          caller.file != place.file && caller.line > 0)
        place = caller;
    m_mark.clear();
    if (place.line <= 0) return;
    const auto file = m_files.find(place.file);
    m_mark = file == m_files.end() ? fmt::format("file {}:{}", place.file, place.line)
                                   : fmt::format("{}:{}", file->second, place.line);
  }

  struct Place {
    int file = 0, line = 0;
  };
  static Place place_at(std::string_view text) {
    Place out;
    const char *at = text.data(), *end = at + text.size();
    for (int* number : {&out.file, &out.line}) {
      while (at != end && (*at == ' ' || *at == '\t')) ++at;
      at = std::from_chars(at, end, *number).ptr;
    }
    return out;
  }

  std::vector<CodeFunction> m_all;
  std::map<int, std::string> m_files;
  std::string m_kept, m_header, m_mark;
  std::string m_target;
  int m_depth = 0;
  bool m_in_comment = false, m_continued = false, m_skipping = false;
};

} // namespace

base::Expected<std::vector<CodeFunction>> read_ptx(std::string_view text,
                                                   const std::string& where) {
  PtxReader reader;
  each_line(text, [&](std::string_view line) { reader.take(line); });
  return reader.finish(where);
}

} // namespace ako::profiles
