#include "mcp/brief.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::mcp {
namespace {

using base::Json;

constexpr std::size_t k_most_kept = 16, k_most_kept_bytes = 8u << 20, k_most_cuts = 8;

std::size_t size_of(const Json& value) { return base::dump_json(value).size(); }

/// How far one pass goes.
struct Limits {
  std::size_t text, items;
};

std::string pointer_part(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

/// Of these the newest stand last.
bool newest_last(std::string_view key) { return key == "rows" || key == "lessons"; }

class Cutter {
public:
  Cutter(Limits limits, std::vector<Cut>& cuts) : m_limits(limits), m_cuts(cuts) {}

  Json cut(const Json& value, const std::string& path, std::string_view key) {
    if (value.is_string()) return cut_text(value, path);
    if (value.is_array()) return cut_list(value, path, key);
    if (!value.is_object()) return value;
    Json out = Json::object();
    for (const auto& [name, member] : value.items())
      out[name] = cut(member, path + "/" + pointer_part(name), name);
    return out;
  }

private:
  Json cut_text(const Json& value, const std::string& path) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() <= m_limits.text) return value;
    m_cuts.push_back({path, m_limits.text, text.size()});
    return shorten(text, m_limits.text);
  }
  Json cut_list(const Json& value, const std::string& path, std::string_view key) {
    const std::size_t keep = std::min(value.size(), m_limits.items);
    if (keep < value.size()) m_cuts.push_back({path, keep, value.size()});
    const std::size_t first = newest_last(key) ? value.size() - keep : 0;
    Json out = Json::array();
    for (std::size_t i = first; i < first + keep; ++i)
      out.push_back(cut(value[i], fmt::format("{}/{}", path, i), {}));
    return out;
  }
  Limits m_limits;
  std::vector<Cut>& m_cuts;
};

/// Leaves out the largest member below the top objects until it fits.
void leave_out(Json& value, std::size_t bytes, const std::vector<std::string>& whole,
               std::vector<Cut>& cuts) {
  while (size_of(value) > bytes) {
    Json* holder = nullptr;
    std::string path, name;
    std::size_t largest = 0;
    const auto look = [&](Json& object, const std::string& at) {
      for (auto& [key, member] : object.items()) {
        const bool kept = at.empty() && std::count(whole.begin(), whole.end(), key) != 0;
        const bool inner = at.empty() && member.is_object() && !member.empty();
        if (kept || inner || size_of(member) <= largest) continue;
        largest = size_of(member), holder = &object, name = key,
        path = at + "/" + pointer_part(key);
      }
    };
    look(value, "");
    for (auto& [key, member] : value.items())
      if (member.is_object() && std::count(whole.begin(), whole.end(), key) == 0)
        look(member, "/" + pointer_part(key));
    if (holder == nullptr) return;
    holder->erase(name);
    cuts.push_back({path, 0, largest});
  }
}

} // namespace

std::string shorten(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  static constexpr std::string_view k_ellipsis = "…";
  std::size_t end = bytes > k_ellipsis.size() ? bytes - k_ellipsis.size() : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + std::string(k_ellipsis);
}

Brief brief(const Json& value, std::size_t bytes, const std::vector<std::string>& whole) {
  if (size_of(value) <= bytes) return {value, {}};
  static constexpr Limits k_passes[] = {{1000, 40}, {600, 24}, {300, 12}, {200, 8},
                                        {140, 5},   {100, 3},  {60, 2},   {40, 1}};
  Brief out;
  for (const Limits& limits : k_passes) {
    out.cuts.clear();
    Cutter cutter(limits, out.cuts);
    out.value = Json::object();
    for (const auto& [key, member] : value.items()) {
      const bool kept = std::count(whole.begin(), whole.end(), key) != 0;
      out.value[key] = kept ? member : cutter.cut(member, "/" + pointer_part(key), key);
    }
    if (size_of(out.value) <= bytes) break;
  }
  leave_out(out.value, bytes, whole, out.cuts);
  leave_out(out.value, bytes, {}, out.cuts);
  std::stable_sort(out.cuts.begin(), out.cuts.end(), [](const Cut& a, const Cut& b) {
    return std::count(a.path.begin(), a.path.end(), '/') <
           std::count(b.path.begin(), b.path.end(), '/');
  });
  if (out.cuts.size() > k_most_cuts) out.cuts.resize(k_most_cuts);
  return out;
}

