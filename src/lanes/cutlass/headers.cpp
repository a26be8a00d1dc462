#include "lanes/cutlass/headers.hpp"

#include "base/installed.hpp"
#include "base/json.hpp"
#include "lanes/native/tools.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace ako::lanes::cutlass {

using base::ErrorKind;
using base::Expected;
using base::fail;
using native::variable;
namespace fs = base::fs;

namespace {

constexpr const char* k_remedy =
    "run scripts/setup --with-cutlass, or pip install nvidia-cutlass into the active environment, "
    "or set CUTLASS_PATH to a copy of CUTLASS";
/// Where the Python package keeps the headers, below a site-packages folder.
constexpr const char* k_in_package = "cutlass_library/source/include";

/// The number behind "#define NAME"; -1 when there is none.
int defined(const std::string& text, const std::string& name) {
  const std::string key = "#define " + name + " ";
  const std::size_t at = text.find(key);
  int value = -1;
  if (at != std::string::npos)
    std::from_chars(text.data() + at + key.size(), text.data() + text.size(), value);
  return value;
}

std::optional<Version> version_in(const fs::path& include) {
  const auto text = base::read_file(include / "cutlass" / "version.h", 1 << 20);
  if (!text) return std::nullopt;
  const Version version{defined(*text, "CUTLASS_MAJOR"), defined(*text, "CUTLASS_MINOR"),
                        std::max(0, defined(*text, "CUTLASS_PATCH"))};
  if (version.major < 0 || version.minor < 0) return std::nullopt;
  return version;
}

void add_site_packages(const fs::path& environment, const std::string& by,
                       std::vector<Place>& places) {
  std::vector<fs::path> found;
  std::error_code why;
  for (fs::directory_iterator python(environment / "lib", why), end; !why && python != end;
       python.increment(why))
    if (python->path().filename().string().starts_with("python"))
      found.push_back(python->path() / "site-packages" / k_in_package);
  std::sort(found.rbegin(), found.rend());
  for (auto& place : found) places.push_back({by, std::move(place)});
}

std::vector<Place> places_of(const Surroundings& around) {
  std::vector<Place> places;
  if (const auto root = variable(around, "VIRTUAL_ENV"); !root.empty())
    add_site_packages(root, "VIRTUAL_ENV", places);
  if (const auto own = base::find_installed("build/cutlass"))
    add_site_packages(*own, "scripts/setup --with-cutlass", places);
  if (const auto root = variable(around, "CONDA_PREFIX"); !root.empty()) {
    add_site_packages(root, "CONDA_PREFIX", places);
    places.push_back({"CONDA_PREFIX", fs::path(root) / "include"});
  }
  if (const auto root = variable(around, "CUDA_HOME"); !root.empty())
    places.push_back({"CUDA_HOME", fs::path(root) / "include"});
  for (const char* usual : {"/usr/local/cutlass/include", "/usr/local/cuda/include",
                            "/usr/local/include", "/usr/include"})
    places.push_back({"usual place", usual});
  return places;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "4.2" at the start of `text`, which is shortened by it.
std::optional<std::pair<Version, int>> take_version(std::string_view& text) {
  Version version;
  int parts = 0;
  for (int* into : {&version.major, &version.minor, &version.patch}) {
    if (text.empty() || !is_digit(text[0])) break;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *into);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    ++parts;
    if (text.size() < 2 || text[0] != '.' || !is_digit(text[1])) break;
    text.remove_prefix(1);
  }
  if (parts == 0) return std::nullopt;
  return std::pair{version, parts};
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
}

/// ">= 4.0, < 5" in conditions; nothing for text that is none.
std::optional<std::vector<Need>> read_needs(std::string_view text) {
  std::vector<Need> needs;
  for (;;) {
    skip_blanks(text);
    Need need;
    for (const std::string_view op : {">=", "<=", "==", ">", "<"})
      if (need.op.empty() && text.starts_with(op)) need.op = op;
    if (need.op.empty()) return std::nullopt;
    text.remove_prefix(need.op.size());
    skip_blanks(text);
    const auto version = take_version(text);
    if (!version) return std::nullopt;
    std::tie(need.version, need.parts) = *version;
    needs.push_back(std::move(need));
    skip_blanks(text);
    if (text.empty()) return needs;
    if (text[0] != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

/// What follows "// cutlass" in a comment line that goes on with a comparison.
std::optional<std::string_view> wish_in(std::string_view row) {
  skip_blanks(row);
  if (!row.starts_with("//")) return std::nullopt;
  row.remove_prefix(std::min(row.find_first_not_of('/'), row.size()));
  skip_blanks(row);
  for (const std::string_view name : {"cutlass", "CUTLASS"}) {
    if (!row.starts_with(name)) continue;
    std::string_view rest = row.substr(name.size());
    skip_blanks(rest);
    if (!rest.empty() && std::string_view("<>=").find(rest[0]) != std::string_view::npos)
      return rest;
  }
  return std::nullopt;
}

/// Names, sizes and times of the headers below cutlass/ and cute/: what they cannot keep when one
/// changes.
Expected<std::string> stamp_of(const Headers& headers, std::vector<fs::path>& files) {
  base::Hasher hasher;
  hasher.add_field(headers.include.string());
  for (const char* part : {"cutlass", "cute"}) {
    auto below = base::list_files(headers.include / part);
    if (!below) return tl::unexpected(below.error());
    for (const auto& file : *below) {
      const fs::path path = headers.include / part / file;
      std::error_code why;
      hasher.add_field(path.string());
      hasher.add_field(fmt::format("{} {}", fs::file_size(path, why),
                                   fs::last_write_time(path, why).time_since_epoch().count()));
      files.push_back(path);
    }
  }
  return hasher.finish();
}

} // namespace

std::string Version::text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

bool Need::holds(const Version& found) const {
  Version cut = found; // "4.2" speaks of no patch
  if (parts < 2) cut.minor = 0;
  if (parts < 3) cut.patch = 0;
  if (op == ">=") return cut >= version;
  if (op == "<=") return cut <= version;
  if (op == "==") return cut == version;
  if (op == ">") return cut > version;
  return cut < version;
}

std::string Need::text() const {
  std::string number = std::to_string(version.major);
  if (parts > 1) number += fmt::format(".{}", version.minor);
  if (parts > 2) number += fmt::format(".{}", version.patch);
  return op + " " + number;
}

Expected<Headers> first_with_headers(const std::vector<Place>& places,
                                     std::vector<std::string>& said) {
  for (const auto& [by, include] : places) {
    const auto version = version_in(include);
    said.push_back(fmt::format("CUTLASS by {} '{}': {}", by, include.string(),
                               version ? version->text() : "no cutlass/version.h"));
    if (version) return Headers{include, *version, by};
  }
  std::string list;
  for (const auto& line : said) list += (list.empty() ? "" : "; ") + line;
  return fail(ErrorKind::environment, "no CUTLASS headers were found",
              {.where = "CUTLASS_PATH is not set",
               .found = list,
               .allowed = "CUTLASS 3 or 4: a folder with cutlass/ and cute/",
               .next = k_remedy});
}

Expected<Headers> find_headers(const Surroundings& around, std::vector<std::string>* looked) {
  std::vector<std::string> notes;
  std::vector<std::string>& said = looked != nullptr ? *looked : notes;
  const std::string root = variable(around, "CUTLASS_PATH");
  if (root.empty()) return first_with_headers(places_of(around), said);
  const char* by = "CUTLASS_PATH";
  if (auto own = first_with_headers({{by, fs::path(root) / "include"}, {by, root}}, said))
    return own;
  return fail(ErrorKind::environment, "there are no CUTLASS headers where CUTLASS_PATH points",
              {.where = "CUTLASS_PATH",
               .found = root,
               .allowed = "a folder with include/cutlass/version.h",
               .next = "correct CUTLASS_PATH, or unset it to let ako look elsewhere"});
}

Expected<std::string> identity_of(const Headers& headers, const fs::path& memo_dir) {
  std::vector<fs::path> files;
  AKO_TRY(const std::string stamp, stamp_of(headers, files));
  const fs::path memo = memo_dir / fmt::format("cutlass-{}.json", stamp.substr(0, 16));
  if (!memo_dir.empty())
    if (auto known = native::recall(memo, stamp)) return known->identity;
  base::Hasher hasher;
  for (const auto& file : files) {
    AKO_TRY(const std::string text, base::read_file(file));
    hasher.add_field(fs::relative(file, headers.include).generic_string()).add_field(text);
  }
  Tool known;
  known.version = headers.version.text();
  known.identity = fmt::format("CUTLASS {} | {}", headers.version.text(), hasher.finish());
  if (!memo_dir.empty()) native::remember(memo, stamp, known);
  return known.identity;
}

Expected<std::vector<Need>> needs_of(const model::Sources& sources) {
  std::vector<Need> all;
  for (const auto& source : sources.texts) {
    int line = 0;
    for (std::size_t at = 0; at < source.content.size();) {
      const std::size_t end = std::min(source.content.find('\n', at), source.content.size());
      const std::string_view row = std::string_view(source.content).substr(at, end - at);
      at = end + 1;
      ++line;
      const auto wish = wish_in(row);
      if (!wish) continue;
      auto needs = read_needs(*wish);
      if (!needs)
        return fail(ErrorKind::invalid, "this wish for a version of CUTLASS cannot be read",
                    {.where = fmt::format("{}:{}", source.path, line),
                     .found = std::string(row),
                     .allowed = "// cutlass >= 4.0, or // cutlass >= 3.8, < 5",
                     .next = "correct the comment, or begin it with another word"});
      for (auto& need : *needs) {
        need.file = source.path;
        need.line = line;
        all.push_back(std::move(need));
      }
    }
  }
  return all;
}

base::Status check_version(const std::vector<Need>& needs, const Headers& headers) {
  for (const auto& need : needs)
    if (!need.holds(headers.version))
      return fail(ErrorKind::environment, "the source is written for another version of CUTLASS",
                  {.where = fmt::format("{}:{}", need.file, need.line),
                   .found = fmt::format("CUTLASS {} at {}, chosen by {}", headers.version.text(),
                                        headers.include.string(), headers.chosen_by),
                   .allowed = "CUTLASS " + need.text(),
                   .next = "set CUTLASS_PATH to such a version, or change the source and its "
                           "comment"});
  return {};
}

} // namespace ako::lanes::cutlass
