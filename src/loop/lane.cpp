#include "loop/lane.hpp"

#include "executors/devices.hpp"
#include "executors/runner.hpp"
#include "lanes/registry.hpp"
#include "loop/port/port.hpp"
#include "model/contract_toml.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace ako::loop {

using base::ErrorKind;
using base::Expected;
using base::fail;
using model::Lane;

namespace {

constexpr Lane k_lanes[] = {Lane::triton, Lane::cuda, Lane::cutlass, Lane::cute_dsl, Lane::cpu};

std::set<std::string> axes_of(const model::Tensor& tensor) {
  std::set<std::string> out;
  for (const auto& each : tensor.shape) {
    const auto names = each.names();
    out.insert(names.begin(), names.end());
  }
  return out;
}

/// What kind of work a contract asks for, as far as its tensors say.
struct Work {
  bool contraction = false; ///< two inputs share an axis that no output has
  bool reduction = false;   ///< an input axis that no output has
  bool narrow = false;      ///< 16 bits or less
  bool many_inputs = false;
};

Work work_of(const model::Contract& contract) {
  Work out;
  std::set<std::string> written;
  std::vector<std::set<std::string>> read;
  for (const auto& tensor : contract.tensors) {
    const auto axes = axes_of(tensor);
    if (tensor.role == model::TensorRole::out || tensor.role == model::TensorRole::inout)
      written.insert(axes.begin(), axes.end());
    if (tensor.role == model::TensorRole::in || tensor.role == model::TensorRole::inout)
      read.push_back(axes);
    for (const auto dtype : model::dtypes_of(contract, tensor)) {
      const std::string name(model::to_string(dtype));
      out.narrow = out.narrow || name.starts_with("float8") || name.starts_with("float4") ||
                   name == "bfloat16" || name == "float16" || name == "int8";
    }
  }
  for (std::size_t i = 0; i < read.size(); ++i)
    for (const auto& axis : read[i]) {
      if (written.contains(axis)) continue;
      out.reduction = true;
      for (std::size_t j = 0; j < read.size(); ++j)
        // Both have an axis of their own besides: a product of matrices, not a weighted sum.
        out.contraction =
            out.contraction || (j != i && read[j].contains(axis) && read[i].size() > 1 &&
                                read[j].size() > 1 && read[i] != read[j]);
    }
  out.many_inputs = read.size() > 3;
  return out;
}

bool contains(const std::vector<Lane>& list, Lane lane) {
  return std::find(list.begin(), list.end(), lane) != list.end();
}

int number_of(const std::string& architecture) {
  return architecture.starts_with("sm_") ? std::atoi(architecture.c_str() + 3) : 0;
}

class Weighing {
public:
  explicit Weighing(const LaneFacts& facts) : m_facts(facts), m_work(work_of(*facts.contract)) {}

  LaneSuggestion weigh(Lane lane) {
    m_out = {};
    m_out.lane = lane;
    m_out.usable = contains(m_facts.usable, lane);
    switch (lane) {
    case Lane::triton: triton(); break;
    case Lane::cuda: cuda(); break;
    case Lane::cutlass: cutlass(); break;
    case Lane::cute_dsl: cute_dsl(); break;
    case Lane::cpu: cpu(); break;
    }
    standing(lane);
    m_out.weight =
        static_cast<int>(m_out.reasons_for.size()) - static_cast<int>(m_out.reasons_against.size());
    return std::move(m_out);
  }

private:
  void pro(std::string text) { m_out.reasons_for.push_back(std::move(text)); }
  void con(std::string text) { m_out.reasons_against.push_back(std::move(text)); }
  bool latency() const { return m_facts.contract->kernel.workload == model::Workload::latency; }

  void triton() {
    if (m_facts.python_callers) pro("its callers are Python");
    if (m_facts.native_callers && !m_facts.python_callers)
      con("its callers are C++: a JIT in between");
    if (m_work.contraction) pro("a product of matrices is one tl.dot away");
    else if (m_work.reduction) pro("row reductions fit block programs");
    else pro("element-wise work is short to write and to fuse");
    if (m_work.many_inputs) pro("many inputs invite fusion");
    if (latency()) con("small launches pay for the launcher in Python unless they are captured");
  }

  void cuda() {
    if (m_facts.native_callers) pro("its callers are C++ or CUDA");
    if (latency()) pro("latency: launch, synchronisation and memory are in your own hands");
    if (!m_work.contraction)
      pro("bound by memory: vector loads and cache hints are yours to choose");
    if (m_work.contraction && m_work.narrow)
      con("tensor-core pipelines by hand are long work; collectives exist");
  }

