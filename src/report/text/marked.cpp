#include "report/text/marked.hpp"

#include <algorithm>
#include <map>

namespace ako::report {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

enum class Marker { none, begin, end, damaged };

struct Found {
  Marker marker = Marker::none;
  std::string name;
};

std::string_view trimmed(std::string_view line) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!line.empty() && blank(line.back())) line.remove_suffix(1);
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  return line;
}

bool good_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
}

/// A marker is a line of its own. One that names ako and is not exactly a marker is damaged.
Found marker_of(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.find("ako:begin") == std::string_view::npos &&
      text.find("ako:end") == std::string_view::npos)
    return {};
  if (text.find("<!--") == std::string_view::npos && text.find("-->") == std::string_view::npos)
    return {}; // people may write about the words themselves
  for (const auto& [head, marker] :
       {std::pair<std::string_view, Marker>{"<!-- ako:begin ", Marker::begin},
        {"<!-- ako:end ", Marker::end}}) {
    if (text.substr(0, head.size()) != head || text.size() < head.size() + 4) continue;
    std::string_view name = text.substr(head.size());
    if (name.substr(name.size() - 4) != " -->") continue;
    name.remove_suffix(4);
    if (good_name(name)) return {marker, std::string(name)};
  }
  return {Marker::damaged, {}};
}

/// Text of the people, or a block.
struct Piece {
  std::string name; ///< empty = text
  std::string text; ///< of a block: without its markers
};

class Splitter {
public:
  explicit Splitter(std::string_view where) : m_where(where) {}

  Expected<std::vector<Piece>> split(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end == text.npos ? text.size() : end + 1);
      text.remove_prefix(line.size());
      AKO_TRY_STATUS(take(line, ++number));
    }
    if (!m_open.empty())
      return trouble(m_open_line, "this block has no end", "<!-- ako:end " + m_open + " -->");
    return std::move(m_pieces);
  }

private:
  base::Status take(std::string_view line, int number) {
    const Found found = marker_of(line);
    if (found.marker == Marker::damaged)
      return trouble(number, "a damaged marker: " + std::string(trimmed(line)),
                     "<!-- ako:begin NAME --> or <!-- ako:end NAME -->");
    if (found.marker == Marker::begin) return begin(found.name, number);
    if (found.marker == Marker::end) return end(found.name, number);
    if (m_open.empty() && (m_pieces.empty() || !m_pieces.back().name.empty()))
      m_pieces.emplace_back();
    m_pieces.back().text += line;
    return {};
  }
  base::Status begin(const std::string& name, int number) {
    if (!m_open.empty())
      return trouble(number, "a block begins inside block " + m_open,
                     "<!-- ako:end " + m_open + " --> first");
    if (!m_lines.emplace(name, number).second)
      return trouble(number, "block " + name + " stands twice",
                     "once; its first stands at line " + std::to_string(m_lines[name]));
    m_open = name;
    m_open_line = number;
    m_pieces.push_back({name, {}});
    return {};
  }
  base::Status end(const std::string& name, int number) {
    if (name != m_open)
      return trouble(number, "this end has no beginning: " + name,
                     m_open.empty() ? "<!-- ako:begin " + name + " --> before it"
                                    : "<!-- ako:end " + m_open + " -->");
    m_open.clear();
    return {};
  }
  tl::unexpected<base::Error> trouble(int line, std::string found, std::string allowed) {
    return fail(ErrorKind::invalid, "ako's marks in this file are damaged; it was left as it is",
                {.where = m_where + ":" + std::to_string(line),
                 .found = std::move(found),
                 .allowed = std::move(allowed),
                 .next = "mend the mark, or remove the whole block: it is written anew from the "
                         "ledger"});
  }

  std::string m_where;
  std::vector<Piece> m_pieces;
  std::map<std::string, int> m_lines;
  std::string m_open;
  int m_open_line = 0;
};

std::vector<Piece>::iterator find(std::vector<Piece>& pieces, const std::string& name) {
  return std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.name == name; });
}

/// Where a block that is not there belongs: after its nearest earlier neighbour, before its nearest
/// later one, or at the end.
void insert_missing(std::vector<Piece>& pieces, const std::vector<Block>& blocks, std::size_t at) {
  for (std::size_t before = at; before-- > 0;)
    if (auto found = find(pieces, blocks[before].name); found != pieces.end()) {
      pieces.insert(found + 1, {blocks[at].name, {}});
      return;
    }
  for (std::size_t after = at + 1; after < blocks.size(); ++after)
    if (auto found = find(pieces, blocks[after].name); found != pieces.end()) {
      pieces.insert(found, {blocks[at].name, {}});
      return;
    }
  pieces.push_back({blocks[at].name, {}});
}

std::string joined(const std::vector<Piece>& pieces) {
  std::string out;
  for (const Piece& each : pieces) {
    const bool block = !each.name.empty();
    if (block && !out.empty() && out.back() != '\n') out += '\n';
    if (block) out += "<!-- ako:begin " + each.name + " -->\n";
    out += each.text;
    if (block && !each.text.empty() && each.text.back() != '\n') out += '\n';
    if (block) out += "<!-- ako:end " + each.name + " -->\n";
  }
  return out;
}

} // namespace

Expected<std::string> merge_blocks(std::string_view existing, const std::vector<Block>& blocks,
                                   std::string_view heading, std::string_view where) {
  for (const Block& each : blocks) AKO_CHECK(good_name(each.name), "a block's name");
  AKO_TRY(std::vector<Piece> pieces, Splitter(where).split(existing));
  if (pieces.empty() && !heading.empty()) pieces.push_back({{}, std::string(heading)});
  for (std::size_t at = 0; at < blocks.size(); ++at)
    if (find(pieces, blocks[at].name) == pieces.end()) insert_missing(pieces, blocks, at);
  for (const Block& each : blocks) find(pieces, each.name)->text = each.text;
  return joined(pieces);
}

} // namespace ako::report
