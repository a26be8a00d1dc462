#include "model/contract_read.hpp"
#include "model/letters.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;

namespace {

bool is_word(char c) { return is_letter(c) || is_digit(c); }

constexpr std::size_t k_longest_identifier = 64;
constexpr std::string_view k_cpp_extensions[] = {".cpp", ".cc", ".cxx", ".c", ".hpp", ".h", ".ipp"};
constexpr std::string_view k_cuda_extensions[] = {".cu", ".cuh", ".ptx"};
constexpr std::string_view k_python_extensions[] = {".py"};

std::span<const std::string_view> extensions_of(Lane lane) {
  switch (lane) {
  case Lane::cpu: return k_cpp_extensions;
  case Lane::cuda:
  case Lane::cutlass: return k_cuda_extensions;
  case Lane::triton:
  case Lane::cute_dsl: return k_python_extensions;
  }
  return {};
}

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string listed(std::span<const std::string_view> words) {
  std::vector<std::string> out(words.begin(), words.end());
  return join(out);
}

/// Entry files must be of the lane's kind; further sources may be anything that is not another's.
enum class FileUse { entry, source };

Status check_extension(const Section& section, const TomlNode& node, std::string_view key,
                       Lane lane, const std::string& path, FileUse use) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (contains(extensions_of(lane), extension)) return {};
  std::string owner;
  for (const auto& name : enum_names<Lane>())
    if (contains(extensions_of(name.value), extension))
      owner += (owner.empty() ? "" : ", ") + std::string(name.text);
  const bool header =
      contains(k_cpp_extensions, extension) && lane != Lane::triton && lane != Lane::cute_dsl;
  if (use == FileUse::source && (owner.empty() || header)) return {};
  return section.error_at(
      node, key,
      owner.empty()
          ? fmt::format("the {} lane does not know the extension '{}'", to_string(lane), extension)
          : fmt::format("'{}' belongs to the lane {}, not {}", path, owner, to_string(lane)),
      listed(extensions_of(lane)), "name a file of this lane, or set lane");
}

bool is_qualified(std::string_view text, std::string_view separator) {
  for (;;) {
    const std::size_t next = text.find(separator);
    const std::string_view part = text.substr(0, next);
    if (part.empty() || !is_letter(part[0]) || !std::all_of(part.begin(), part.end(), is_word))
      return false;
    if (next == std::string_view::npos) return true;
    text.remove_prefix(next + separator.size());
  }
}

/// A C++ name, with template arguments behind it at most.
bool is_cpp_symbol(std::string_view text) {
  const std::size_t open = text.find('<');
  if (open == std::string_view::npos) return is_qualified(text, "::");
  const std::string_view args = text.substr(open);
  const auto plain = [](char c) {
    return is_word(c) || c == ':' || c == ',' || c == ' ' || c == '<' || c == '>';
  };
  return args.back() == '>' && std::all_of(args.begin(), args.end(), plain) &&
         is_qualified(text.substr(0, open), "::");
}

} // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= k_longest_identifier && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), is_word);
}

Status check_identifier(const Section& section, std::string_view key) {
  const TomlNode* node = section.node(key);
  if (!node || is_identifier(node->text)) return {};
  return section.error(key, fmt::format("'{}' is not an identifier", key),
                       "letters, digits and _, not beginning with a digit, at most 64");
}

Status check_symbol(const Section& section, std::string_view key, const std::string& symbol,
                    Lane lane) {
  const bool python = lane == Lane::triton || lane == Lane::cute_dsl;
  if (symbol.empty() || (python ? is_qualified(symbol, ".") : is_cpp_symbol(symbol))) return {};
  return section.error(key, fmt::format("'{}' is not a function name", symbol),
                       python ? "a name, or names joined by '.'"
                              : "a name, or names joined by '::', with template arguments at most");
}

Status check_path(const Section& section, const TomlNode& node, std::string_view key,
                  const std::string& path) {
  const std::string allowed = "a relative path inside the task folder, without '..'";
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return section.error_at(node, key, "the path holds a control character", allowed);
  const std::filesystem::path parts(path);
  if (parts.is_absolute())
    return section.error_at(node, key, "the path is absolute", allowed,
                            "copy the file into the task");
  for (const auto& part : parts)
    if (part == "..")
      return section.error_at(node, key, "the path leaves the task", allowed,
                              "copy the file into the task");
  return {};
}

