#include "drive/campaign.hpp"

#include "drive/agent.hpp"
#include "loop/gates.hpp"
#include "model/nearest.hpp"
#include "model/toml_reader.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace ako::drive {
namespace {

using base::Status;
using model::TomlNode;

/// A table of the file, read key by key.
class Table {
public:
  Table(const std::string& file, std::string path, const TomlNode& node)
      : m_file(file), m_path(std::move(path)), m_node(node) {}

  Status keys(const std::vector<std::string>& known) const {
    if (m_node.kind != TomlNode::Kind::table)
      return fail(m_node.place, m_path, "a table is needed here", model::describe(m_node),
                  "a table");
    for (const auto& member : m_node.members)
      if (std::find(known.begin(), known.end(), member.key) == known.end())
        return fail(member.place, joined(member.key), "unknown key", member.key, model::join(known),
                    model::did_you_mean(member.key, known));
    return {};
  }
  const TomlNode* find(const char* key) const { return m_node.find(key); }

  Status read(const char* key, std::string& into) const {
    const TomlNode* value = find(key);
    if (value == nullptr) return {};
    if (value->kind != TomlNode::Kind::string || value->text.empty())
      return wrong(key, *value, "a text that is not empty");
    into = value->text;
    return {};
  }
  Status read(const char* key, bool& into) const {
    const TomlNode* value = find(key);
    if (value == nullptr) return {};
    if (value->kind != TomlNode::Kind::boolean) return wrong(key, *value, "true or false");
    into = value->boolean;
    return {};
  }
  Status read(const char* key, double& into) const {
    const TomlNode* value = find(key);
    if (value == nullptr) return {};
    const bool whole = value->kind == TomlNode::Kind::integer;
    if (!whole && value->kind != TomlNode::Kind::floating)
      return wrong(key, *value, "a number above 0");
    const double number = whole ? static_cast<double>(value->integer) : value->floating;
    if (!std::isfinite(number) || number <= 0) return wrong(key, *value, "a number above 0");
    into = number;
    return {};
  }
  Status read(const char* key, std::int64_t& into) const {
    const TomlNode* value = find(key);
    if (value == nullptr) return {};
    if (value->kind != TomlNode::Kind::integer || value->integer < 1 || value->integer > 1'000'000)
      return wrong(key, *value, "a whole number from 1 to 1000000");
    into = value->integer;
    return {};
  }
  Status read(const char* key, std::vector<std::string>& into) const {
    const TomlNode* value = find(key);
    if (value == nullptr) return {};
    if (value->kind != TomlNode::Kind::array) return wrong(key, *value, "a list of texts");
    into.clear();
    for (const TomlNode& item : value->items) {
      if (item.kind != TomlNode::Kind::string || item.text.empty())
        return wrong(key, item, "a list of texts");
      into.push_back(item.text);
    }
    return {};
  }
  tl::unexpected<base::Error> wrong(const char* key, const TomlNode& value,
                                    std::string allowed) const {
    return fail(value.place, joined(key), fmt::format("'{}' does not hold what it must", key),
                model::describe(value), std::move(allowed));
  }
  tl::unexpected<base::Error> missing(const char* key, std::string allowed) const {
    return fail(m_node.place, joined(key), fmt::format("'{}' is missing", key), "nothing",
                std::move(allowed));
  }

private:
  std::string joined(const std::string& key) const {
    return m_path.empty() ? key : m_path + "." + key;
  }
  tl::unexpected<base::Error> fail(model::Place place, const std::string& key, std::string message,
                                   std::string found, std::string allowed,
                                   std::string next = {}) const {
    return base::fail(base::ErrorKind::invalid, std::move(message),
                      {.where = model::at(m_file, place) + ": " + key,
                       .found = std::move(found),
                       .allowed = std::move(allowed),
                       .next = std::move(next)});
  }
  const std::string& m_file;
  std::string m_path;
  const TomlNode& m_node;
};

template <class Visit>
Status with_table(const std::string& file, const Table& top, const char* key, Visit visit) {
  const TomlNode* node = top.find(key);
  return node == nullptr ? Status{} : visit(Table(file, key, *node));
}

template <class Visit>
Status each_table(const std::string& file, const Table& top, const char* key, Visit visit) {
  const TomlNode* node = top.find(key);
  if (node == nullptr) return {};
  if (node->kind != TomlNode::Kind::array) return top.wrong(key, *node, "a list of tables");
  int number = 0;
  for (const TomlNode& item : node->items)
    AKO_TRY_STATUS(visit(Table(file, fmt::format("{}#{}", key, ++number), item)));
  return {};
}

/// Names something inside the task, and not its repository.
bool is_inside(const std::string& path) {
  const base::fs::path plain = base::fs::path(path).lexically_normal();
  return !plain.is_absolute() && !plain.empty() && *plain.begin() != ".." &&
         *plain.begin() != "." && *plain.begin() != ".git";
}

Status read_agent(const Table& table, const char* command_key, std::vector<std::string> known,
                  AgentSpec& out) {
  for (const char* key : {"deadline_seconds", "writable", "also_writable", "prompt"})
    known.emplace_back(key);
  known.emplace_back(command_key);
  AKO_TRY_STATUS(table.keys(known));
  AKO_TRY_STATUS(table.read(command_key, out.command));
  AKO_TRY_STATUS(table.read("deadline_seconds", out.deadline_seconds));
  AKO_TRY_STATUS(table.read("writable", out.writable));
  AKO_TRY_STATUS(table.read("also_writable", out.also_writable));
  AKO_TRY_STATUS(table.read("prompt", out.prompt));
  for (const std::string& path : out.writable)
    if (!is_inside(path))
      return table.wrong("writable", *table.find("writable"),
                         "paths inside the task, such as \"solution\"");
  return {};
}

Status read_money(const Table& table, Money& out) {
  AKO_TRY_STATUS(table.keys(
      {"pattern", "per", "take", "input_per_million", "cached_per_million", "output_per_million"}));
  constexpr double k_million = 1e6;
  for (const auto& [key, price] : {std::pair("input_per_million", &out.tokens.input),
                                   std::pair("cached_per_million", &out.tokens.cached),
                                   std::pair("output_per_million", &out.tokens.output)}) {
    AKO_TRY_STATUS(table.read(key, *price));
    *price /= k_million;
  }
  if (out.tokens.any()) {
    for (const char* key : {"pattern", "per", "take"})
      if (const TomlNode* value = table.find(key))
        return table.wrong(key, *value, "either prices of tokens, or a pattern");
    return {};
  }
  AKO_TRY_STATUS(table.read("pattern", out.pattern));
  AKO_TRY_STATUS(table.read("per", out.per));
  std::string take = "last";
  AKO_TRY_STATUS(table.read("take", take));
  if (take != "last" && take != "sum")
    return table.wrong("take", *table.find("take"), "\"last\" or \"sum\"");
  out.sum = take == "sum";
  if (out.pattern.empty()) return table.missing("pattern", "a regular expression with one group");
  try {
    const std::regex pattern(out.pattern, std::regex::ECMAScript);
    if (pattern.mark_count() == 1) return {};
  } catch (const std::regex_error&) { // said below
  }
  return table.wrong("pattern", *table.find("pattern"),
                     "a regular expression with one group, which is a number");
}

Status read_stop(const Table& table, Stop& out) {
  AKO_TRY_STATUS(table.keys({"gain_percent", "idle", "failures", "stalls"}));
  double percent = 0;
  AKO_TRY_STATUS(table.read("gain_percent", percent));
  if (percent > 0) out.gain = percent / 100;
  AKO_TRY_STATUS(table.read("idle", out.idle));
  AKO_TRY_STATUS(table.read("failures", out.failures));
  return table.read("stalls", out.stalls);
}

Status read_lane(const Table& table, Campaign& out) {
  AKO_TRY_STATUS(table.keys({"lane", "entry", "from", "flags"}));
  CampaignLane to;
  std::string lane, entry;
  AKO_TRY_STATUS(table.read("lane", lane));
  AKO_TRY_STATUS(table.read("entry", entry));
  AKO_TRY_STATUS(table.read("from", to.from));
  AKO_TRY_STATUS(table.read("flags", to.flags));
  const auto wrong = [&](const char* key, const char* allowed) -> Status {
    const TomlNode* found = table.find(key);
    if (found == nullptr) return table.missing(key, allowed);
    return table.wrong(key, *found, allowed);
  };
  const auto known = model::lane_from(lane);
  if (!known) return wrong("lane", "\"cuda\", \"cutlass\", \"triton\", \"cute-dsl\" or \"cpu\"");
  to.lane = *known;
  const std::size_t mark = entry.find("::");
  if (mark != std::string::npos) to.entry = {entry.substr(0, mark), entry.substr(mark + 2)};
  if (!is_inside(to.entry.file) || to.entry.file.rfind("solution/", 0) != 0 ||
      to.entry.symbol.empty())
    return wrong("entry", "FILE::SYMBOL below solution/, such as \"solution/k.cu::scale\"");
  if (!is_inside(to.from))
    return wrong("from", "a file of the task: the first version in that lane");
  out.lanes.push_back(std::move(to));
  return {};
}

Status read_stall(const std::string& file, const Table& table, Campaign& out) {
  AKO_TRY_STATUS(table.keys({"directions", "lane", "then"}));
  AKO_TRY_STATUS(table.read("directions", out.directions));
  AKO_TRY_STATUS(
      each_table(file, table, "lane", [&](const Table& one) { return read_lane(one, out); }));
  std::string then = "ask";
  AKO_TRY_STATUS(table.read("then", then));
  if (then != "ask" && then != "stop")
    return table.wrong("then", *table.find("then"), "\"ask\" (the agent) or \"stop\"");
  out.after_directions = then == "ask" ? AfterDirections::ask : AfterDirections::stop;
  return {};
}

Status read_waiver(const Table& table, Campaign& out) {
  AKO_TRY_STATUS(table.keys({"gate", "why"}));
  CampaignWaiver waiver;
  AKO_TRY_STATUS(table.read("gate", waiver.gate));
  AKO_TRY_STATUS(table.read("why", waiver.why));
  std::vector<std::string> gates;
#define AKO_X(name, text) gates.emplace_back(text);
  AKO_GATES(AKO_X)
#undef AKO_X
  if (std::find(gates.begin(), gates.end(), waiver.gate) == gates.end()) {
    const TomlNode* found = table.find("gate");
    return found != nullptr ? table.wrong("gate", *found, model::join(gates))
                            : table.missing("gate", model::join(gates));
  }
  if (waiver.why.empty()) return table.missing("why", "one sentence that every report will show");
  out.waivers.push_back(std::move(waiver));
  return {};
}

Status read_setting(const Table& table, Campaign& out) {
  Setting setting;
  setting.agent = out.agent;
  AKO_TRY_STATUS(read_agent(table, "agent", {"name"}, setting.agent));
  AKO_TRY_STATUS(table.read("name", setting.name));
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  };
  if (setting.name.empty()) return table.missing("name", "letters, digits, - and _");
  if (!std::all_of(setting.name.begin(), setting.name.end(), plain))
    return table.wrong("name", *table.find("name"), "letters, digits, - and _");
  for (const Setting& other : out.settings)
    if (other.name == setting.name)
      return table.wrong("name", *table.find("name"), "a name that no other setting has");
  out.settings.push_back(std::move(setting));
  return {};
}