  void cutlass() {
    if (m_work.contraction)
      pro("a product of matrices: collectives, schedules and epilogues exist");
    else con("no product of matrices: its collectives do not apply");
    if (m_work.contraction && m_work.narrow) pro("narrow types feed the tensor cores");
    if (m_work.contraction && number_of(m_facts.architecture) >= 90)
      pro("sm_90 and later: TMA and warp-group pipelines come with it");
    if (m_facts.python_callers && !m_facts.native_callers)
      con("its callers are Python: a binding is needed");
  }

  void cute_dsl() {
    if (m_facts.python_callers) pro("its callers are Python");
    if (m_work.contraction) pro("CuTe layouts and pipelines, without C++ templates");
    if (number_of(m_facts.architecture) > 0 && number_of(m_facts.architecture) < 80)
      con("older devices than sm_80 are not its aim");
    if (!m_work.contraction) con("layouts and pipelines bring little to element-wise work");
  }

  void cpu() {
    if (m_facts.architecture.empty()) pro("there is no device here, and it needs none");
    else con("there is a device, and the kernel would not use it");
    if (m_facts.contract->kernel.lane == Lane::cpu) pro("the kernel is the host's");
  }

  void standing(Lane lane) {
    if (!contains(m_facts.built, lane)) con("this ako has no such lane");
    else if (!m_out.usable) con("its compiler or device is not here (ako doctor)");
    if (lane != m_facts.contract->kernel.lane) return;
    pro("the record is in it: nothing has to be rewritten");
    if (m_facts.not_better_in_a_row >= 3)
      con(fmt::format("{} in a row were correct and not better in it",
                      m_facts.not_better_in_a_row));
    if (m_facts.rejected_in_target) con("its last win did not carry over into the target");
  }

  const LaneFacts& m_facts;
  Work m_work;
  LaneSuggestion m_out;
};

} // namespace

std::vector<LaneSuggestion> suggest_lanes(const LaneFacts& facts) {
  Weighing weighing(facts);
  std::vector<LaneSuggestion> out;
  for (const Lane lane : k_lanes) out.push_back(weighing.weigh(lane));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.usable != b.usable ? a.usable : a.weight > b.weight;
  });
  return out;
}

Expected<LaneFacts> lane_facts(const Session& session) {
  LaneFacts out;
  out.contract = &session.contract();
  const auto around = lanes::Surroundings::of_this_process(
      executors::local_runner(), workspace::Workdir::cache_root() / "tools");
  std::string architecture;
  if (auto target = find_target(Lane::cuda, std::nullopt)) architecture = target->architecture();
  out.architecture = architecture;
  for (const auto* driver : lanes::all_lanes()) {
    out.built.push_back(driver->lane());
    model::Contract probe = session.contract();
    probe.kernel.lane = driver->lane();
    if (driver->lane() != session.contract().kernel.lane) probe.kernel.compiler.clear();
    const bool tool = driver->find_tool(probe, around).has_value();
    if (tool && (!needs_device(driver->lane()) || !architecture.empty()))
      out.usable.push_back(driver->lane());
  }
  for (const auto& site : session.contract().kernel.call_sites) {
    const bool python = site.find(".py") != std::string::npos;
    (python ? out.python_callers : out.native_callers) = true;
  }
  if (auto port = model::load_port(session.workdir().task()); port && !port->call_site.empty())
    (port->call_site.ends_with(".py") ? out.python_callers : out.native_callers) = true;
  AKO_TRY(const ledger::Standing standing, session.standing());
  out.not_better_in_a_row = standing.not_better_in_a_row;
  if (auto port = standing_port(session); port && *port) {
    AKO_TRY(ledger::Reader reader, session.reader());
    AKO_TRY(const std::string state, port_outcome(reader, **port));
    out.rejected_in_target = state == k_rejected;
  }
  return out;
}

std::string lane_start_name(Lane lane) { return fmt::format("lane-{}", model::to_string(lane)); }

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string toml_list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const auto& value : values) {
    out += out.size() > 1 ? ", \"" : "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "]";
}

/// The key that a line sets, at the left of its "="; empty when it sets none.
std::string key_in(const std::string& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos) return {};
  std::string key = line.substr(0, equals);
  key.erase(0, std::min(key.find_first_not_of(" \t"), key.size()));
  key.erase(key.find_last_not_of(" \t") + 1);
  return key;
}

/// Brackets and braces that are open at a line's end, strings and comments apart.
int open_in(const std::string& line) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      else if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') quote = c;
    else if (c == '#') break;
    else if (c == '[' || c == '{') ++depth;
    else if (c == ']' || c == '}') --depth;
  }
  return depth;
}

/// Walks the lines, table by table.
class Editing {
public:
  Editing(const model::Contract& old, const LaneSwitch& change) : m_old(old), m_change(change) {}