Lane lane_of_entry(const Section& section, Lane usual) {
  const TomlNode* entry = section.node("entry");
  if (!entry || entry->kind != TomlNode::Kind::table) return usual;
  const TomlNode* file = entry->find("file");
  if (!file || file->kind != TomlNode::Kind::string) return usual;
  const std::string extension = std::filesystem::path(file->text).extension().string();
  if (contains(extensions_of(usual), extension)) return usual;
  // Python runs where the task runs; CUDA needs the task to be a device's; C++ of the host is no
  // use to buffers on a device.
  if (contains(k_python_extensions, extension)) return Lane::triton;
  if (usual != Lane::cpu && contains(k_cuda_extensions, extension)) return Lane::cuda;
  return usual;
}

Status read_entry(const Section& section, Lane lane, EntryRef& into) {
  AKO_TRY_STATUS(section.require("entry"));
  const TomlNode& node = *section.node("entry");
  if (node.kind != TomlNode::Kind::table)
    return section.error("entry", "'entry' has the wrong type",
                         "{ file = \"solution/kernel.cpp\", symbol = \"name\" }");
  const Section entry(section.file(), section.path() + ".entry", node, node.place, "entry");
  AKO_TRY_STATUS(entry.known_keys_only());
  AKO_TRY_STATUS(entry.require("file"));
  AKO_TRY_STATUS(entry.require("symbol"));
  AKO_TRY_STATUS(entry.read("file", into.file));
  AKO_TRY_STATUS(entry.read("symbol", into.symbol));
  const TomlNode& file = *entry.node("file");
  AKO_TRY_STATUS(check_path(entry, file, "file", into.file));
  AKO_TRY_STATUS(check_extension(entry, file, "file", lane, into.file, FileUse::entry));
  return check_symbol(entry, "symbol", into.symbol, lane);
}

Status read_paths(const Section& section, std::string_view key, Lane lane,
                  std::vector<std::string>& into) {
  AKO_TRY_STATUS(section.read(key, into));
  const TomlNode* list = section.node(key);
  if (!list) return {};
  for (const TomlNode& item : list->items) {
    AKO_TRY_STATUS(check_path(section, item, key, item.text));
    if (key == "sources")
      AKO_TRY_STATUS(check_extension(section, item, key, lane, item.text, FileUse::source));
  }
  return {};
}

Status check_names(const Reading& reading, const Section& section, const TomlNode& node,
                   std::string_view key, const Expression& expression) {
  for (const std::string& name : expression.names()) {
    const Axis* axis = find_axis(reading.contract, name);
    if (axis && axis->kind != Axis::Kind::dtype) continue;
    std::vector<std::string> known;
    for (const Axis& each : reading.contract.axes)
      if (each.kind != Axis::Kind::dtype) known.push_back(each.name);
    if (axis)
      return section.error_at(node, key, fmt::format("'{}' is a dtype axis, not a number", name),
                              join(known));
    std::string next = did_you_mean(name, known);
    if (next.empty()) next = fmt::format("declare {} under [axes]", name);
    return section.error_at(node, key, fmt::format("free axis '{}'", name),
                            known.empty() ? "no axis is declared" : join(known), std::move(next));
  }
  return {};
}

Status check_count(const Section& section, std::size_t count, std::size_t most,
                   std::string_view what) {
  if (count <= most) return {};
  return section.error("", fmt::format("too many {}", what), fmt::format("at most {}", most));
}

Expected<Section> table_section(const Reading& reading, std::string_view key) {
  static const TomlNode k_none;
  const TomlMember* member = reading.root.member(key);
  if (!member) return Section(reading.file, std::string(key), k_none, {}, key);
  const TomlNode& node = member->value;
  if (node.kind != TomlNode::Kind::table)
    return fail(ErrorKind::invalid, fmt::format("'{}' must be one table", key),
                {.where = fmt::format("{}: {}", at(reading.file, member->place), key),
                 .found = describe(node),
                 .allowed = fmt::format("[{}]", key),
                 .next = {}});
  return Section(reading.file, std::string(key), node, member->place, key);
}

} // namespace ako::model