Status read_budget(const Table& table, Budget& out) {
  AKO_TRY_STATUS(table.keys({"iterations", "wall_seconds", "device_seconds", "money"}));
  AKO_TRY_STATUS(table.read("iterations", out.iterations));
  AKO_TRY_STATUS(table.read("wall_seconds", out.wall_seconds));
  AKO_TRY_STATUS(table.read("device_seconds", out.device_seconds));
  return table.read("money", out.money);
}

Status read_top(const std::string& file, const Table& top, Campaign& out) {
  AKO_TRY_STATUS(top.keys({"format", "name", "confine", "prepare", "agent", "budget", "cost",
                           "stop", "stall", "waiver", "setting"}));
  std::int64_t format = 0;
  AKO_TRY_STATUS(top.read("format", format));
  if (format != 1)
    return format == 0 ? top.missing("format", "1") : top.wrong("format", *top.find("format"), "1");
  AKO_TRY_STATUS(top.read("name", out.name));
  AKO_TRY_STATUS(top.read("prepare", out.prepare));
  std::string confine = "auto";
  AKO_TRY_STATUS(top.read("confine", confine));
  if (confine != "auto" && confine != "comparison")
    return top.wrong("confine", *top.find("confine"), "\"auto\" or \"comparison\"");
  out.confine = confine == "auto" ? Confine::automatic : Confine::comparison;
  AKO_TRY_STATUS(with_table(file, top, "agent", [&](const Table& table) {
    return read_agent(table, "command", {}, out.agent);
  }));
  AKO_TRY_STATUS(with_table(file, top, "budget",
                            [&](const Table& table) { return read_budget(table, out.budget); }));
  AKO_TRY_STATUS(with_table(file, top, "cost",
                            [&](const Table& table) { return read_money(table, out.money); }));
  AKO_TRY_STATUS(with_table(file, top, "stop",
                            [&](const Table& table) { return read_stop(table, out.stop); }));
  AKO_TRY_STATUS(with_table(file, top, "stall",
                            [&](const Table& table) { return read_stall(file, table, out); }));
  AKO_TRY_STATUS(
      each_table(file, top, "waiver", [&](const Table& table) { return read_waiver(table, out); }));
  return each_table(file, top, "setting",
                    [&](const Table& table) { return read_setting(table, out); });
}

} // namespace

