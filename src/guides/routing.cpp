#include "guides/routing.hpp"

#include "model/nearest.hpp"
#include "model/toml_reader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace ako::guides {
namespace {

using base::ErrorKind;
using base::fail;
using model::TomlNode;

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// One table of the file, key by key; every key is a word or a list of words.
class Table {
public:
  Table(const std::string& file, const TomlNode& node) : m_file(file), m_node(node) {}

  base::Status read(const char* key, std::string& into) {
    m_known.emplace_back(key);
    const TomlNode* value = m_node.find(key);
    if (!value) return {};
    if (value->kind != TomlNode::Kind::string) return wrong(*value, key, "a string");
    into = value->text;
    return {};
  }
  base::Status read(const char* key, std::vector<std::string>& into) {
    m_known.emplace_back(key);
    const TomlNode* value = m_node.find(key);
    if (!value) return {};
    if (value->kind != TomlNode::Kind::array) return wrong(*value, key, "a list of strings");
    for (const TomlNode& item : value->items) {
      if (item.kind != TomlNode::Kind::string) return wrong(item, key, "a list of strings");
      into.push_back(item.text);
    }
    return {};
  }
  base::Status done() const {
    for (const auto& member : m_node.members)
      if (!holds(m_known, member.key))
        return fail(ErrorKind::invalid, "unknown key '" + member.key + "'",
                    {.where = model::at(m_file, member.place),
                     .found = member.key,
                     .allowed = model::join(m_known),
                     .next = model::did_you_mean(member.key, m_known)});
    return {};
  }
  std::string place() const { return model::at(m_file, m_node.place); }

private:
  base::Status wrong(const TomlNode& node, const char* key, const char* allowed) const {
    return fail(ErrorKind::invalid, fmt::format("{} is of another kind", key),
                {.where = model::at(m_file, node.place),
                 .found = model::describe(node),
                 .allowed = allowed,
                 .next = {}});
  }
  const std::string& m_file;
  const TomlNode& m_node;
  std::vector<std::string> m_known;
};

/// Calls `read` with each table of [[key]].
template <class Read>
base::Status each_table(const TomlNode& root, const char* key, const std::string& file, Read read) {
  const TomlNode* list = root.find(key);
  if (!list) return {};
  if (list->kind != TomlNode::Kind::array)
    return fail(ErrorKind::invalid, fmt::format("{} is no list of tables", key),
                {.where = model::at(file, list->place),
                 .found = model::describe(*list),
                 .allowed = fmt::format("[[{}]]", key),
                 .next = {}});
  for (const TomlNode& node : list->items) AKO_TRY_STATUS(read(Table(file, node)));
  return {};
}

base::Status exists(const std::vector<std::string>& used, const std::vector<std::string>& known,
                    const char* what, const Table& table) {
  for (const auto& one : used)
    if (!holds(known, one))
      return fail(ErrorKind::invalid, fmt::format("there is no {} '{}'", what, one),
                  {.where = table.place(),
                   .found = one,
                   .allowed = model::join(known),
                   .next = model::did_you_mean(one, known)});
  return {};
}

base::Status read_family(Table table, Routing& out) {
  Family family;
  AKO_TRY_STATUS(table.read("id", family.id));
  AKO_TRY_STATUS(table.read("words", family.words));
  AKO_TRY_STATUS(table.done());
  out.families.push_back(std::move(family));
  return {};
}

base::Status read_marker(Table table, Routing& out) {
  Marker marker;
  AKO_TRY_STATUS(table.read("id", marker.id));
  AKO_TRY_STATUS(table.read("what", marker.what));
  AKO_TRY_STATUS(table.read("text", marker.text));
  AKO_TRY_STATUS(table.read("lanes", marker.lanes));
  AKO_TRY_STATUS(table.done());
  out.markers.push_back(std::move(marker));
  return {};
}

base::Status read_rule(Table table, const Library& library, Routing& out) {
  Rule rule;
  AKO_TRY_STATUS(table.read("guides", rule.guides));
  AKO_TRY_STATUS(table.read("why", rule.why));
  AKO_TRY_STATUS(table.read("lanes", rule.lanes));
  AKO_TRY_STATUS(table.read("architectures", rule.architectures));
  AKO_TRY_STATUS(table.read("families", rule.families));
  AKO_TRY_STATUS(table.read("claims", rule.claims));
  AKO_TRY_STATUS(table.read("markers", rule.markers));
  AKO_TRY_STATUS(table.done());
  std::vector<std::string> markers;
  for (const auto& marker : out.markers) markers.push_back(marker.id);
  AKO_TRY_STATUS(exists(rule.guides, library.ids(), "guide", table));
  AKO_TRY_STATUS(exists(rule.families, out.family_ids(), "family", table));
  AKO_TRY_STATUS(exists(rule.markers, markers, "marker", table));
  AKO_TRY_STATUS(exists(rule.claims, {"iteration", "port", "report"}, "claim", table));
  out.rules.push_back(std::move(rule));
  return {};
}

/// "sm_90a" is "sm_90" to a guide.
std::string plain_architecture(std::string text) {
  while (!text.empty() && (text.back() == 'a' || text.back() == 'f') && text.starts_with("sm_"))
    text.pop_back();
  return text;
}

/// Whether one of the rule's words is one of the task's; `said` gets the one that was.
bool meets(const std::vector<std::string>& wanted, const std::vector<std::string>& given,
           const char* what, std::string& said) {
  if (wanted.empty()) return true;
  for (const auto& one : given)
    if (holds(wanted, one)) {
      said += (said.empty() ? "" : ", ") + std::string(what) + " " + one;
      return true;
    }
  return false;
}

struct Found {
  const Marker* marker;
  std::string path;
};

std::vector<Found> markers_in(const Routing& routing, const Question& question) {
  std::vector<Found> out;
  for (const Marker& marker : routing.markers) {
    if (!marker.lanes.empty() && !holds(marker.lanes, question.lane)) continue;
    for (const auto& source : question.sources) {
      const bool there =
          std::any_of(marker.text.begin(), marker.text.end(), [&](const std::string& text) {
            return source.content.find(text) != std::string::npos;
          });
      if (!there) continue;
      out.push_back({&marker, source.path});
      break;
    }
  }
  return out;
}

/// Why the rule holds for the task; nothing when it does not.
std::optional<std::string> reason_of(const Rule& rule, const Question& question,
                                     const std::vector<std::string>& architectures,
                                     const std::vector<Found>& markers) {
  std::string said;
  if (!meets(rule.claims, {question.claim}, "claim", said)) return std::nullopt;
  if (!meets(rule.lanes, {question.lane}, "lane", said)) return std::nullopt;
  if (!meets(rule.architectures, architectures, "architecture", said)) return std::nullopt;
  if (!meets(rule.families, {question.family}, "family", said)) return std::nullopt;
  if (!rule.markers.empty()) {
    const auto found = std::find_if(markers.begin(), markers.end(), [&](const Found& one) {
      return holds(rule.markers, one.marker->id);
    });
    if (found == markers.end()) return std::nullopt;
    said += fmt::format("{}{} in {}", said.empty() ? "" : ", ", found->marker->what, found->path);
  }
  return said.empty() ? rule.why : said;
}

} // namespace