  std::string run(const std::string& toml) {
    const auto lines = lines_of(toml);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string head = lines[i].substr(0, lines[i].find('#'));
      const std::size_t first = head.find_first_not_of(" \t");
      if (first != std::string::npos && head[first] == '[' && open_in(lines[i]) == 0)
        enter(head, lines[i], keys_below(lines, i));
      else if (m_table == "kernel" && replaced(key_in(lines[i]))) {
        for (int depth = open_in(lines[i]); depth > 0 && i + 1 < lines.size();)
          depth += open_in(lines[++i]);
      } else m_out += lines[i] + "\n";
    }
    return m_out;
  }

private:
  static bool replaced(const std::string& key) {
    return key == "lane" || key == "entry" || key == "flags" || key == "compiler" ||
           key == "sources" || key == "architectures" || key == "prepare" || key == "plan";
  }

  /// Keys that the table of this heading sets itself.
  static std::set<std::string> keys_below(const std::vector<std::string>& lines, std::size_t at) {
    std::set<std::string> out;
    for (std::size_t i = at + 1; i < lines.size(); ++i) {
      const std::size_t first = lines[i].find_first_not_of(" \t");
      if (first != std::string::npos && lines[i][first] == '[' && open_in(lines[i]) == 0) break;
      out.insert(key_in(lines[i]));
    }
    return out;
  }

  void enter(const std::string& head, const std::string& line, const std::set<std::string>& own) {
    m_out += line + "\n";
    m_table = head.find("[[") != std::string::npos ? "list" : "table";
    const auto is = [&](const char* name) { return head.find(name) != std::string::npos; };
    if (is("[kernel]")) {
      m_table = "kernel";
      m_out +=
          fmt::format("lane = \"{}\"\nentry = {{ file = \"{}\", symbol = \"{}\" }}\n",
                      model::to_string(m_change.lane), m_change.entry.file, m_change.entry.symbol);
      if (!m_change.flags.empty()) m_out += "flags = " + toml_list(m_change.flags) + "\n";
    } else if (is("[reference]")) {
      spell_out(own, m_old.reference.lane, {});
    } else if (is("[[baseline]]")) {
      const std::size_t at = m_baselines++;
      if (at >= m_old.baselines.size()) return;
      const auto& baseline = m_old.baselines[at];
      const bool takes = baseline.lane == m_old.kernel.lane && baseline.flags.empty();
      spell_out(own, baseline.lane, takes ? m_old.kernel.flags : std::vector<std::string>{});
    }
  }

  /// What was the kernel's by default stays what it was; what stands there is not written twice.
  void spell_out(const std::set<std::string>& own, Lane lane,
                 const std::vector<std::string>& flags) {
    if (!own.contains("lane")) m_out += fmt::format("lane = \"{}\"\n", model::to_string(lane));
    if (!flags.empty() && !own.contains("flags")) m_out += "flags = " + toml_list(flags) + "\n";
  }

  const model::Contract& m_old;
  const LaneSwitch& m_change;
  std::string m_table, m_out;
  std::size_t m_baselines = 0;
};

} // namespace

Expected<std::string> switched_contract(const std::string& toml, const model::Contract& old,
                                        const LaneSwitch& change) {
  std::string text = Editing(old, change).run(toml);
  auto parsed = model::parse_contract(text, "task.toml");
  if (!parsed) {
    base::Error error = std::move(parsed).error();
    error.message = "the contract would not hold in the new lane: " + error.message;
    error.next = "mend task.toml by hand, or give another --entry; nothing was changed";
    return tl::unexpected(std::move(error));
  }
  return text;
}

base::Status switch_lane(const Session& session, const LaneSwitch& change) {
  if (change.lane == session.contract().kernel.lane)
    return fail(ErrorKind::usage, "the task is in this lane already",
                {.where = "ako lane switch",
                 .found = model::to_string(change.lane),
                 .allowed = "another lane",
                 .next = "ako lane suggest"});
  AKO_TRY(base::FileLock lock, session.lock());
  const auto path = session.workdir().contract();
  AKO_TRY(const std::string before, base::read_file(path));
  AKO_TRY(const std::string after, switched_contract(before, session.contract(), change));
  AKO_TRY_STATUS(base::write_file_atomic(path, after));
  auto contract = model::load_contract(session.workdir().task());
  auto start = contract ? workspace::take_snapshot(session.workdir(), *contract)
                        : Expected<model::Sources>(tl::unexpected(contract.error()));
  if (!start) {
    AKO_TRY_STATUS(base::write_file_atomic(path, before));
    return tl::unexpected(start.error());
  }
  AKO_TRY_STATUS(workspace::keep_snapshot(session.workdir(), *start, lane_start_name(change.lane))
                     .map([](const auto&) {}));
  AKO_TRY(const ledger::Standing standing, session.standing());
  AKO_TRY(ledger::Writer writer, session.writer());
  return writer
      .append(ledger::Direction{change.why, model::to_string(change.lane), standing.iterations})
      .map([](const auto&) {});
}

} // namespace ako::loop