namespace {

Page text_page(const std::string& text, std::size_t from, std::size_t bytes) {
  Page out;
  std::size_t end = std::min(text.size(), from + bytes);
  while (end < text.size() && end > from && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  out.value = text.substr(from, end - from);
  // Quotes and line breaks take more room when they are written down.
  while (size_of(out.value) > bytes + 2 && end > from + 4) {
    end = from + (end - from) / 2;
    while (end > from + 1 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    out.value = text.substr(from, end - from);
  }
  out.of = text.size();
  out.next = end < text.size() ? static_cast<std::int64_t>(end) : 0;
  return out;
}

/// Members or items from `from` on; one that is too large for any page is named instead.
Page members_page(const Json& value, const std::string& pointer, std::size_t from,
                  std::size_t bytes) {
  Page out;
  out.value = value.is_array() ? Json::array() : Json::object();
  out.of = value.size();
  std::size_t used = 2, at = 0;
  for (const auto& [key, member] : value.items()) {
    if (at++ < from) continue;
    const std::size_t size = size_of(member) + key.size() + 4;
    if (size > bytes) {
      out.too_large.push_back(pointer + "/" + pointer_part(key));
      continue;
    }
    if (used > 2 && used + size > bytes) {
      out.next = static_cast<std::int64_t>(at - 1);
      return out;
    }
    used += size;
    if (value.is_array()) out.value.push_back(member);
    else out.value[key] = member;
  }
  return out;
}

const Json* at_pointer(const Json& whole, const std::string& pointer) {
  try {
    const Json::json_pointer where(pointer);
    return whole.contains(where) ? &whole.at(where) : nullptr;
  } catch (const Json::exception&) { // not a pointer at all
    return nullptr;
  }
}

} // namespace

base::Expected<Page> page(const Json& whole, const std::string& pointer, std::int64_t cursor,
                          std::size_t bytes) {
  const Json* value = at_pointer(whole, pointer);
  if (value == nullptr)
    return base::fail(base::ErrorKind::invalid, "there is nothing at this place of the answer",
                      {.where = "at",
                       .found = pointer,
                       .allowed = "\"\" for the whole, or a path of its \"more\".\"cut\", such as "
                                  "/data/rows",
                       .next = "ask again with at = \"\""});
  const bool parts = value->is_structured();
  const std::size_t size = parts                ? value->size()
                           : value->is_string() ? value->get_ref<const std::string&>().size()
                                                : 1;
  if (cursor < 0 || (cursor > 0 && static_cast<std::size_t>(cursor) >= size))
    return base::fail(base::ErrorKind::invalid, "this cursor lies behind the end",
                      {.where = "cursor",
                       .found = std::to_string(cursor),
                       .allowed = "0, or the \"next_cursor\" of the page before",
                       .next = "ask again without it"});
  const auto from = static_cast<std::size_t>(cursor);
  if (parts) return members_page(*value, pointer, from, bytes);
  if (value->is_string()) return text_page(value->get_ref<const std::string&>(), from, bytes);
  Page out;
  out.value = *value;
  out.of = 1;
  return out;
}

std::string Kept::add(Json value) {
  const std::size_t bytes = size_of(value);
  m_entries.push_back({fmt::format("r{}", ++m_count), std::move(value), bytes});
  m_bytes += bytes;
  while (m_entries.size() > k_most_kept || (m_bytes > k_most_kept_bytes && m_entries.size() > 1)) {
    m_bytes -= m_entries.front().bytes;
    m_entries.pop_front();
  }
  return m_entries.back().name;
}

const Json* Kept::find(const std::string& name) const {
  for (const Entry& entry : m_entries)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

std::string Kept::names() const {
  if (m_entries.empty()) return "none: no answer was cut yet";
  return m_entries.front().name + " to " + m_entries.back().name;
}

} // namespace ako::mcp