namespace {

/// An agent whose price nobody knows would never spend the budget.
Status check_money(const std::string& name, const Campaign& campaign) {
  if (campaign.budget.money <= 0) return {};
  const auto says = [&](const AgentSpec& agent) {
    return !campaign.money.pattern.empty() || campaign.money.tokens.any() ||
           !adapter_for(agent.command).money_pattern.empty();
  };
  std::vector<AgentSpec> agents;
  for (const Setting& setting : campaign.settings) agents.push_back(setting.agent);
  if (agents.empty()) agents.push_back(campaign.agent);
  const auto silent = std::find_if_not(agents.begin(), agents.end(), says);
  if (silent == agents.end()) return {};
  return base::fail(base::ErrorKind::invalid, "a budget of money needs to know where it is printed",
                    {.where = name + ": cost.pattern",
                     .found = "nothing, and the agent " + silent->command + " has none of its own",
                     .allowed = "a regular expression whose group is the number, or prices of "
                                "tokens (codex): input_per_million, output_per_million",
                     .next = "add [cost] with one of them, or leave budget.money out"});
}

} // namespace

base::Expected<Campaign> read_campaign(const base::fs::path& file, const std::string& agent) {
  Campaign out;
  out.file = file;
  AKO_TRY(const std::string text, base::read_file(file, 1u << 20));
  out.hash = base::sha256(text);
  out.name = file.stem().string();
  const std::string name = file.filename().string();
  AKO_TRY(const TomlNode root, model::read_toml(text, name));
  AKO_TRY_STATUS(read_top(name, Table(name, "", root), out));
  if (!agent.empty()) out.agent.command = agent;
  if (!out.settings.empty() && !out.lanes.empty())
    return base::fail(base::ErrorKind::invalid, "settings side by side stay in the task's lane",
                      {.where = name + ": stall.lane",
                       .found = "[[stall.lane]] and [[setting]] in one campaign",
                       .allowed = "one of them: the best of each is tried on the task itself",
                       .next = "leave one out; two campaigns, one after the other, can have both"});
  const bool every = !out.settings.empty() &&
                     std::all_of(out.settings.begin(), out.settings.end(),
                                 [](const Setting& s) { return !s.agent.command.empty(); });
  for (Setting& setting : out.settings)
    if (setting.agent.command.empty()) setting.agent.command = out.agent.command;
  if (out.agent.command.empty() && !every)
    return base::fail(base::ErrorKind::usage, "no agent is named",
                      {.where = "ako drive",
                       .found = "neither --agent nor agent.command in " + name,
                       .allowed = "claude, codex, or any command that edits files",
                       .next = "ako drive --agent CMD --campaign " + name});
  AKO_TRY_STATUS(check_money(name, out));
  return out;
}

