#include "client/keeper.hpp"

#include "client/endings.hpp"
#include "client/link.hpp"
#include "client/processes.hpp"
#include "inputs/custom_fill.hpp"
#include "protocol/values.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <random>

namespace ako::client {

using base::ErrorKind;
using base::Expected;
using base::Json;
using base::Status;
using protocol::Kind;

struct Keeper::State {
  std::optional<Link> link;
  double deadline_seconds = 60;
  std::uint64_t next_arena = 1;
  std::int64_t evict_bytes = 0, cache_bytes = 0;
  base::UniqueFd evict_fd, image_fd;
  bool on_device = false;
  std::int64_t image_bytes = 0;
  Json device_facts = Json::object();
  static constexpr int k_address_tries = 10000; ///< a large arena covers many a small one's places
  struct Taken {
    std::uint64_t first = 0, last = 0;
  };
  std::map<std::uint64_t, Taken> taken; ///< addresses of the arenas that live, by id

  /// Where no other arena of this keeper lies, as long as there is such a place.
  std::uint64_t free_address(std::int64_t bytes) const {
    std::uint64_t at = 0;
    for (int tries = 0; tries < k_address_tries; ++tries) {
      at = on_device ? next_device_address(bytes) : next_arena_address(bytes);
      const auto last = at + static_cast<std::uint64_t>(bytes);
      if (std::none_of(taken.begin(), taken.end(), [&](const auto& each) {
            return at < each.second.last && each.second.first < last;
          }))
        break;
    }
    return at;
  }