std::vector<std::string> Routing::family_ids() const {
  std::vector<std::string> out;
  for (const Family& family : families) out.push_back(family.id);
  return out;
}

base::Expected<Routing> read_routing(std::string_view text, const std::string& file,
                                     const Library& library) {
  AKO_TRY(const TomlNode root, model::read_toml(text, file));
  Routing out;
  AKO_TRY_STATUS(
      each_table(root, "family", file, [&](Table table) { return read_family(table, out); }));
  AKO_TRY_STATUS(
      each_table(root, "marker", file, [&](Table table) { return read_marker(table, out); }));
  AKO_TRY_STATUS(
      each_table(root, "rule", file, [&](Table table) { return read_rule(table, library, out); }));
  if (out.rules.empty())
    return fail(ErrorKind::invalid, "no rule says what must be read",
                {.where = file, .found = "no [[rule]]", .allowed = "at least one", .next = {}});
  return out;
}

base::Expected<Routing> load_routing(const Library& library) {
  const auto file = library.folder() / "routing.toml";
  AKO_TRY(const std::string text, base::read_file(file, 1u << 20));
  return read_routing(text, file.string(), library);
}

std::vector<Required> required(const Routing& routing, const Library& library,
                               const Question& question) {
  std::vector<std::string> architectures;
  for (const auto& one : question.architectures) architectures.push_back(plain_architecture(one));
  const std::vector<Found> markers = markers_in(routing, question);
  std::vector<Required> out;
  for (const Rule& rule : routing.rules) {
    const auto why = reason_of(rule, question, architectures, markers);
    if (!why) continue;
    for (const auto& id : rule.guides) {
      const auto there = std::find_if(out.begin(), out.end(),
                                      [&](const Required& one) { return one.guide->id == id; });
      if (there != out.end()) there->why.push_back(*why);
      else out.push_back({library.find(id), {*why}});
    }
  }
  return out;
}

} // namespace ako::guides