const char* campaign_template() {
  return R"toml(# What an unattended campaign may spend, touch and waive: ako drive --campaign campaign.toml
format = 1
# name = "night"            # default: this file's name

[agent]
command = "claude"          # claude, codex, or any command that edits files; the prompt comes on stdin
deadline_seconds = 900      # of one turn
# writable = ["solution"]   # default: what makes up a candidate
# also_writable = ["~/.cache/agent"]

[budget]
iterations = 20
# wall_seconds = 28800
# device_seconds = 3600
# money = 20                # needs [cost], but for claude

# [cost]
# pattern = 'cost: \$([0-9.]+)'
# take = "last"             # or "sum"
# input_per_million = 1.25  # codex prints tokens: their prices instead of a pattern
# cached_per_million = 0.125
# output_per_million = 10

[stop]
# gain_percent = 50         # confirmed, against the baseline
idle = 3                    # turns in a row that brought nothing to judge
failures = 3                # turns in a row in which the agent failed or hung, or that were lost
stalls = 3

[stall]
directions = []             # taken in turn; then lanes; then the agent is asked for one
# then = "stop"

# [[stall.lane]]
# lane = "cuda"
# entry = "solution/k.cu::k"
# from = "input/first.cu"   # the first version there

# [[waiver]]                # the only waivers there are
# gate = "direction"
# why = "..."

# [[setting]]               # several side by side, each in a worktree of its own
# name = "careful"
# prompt = "Small steps."
)toml";
}

} // namespace ako::drive