  Expected<Json> ask(Kind kind, const Json& body, std::vector<base::UniqueFd>* received = nullptr) {
    auto answer =
        link->ask(kind, body, base::Deadline::after_seconds(deadline_seconds), {}, received);
    if (answer) return std::move(*answer);
    auto& incident = answer.error();
    const auto where = fmt::format("keeper, {}", protocol::to_string(kind));
    if (incident.kind == Incident::Kind::local) return tl::unexpected(std::move(incident.error));
    if (incident.kind == Incident::Kind::refused)
      return base::fail(incident.word == "environment" ? ErrorKind::environment
                                                       : ErrorKind::invalid,
                        incident.text, {.where = where});
    return base::fail(incident.kind == Incident::Kind::late ? ErrorKind::timeout
                                                            : ErrorKind::environment,
                      "the process that holds the buffers has failed",
                      {.where = where,
                       .found = incident.text + (link->err().empty() ? "" : ": " + link->err()),
                       .next = "run again; free memory if the machine ran out of it"});
  }
};

Keeper::Keeper() : m_state(std::make_unique<State>()) {}
Keeper::Keeper(Keeper&&) noexcept = default;
Keeper& Keeper::operator=(Keeper&&) noexcept = default;
Keeper::~Keeper() {
  if (m_state && m_state->link) m_state->link->kill();
}

Expected<Keeper> Keeper::start(KeeperOptions options) {
  if (options.program.empty()) {
    AKO_TRY(options.program, find_child_program());
  }
  LinkOptions link;
  link.program = options.program;
  link.args = {"keeper"};
  link.env = child_environment();
  Keeper keeper;
  auto& state = *keeper.m_state;
  state.deadline_seconds = options.deadline_seconds;
  AKO_TRY(state.link, Link::start(link));
  AKO_TRY(const auto hello, state.ask(Kind::hello, Json{{"protocol", protocol::k_version}}));
  if (base::get_or<std::int64_t>(hello, "protocol", 0) != protocol::k_version)
    return base::fail(ErrorKind::environment, "ako-child is of another version than ako",
                      {.where = options.program.string(), .next = "install both together"});
  std::error_code ignored;
  const auto task_dir =
      std::filesystem::absolute(options.task_dir.empty() ? "." : options.task_dir, ignored);
  state.on_device = options.device.has_value();
  Json configure{{"task_dir", task_dir.string()},
                 {"cores", options.cores},
                 {"evict_bytes", options.evict_bytes},
                 {"cache_dir", options.cache_dir.string()}};
  if (options.device) configure["device"] = {{"uuid", options.device->uuid}};
  std::vector<base::UniqueFd> fds(state.on_device ? 2u : options.evict_bytes >= 0 ? 1u : 0u);
  AKO_TRY(const auto facts, state.ask(Kind::configure, configure, &fds));
  if (!fds.empty()) state.evict_fd = std::move(fds.front());
  if (fds.size() > 1) state.image_fd = std::move(fds.back());
  state.image_bytes = base::get_or<std::int64_t>(facts, "image_bytes", 0);
  state.device_facts = base::get_or<Json>(facts, "device", Json::object());
  note_set_apart(base::get_or<std::uint64_t>(state.device_facts, "addresses_bytes", 0));
  AKO_TRY(state.evict_bytes, base::get<std::int64_t>(facts, "evict_bytes"));
  AKO_TRY(state.cache_bytes, base::get<std::int64_t>(facts, "cache_bytes"));
  return keeper;
}

namespace {

Json sets_json(const std::vector<int>& sets) { return Json(sets); }

/// The tensors as they lie in the arena: in the reference's the close-compared floating outputs are
/// of the reference's own precision.
Json tensors_json(const model::Contract& contract, const model::ResolvedShape& shape,
                  ArenaUse use) {
  Json list = Json::array();
  for (std::size_t i = 0; i < shape.tensors.size(); ++i) {
    const auto& declared = contract.tensors[i];
    protocol::ArenaTensor tensor{shape.tensors[i], declared.lifetime, declared.workspace};
    auto& resolved = tensor.resolved;
    const bool wide = use == ArenaUse::reference && resolved.role == model::TensorRole::out &&
                      declared.compare == model::Compare::close &&
                      model::class_of(resolved.dtype) == model::DtypeClass::floating &&
                      contract.reference.precision != model::ErrorPrecision::native;
    if (wide) {
      resolved.dtype = contract.reference.precision == model::ErrorPrecision::float64
                           ? model::Dtype::float64
                           : model::Dtype::float32;
      resolved.bytes = model::bytes_of(resolved.dtype, resolved.span_elements);
    }
    list.push_back(protocol::to_json(tensor));
  }
  return list;
}

Status check_sizes(const model::ArenaPlan& plan, const Json& tensors) {
  for (const auto& place : plan.places) {
    const bool known = place.tensor >= 0 && static_cast<std::size_t>(place.tensor) < tensors.size();
    const auto wanted =
        known ? tensors[static_cast<std::size_t>(place.tensor)]["bytes"].get<std::int64_t>() : -1;
    if (wanted == place.bytes) continue;
    return base::fail(ErrorKind::internal, "an arena's plan is not for this shape",
                      {.found = fmt::format("tensor {}: {} bytes", place.tensor, place.bytes),
                       .allowed = fmt::format("{} bytes", wanted)});
  }
  return {};
}

Expected<Json> fill_json(const Arena& arena, const FillJob& job) {
  if (!job.contract || !job.shape)
    return base::fail(ErrorKind::internal, "a fill needs a contract and a shape");
  Json fills = Json::array();
  for (std::size_t i = 0; i < job.contract->tensors.size(); ++i) {
    const auto& tensor = job.contract->tensors[i];
    const bool filled =
        tensor.role == model::TensorRole::in || tensor.role == model::TensorRole::inout;
    if (!filled || !arena.has(static_cast<int>(i), 0)) continue;
    protocol::FillOrder order{static_cast<int>(i), tensor.fill, {}};
    const auto library = job.custom_libraries.find(static_cast<int>(i));
    if (library != job.custom_libraries.end()) {
      order.library = library->second.string();
      order.spec.symbol = inputs::k_fill_symbol;
    }
    fills.push_back(protocol::to_json(order));
  }
  return Json{{"arena", protocol::hex(arena.id())},
              {"seed", protocol::hex(job.seed)},
              {"epoch", job.epoch},
              {"recipe", std::string(inputs::to_string(job.recipe))},
              {"sets", sets_json(job.sets)},
              {"tensors", job.tensors == FillJob::Tensors::fresh ? "fresh" : "all"},
              {"fills", fills}};
}

} // namespace

Expected<Arena> Keeper::create_arena(const model::Contract& contract,
                                     const model::ResolvedShape& shape, model::ArenaPlan plan,
                                     std::string tag, ArenaUse use) {
  if (contract.tensors.size() != shape.tensors.size())
    return base::fail(ErrorKind::internal, "the shape is not the contract's");
  if (plan.address == 0) plan.address = m_state->free_address(plan.bytes);
  const auto tensors = tensors_json(contract, shape, use);
  AKO_TRY_STATUS(check_sizes(plan, tensors));
  Arena arena;
  arena.m_id = m_state->next_arena++;
  std::vector<base::UniqueFd> fds(m_state->on_device ? 2u : 1u);
  AKO_TRY_STATUS(m_state->ask(Kind::create,
                              Json{{"arena", protocol::hex(arena.m_id)},
                                   {"plan", model::to_json(plan)},
                                   {"tensors", tensors},
                                   {"tag", tag}},
                              &fds));
  arena.m_fd = std::move(fds.front());
  const auto bytes = static_cast<std::size_t>(plan.bytes);
  if (m_state->on_device) {
    arena.m_mirror_fd = std::move(fds.back());
    AKO_TRY(arena.m_mapping,
            base::Mapping::map(arena.m_mirror_fd.get(), bytes, 0, base::Access::read));
  } else {
    AKO_TRY(arena.m_mapping,
            base::Mapping::map(arena.m_fd.get(), bytes, plan.address, base::Access::read));
  }
  m_state->taken[arena.m_id] = {plan.address,
                                plan.address + static_cast<std::uint64_t>(plan.bytes)};
  arena.m_plan = std::move(plan);
  arena.m_tag = std::move(tag);
  return arena;
}

Status Keeper::destroy_arena(Arena arena) {
  AKO_TRY_STATUS(m_state->ask(Kind::destroy, Json{{"arena", protocol::hex(arena.id())}}));
  m_state->taken.erase(arena.id());
  return {};
}

Status Keeper::fill(const Arena& arena, const FillJob& job) {
  AKO_TRY(const auto body, fill_json(arena, job));
  AKO_TRY_STATUS(m_state->ask(Kind::fill, body));
  return {};
}

Status Keeper::poison(const Arena& arena, inputs::Sentinel sentinel, const std::vector<int>& sets) {
  AKO_TRY_STATUS(
      m_state->ask(Kind::poison, Json{{"arena", protocol::hex(arena.id())},
                                      {"sentinel", sentinel == inputs::Sentinel::first ? 0 : 1},
                                      {"sets", sets_json(sets)}}));
  return {};
}

Expected<CheckReport> Keeper::check(const Arena& arena, const std::vector<int>& sets) {
  AKO_TRY(const auto answer, m_state->ask(Kind::check, Json{{"arena", protocol::hex(arena.id())},
                                                            {"sets", sets_json(sets)}}));
  CheckReport report;
  AKO_TRY(report.bytes_checked, base::get<std::int64_t>(answer, "bytes_checked"));
  AKO_TRY(const auto list, base::get<Json>(answer, "buffers"));
  for (const auto& item : list) {
    BufferCheck check;
    const auto number = [&item](const char* key) {
      return base::get_or<std::int64_t>(item, key, 0);
    };
    check.tensor = static_cast<int>(number("tensor"));
    check.set = static_cast<int>(number("set"));
    check.unwritten = number("unwritten");
    check.doubtful = number("doubtful");
    check.first = number("first");
    check.last = number("last");
    check.red_before = number("red_before");
    check.red_after = number("red_after");
    check.red_distance = number("red_distance");
    check.gap_damage = number("gap_damage");
    AKO_TRY(check.input_changed, base::get<bool>(item, "input_changed"));
    report.buffers.push_back(check);
  }
  return report;
}

Expected<std::vector<std::uint64_t>> Keeper::checksum_inputs(const Arena& arena) {
  AKO_TRY(const auto answer, m_state->ask(Kind::sums, Json{{"arena", protocol::hex(arena.id())}}));
  AKO_TRY(const auto list, base::get<Json>(answer, "sums"));
  std::vector<std::uint64_t> sums;
  for (const auto& item : list) {
    AKO_TRY(const auto sum, protocol::from_hex(item.is_string() ? item.get<std::string>() : ""));
    sums.push_back(sum);
  }
  return sums;
}

Status Keeper::copy(const Arena& from, const Arena& to, const std::vector<CopyStep>& steps) {
  Json list = Json::array();
  for (const auto& s : steps)
    list.push_back(Json::array({s.from_tensor, s.from_set, s.to_tensor, s.to_set}));
  AKO_TRY_STATUS(m_state->ask(
      Kind::copy,
      Json{{"from", protocol::hex(from.id())}, {"to", protocol::hex(to.id())}, {"steps", list}}));
  return {};
}

namespace {

Json buffer_json(const Arena& arena, int tensor, int set) {
  return Json{{"arena", protocol::hex(arena.id())}, {"tensor", tensor}, {"set", set}};
}

/// The place's own set: static tensors lie once.
Expected<int> set_of(const Arena& arena, int tensor, int set) {
  const auto* place = find_place(arena.plan(), tensor, set);
  if (place) return place->set;
  return base::fail(ErrorKind::internal, "the arena holds no such buffer",
                    {.found = fmt::format("tensor {} set {}", tensor, set)});
}

} // namespace

Status Keeper::read(const Arena& arena, int tensor, int set) {
  AKO_TRY(const int at, set_of(arena, tensor, set));
  AKO_TRY_STATUS(m_state->ask(Kind::read, buffer_json(arena, tensor, at)));
  return {};
}

Status Keeper::write(const Arena& arena, int tensor, int set) {
  AKO_TRY(const int at, set_of(arena, tensor, set));
  AKO_TRY_STATUS(m_state->ask(Kind::write, buffer_json(arena, tensor, at)));
  return {};
}

Status Keeper::sweep() {
  AKO_TRY_STATUS(m_state->ask(Kind::sweep, Json::object()));
  return {};
}

Expected<MachineState> Keeper::machine_state(const std::vector<int>& cores) {
  AKO_TRY(const auto answer, m_state->ask(Kind::machine, Json{{"cores", cores}}));
  MachineState state;
  AKO_TRY(state.adds_per_ns, base::get<double>(answer, "adds_per_ns"));
  AKO_TRY(state.cores, protocol::get_ints(answer, "cores"));
  AKO_TRY(const auto busy, base::get<Json>(answer, "busy_ns"));
  AKO_TRY(const auto steal, base::get<Json>(answer, "steal_ns"));
  for (const auto& value : busy) state.busy_ns.push_back(value.get<std::int64_t>());
  for (const auto& value : steal) state.steal_ns.push_back(value.get<std::int64_t>());
  AKO_TRY(state.at_ns, base::get<std::int64_t>(answer, "at_ns"));
  AKO_TRY(state.busy_resolution_ns, base::get<std::int64_t>(answer, "busy_resolution_ns"));
  if (const auto celsius = base::get<double>(answer, "temperature_c"))
    state.temperature_c = *celsius;
  state.device = base::get_or<Json>(answer, "device", Json::object());
  return state;
}

double foreign_load(const MachineState& before, const MachineState& after,
                    std::int64_t own_cpu_ns) {
  const auto wall = after.at_ns - before.at_ns;
  std::int64_t used = 0;
  for (std::size_t i = 0; i < std::min(before.busy_ns.size(), after.busy_ns.size()); ++i)
    used += after.busy_ns[i] - before.busy_ns[i] + after.steal_ns[i] - before.steal_ns[i];
  const auto room = wall * static_cast<std::int64_t>(after.busy_ns.size());
  if (room <= 0) return 0;
  // The counters advance in steps: what lies within one step a core is no sign of anybody.
  const auto slack = after.busy_resolution_ns * static_cast<std::int64_t>(after.busy_ns.size());
  const auto foreign = used - own_cpu_ns - slack;
  return std::clamp(static_cast<double>(foreign) / static_cast<double>(room), 0.0, 1.0);
}

std::int64_t Keeper::evict_bytes() const { return m_state->evict_bytes; }
int Keeper::evict_fd() const { return m_state->evict_fd.get(); }
bool Keeper::on_device() const { return m_state->on_device; }
const Json& Keeper::device_facts() const { return m_state->device_facts; }
int Keeper::image_fd() const { return m_state->image_fd.get(); }
std::int64_t Keeper::image_bytes() const { return m_state->image_bytes; }
std::int64_t Keeper::cache_bytes() const { return m_state->cache_bytes; }
std::int64_t Keeper::cpu_ns() const { return activity_of(pid()).cpu_ns; }
int Keeper::pid() const { return m_state->link->process().pid(); }

} // namespace ako::client
