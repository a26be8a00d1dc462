#include "workspace/call_sites.hpp"

#include "base/cpp_scan.hpp"
#include "workspace/git.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

namespace {

constexpr std::uint64_t k_largest = 8 << 20;

bool ends_any(const std::string& text, std::initializer_list<const char*> all) {
  return std::any_of(all.begin(), all.end(),
                     [&](const char* each) { return text.ends_with(each); });
}
bool is_python(const std::string& path) { return ends_any(path, {".py", ".pyi"}); }
bool is_source(const std::string& path) {
  return is_python(path) || ends_any(path, {".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp",
                                            ".hxx", ".cuh", ".inl"});
}

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The symbol as a whole word in a line without its comment; npos when it is not there.
std::size_t find_word(const std::string& line, const std::string& name) {
  for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    const bool left = at == 0 || !word(line[at - 1]);
    const bool right = at + name.size() >= line.size() || !word(line[at + name.size()]);
    if (left && right) return at;
  }
  return std::string::npos;
}

std::string without_comment(const std::string& line, bool python) {
  const std::size_t at = line.find(python ? "#" : "//");
  const std::string text = line.substr(0, at);
  const std::size_t first = text.find_first_not_of(" \t");
  return first != std::string::npos && text[first] == '*' && !python ? "" : text;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

class File {
public:
  File(const fs::path& top, std::string path)
      : m_path(std::move(path)), m_python(is_python(m_path)) {
    auto text = base::read_file(top / m_path, k_largest);
    if (text && !m_python) m_functions = base::find_functions(*text);
    if (text && m_python) read_python(*text);
  }

  Site site(int line, const std::string& text, const std::string& name) const {
    Site out{Site::Kind::mention, m_path, line, trimmed(text), around(line)};
    out.kind = m_python ? python_kind(text, name) : native_kind(line, text, name);
    return out;
  }

private:
  void read_python(const std::string& text) {
    int line = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string row = text.substr(at, end - at);
      at = end + 1;
      ++line;
      const std::string plain = trimmed(row);
      if (plain.starts_with("def ") || plain.starts_with("async def "))
        m_defs[line] =
            plain.substr(plain.find("def ") + 4, plain.find('(') - plain.find("def ") - 4);
    }
  }

  std::string around(int line) const {
    if (m_python) {
      const auto at = m_defs.upper_bound(line);
      return at == m_defs.begin() ? "" : std::prev(at)->second;
    }
    for (const auto& each : m_functions)
      if (line >= each.first_line && line <= each.last_line) return each.qualified;
    return "";
  }

  Site::Kind python_kind(const std::string& line, const std::string& name) const {
    const std::string plain = trimmed(line);
    if (plain.starts_with("def " + name) || plain.starts_with("async def " + name))
      return Site::Kind::definition;
    if (plain.starts_with("import ") || plain.starts_with("from ")) return Site::Kind::import;
    std::size_t at = find_word(line, name) + name.size();
    while (at < line.size() && line[at] == ' ') ++at;
    if (at < line.size() && line[at] == '(') return Site::Kind::call;
    return at < line.size() && line[at] == '[' ? Site::Kind::launch : Site::Kind::mention;
  }

  Site::Kind native_kind(int line, const std::string& text, const std::string& name) const {
    for (const auto& each : m_functions)
      if (each.line == line && (each.name == name || each.name.ends_with("::" + name)))
        return Site::Kind::definition;
    const std::size_t at = find_word(text, name);
    if (text.find("<<<", at) != std::string::npos) return Site::Kind::launch;
    // m.def("rms_norm", &rms_norm), TORCH_LIBRARY's ops.def("rms_norm(...)")
    if (text.find("def(\"") != std::string::npos || text.find("impl(\"") != std::string::npos)
      return Site::Kind::binding;
    std::size_t behind = at + name.size();
    if (behind < text.size() && text[behind] == '<') behind = text.find('>', behind) + 1;
    while (behind != 0 && behind < text.size() && text[behind] == ' ') ++behind;
    const bool called = behind != 0 && behind < text.size() && text[behind] == '(';
    if (!called) return Site::Kind::mention;
    return around(line).empty() ? Site::Kind::declaration : Site::Kind::call;
  }

  std::string m_path;
  bool m_python;
  std::vector<base::Function> m_functions;
  std::map<int, std::string> m_defs;
};

} // namespace

const char* to_string(Site::Kind kind) {
  switch (kind) {
  case Site::Kind::definition: return "definition";
  case Site::Kind::declaration: return "declaration";
  case Site::Kind::launch: return "launch";
  case Site::Kind::call: return "call";
  case Site::Kind::binding: return "binding";
  case Site::Kind::import: return "import";
  case Site::Kind::mention: return "mention";
  }
  return "";
}

Expected<std::vector<Site>> find_sites(const fs::path& repository, const std::string& symbol) {
  std::string name = symbol.substr(0, symbol.find('<'));
  if (const std::size_t last = name.find_last_of(":."); last != std::string::npos)
    name.erase(0, last + 1);
  const Git git(repository);
  Git::Call grep;
  grep.args = {"grep", "--no-color", "-n", "-z", "-w", "-F", "-I", "--full-name", "-e", name};
  AKO_TRY(const auto found, git.try_run(grep));
  if (!found.ok() && found.ending.code > 1)
    return fail(ErrorKind::usage, "this is no git work tree",
                {.where = repository.string(),
                 .found = found.err.substr(0, found.err.find('\n')),
                 .allowed = "the target repository",
                 .next = "name it: ako scope --sites REPO::SYMBOL"});
  AKO_TRY(const std::string top, git.run({"rev-parse", "--show-toplevel"}));
  std::vector<Site> out;
  std::map<std::string, File> files;
  // "path NUL line NUL text LF"
  for (std::size_t at = 0; at < found.out.size();) {
    const std::size_t first = found.out.find('\0', at), second = found.out.find('\0', first + 1);
    const std::size_t end = std::min(found.out.find('\n', second), found.out.size());
    if (first == std::string::npos || second == std::string::npos) break;
    const std::string path = found.out.substr(at, first - at);
    int line = 0;
    std::from_chars(found.out.data() + first + 1, found.out.data() + second, line);
    const std::string text =
        without_comment(found.out.substr(second + 1, end - second - 1), is_python(path));
    at = end + 1;
    if (!is_source(path) || find_word(text, name) == std::string::npos) continue;
    const auto file = files.try_emplace(path, top, path).first;
    out.push_back(file->second.site(line, text, name));
  }
  if (out.empty())
    return fail(ErrorKind::invalid, "the symbol is nowhere in this repository",
                {.where = repository.string(),
                 .found = symbol,
                 .allowed = "a function or kernel in a tracked C++, CUDA or Python file",
                 .next = "check its spelling"});
  std::stable_sort(out.begin(), out.end(), [](const Site& a, const Site& b) {
    const auto rank = [](Site::Kind kind) {
      return kind == Site::Kind::declaration ? 5
             : kind == Site::Kind::mention   ? 6
                                             : static_cast<int>(kind);
    };
    return rank(a.kind) < rank(b.kind);
  });
  return out;
}

} // namespace ako::workspace
