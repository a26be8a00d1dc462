#include "keeper/session.hpp"

#include "base/parallel.hpp"
#include "keeper/buffers.hpp"
#include "keeper/keeper.hpp"
#include "keeper/machine.hpp"
#include "measure/cache.hpp"
#include "protocol/crash.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::keeper {

using base::ErrorKind;
using base::Json;
using protocol::Kind;

namespace {

void pin(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

} // namespace

int Session::run() {
  for (;;) {
    const auto request = protocol::receive_request(m_channel);
    if (!request) return protocol::k_exit_channel_lost;
    const auto answer = dispatch(*request);
    const auto sent = answer ? protocol::send_answer(m_channel, request->kind, request->id,
                                                     answer->body, answer->fds)
                             : protocol::send_refusal(m_channel, request->kind, request->id,
                                                      protocol::refuse(answer.error()));
    if (!sent) return protocol::k_exit_channel_lost;
    if (request->kind == Kind::quit) return 0;
    if (m_evict_unwritten) write_evict();
  }
}

Session::Answer Session::dispatch(const protocol::Request& request) {
  const auto& body = request.body;
  switch (request.kind) {
  case Kind::hello: return hello();
  case Kind::quit: return Reply{};
  case Kind::configure: return configure(body);
  case Kind::create: return create(body);
  case Kind::destroy: return destroy(body);
  case Kind::fill: return fill(body);
  case Kind::poison: return poison(body);
  case Kind::check: return check(body);
  case Kind::sums: return sums(body);
  case Kind::copy: return copy(body);
  case Kind::machine: return machine(body);
  case Kind::sweep: return sweep();
  case Kind::read: return move_host(body, true);
  case Kind::write: return move_host(body, false);
  default:
    return base::fail(ErrorKind::invalid, "a keeper does not know this command",
                      {.found = protocol::to_string(request.kind)});
  }
}

Session::Answer Session::hello() const {
  return Reply{Json{{"protocol", protocol::k_version},
                    {"role", "keeper"},
                    {"pid", getpid()},
                    {"capabilities", {"cpu", "evict", "device"}}},
               {}};
}

Session::Answer Session::configure(const Json& body) {
  AKO_TRY(const auto task_dir, base::get<std::string>(body, "task_dir"));
  AKO_TRY(const auto cores, protocol::get_ints(body, "cores"));
  AKO_TRY(auto evict_bytes, base::get<std::int64_t>(body, "evict_bytes"));
  m_library = std::make_unique<FillLibrary>(task_dir);
  m_cores = cores;
  // Between blocks the cores that are measured on have nothing else to do.
  m_helpers = base::cores_at_start();
  for (const int core : cores)
    if (core >= 0 && core < CPU_SETSIZE &&
        std::find(m_helpers.begin(), m_helpers.end(), core) == m_helpers.end())
      m_helpers.push_back(core);
  if (!cores.empty()) pin(cores);
  if (body.contains("device")) {
    AKO_TRY(const auto device, base::get<Json>(body, "device"));
    AKO_TRY(const auto uuid, base::get<std::string>(device, "uuid"));
    AKO_TRY(m_device, DeviceKeeper::make(uuid, base::get_or<std::string>(body, "cache_dir", "")));
    return Reply{m_device->facts(), m_device->fds()};
  }
  return evict_from_host(evict_bytes);
}

/// Written once, while the parent starts the workers; the sweeps push its own dirty lines out, and
/// from here on it is only read.
void Session::write_evict() {
  const auto cache = measure::find_cache();
  std::memset(m_evict_unwritten->data(), 0x5a, m_evict_unwritten->size());
  for (int sweep = 0; sweep < 2; ++sweep)
    measure::read_lines(m_evict_unwritten->data(), m_evict_unwritten->size(), cache.line);
  m_evict_unwritten.reset();
}

Session::Answer Session::evict_from_host(std::int64_t evict_bytes) {
  const auto cache = measure::find_cache();
  if (evict_bytes == 0) evict_bytes = static_cast<std::int64_t>(2 * cache.bytes);
  Reply reply;
  reply.body = {{"evict_bytes", std::max<std::int64_t>(0, evict_bytes)},
                {"cache_bytes", cache.bytes}};
  if (evict_bytes < 0) return reply;

  const auto bytes = static_cast<std::size_t>(evict_bytes);
  AKO_TRY(m_evict, base::make_memfd("ako-evict", bytes));
  AKO_TRY(m_evict_unwritten, base::Mapping::map(m_evict.get(), bytes, 0, base::Access::read_write));
  // Opened anew for reading: a mapping of this descriptor can never be made writable.
  const auto path = fmt::format("/proc/self/fd/{}", m_evict.get());
  m_evict_read_only = base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!m_evict_read_only)
    return base::fail_errno("the eviction buffer cannot be shared", path, errno);
  reply.fds = {m_evict_read_only.get()};
  return reply;
}

base::Expected<Store*> Session::arena(const Json& body, const char* key) {
  AKO_TRY(const auto id, base::get<std::string>(body, key));
  const auto at = m_arenas.find(id);
  if (at == m_arenas.end()) return base::fail(ErrorKind::invalid, "no such arena", {.found = id});
  return at->second.get();
}

Session::Answer Session::create(const Json& body) {
  AKO_TRY(const auto id, base::get<std::string>(body, "arena"));
  AKO_TRY(const auto tag, base::get<std::string>(body, "tag"));
  AKO_TRY(const auto plan_json, base::get<Json>(body, "plan"));
  AKO_TRY(auto plan, model::arena_plan_from_json(plan_json));
  AKO_TRY(const auto list, base::get<Json>(body, "tensors"));
  std::vector<protocol::ArenaTensor> tensors;
  for (const auto& item : list) {
    AKO_TRY(auto tensor, protocol::arena_tensor_from_json(item));
    tensors.push_back(std::move(tensor));
  }
  if (m_arenas.contains(id)) return base::fail(ErrorKind::invalid, "that arena exists already");
  std::unique_ptr<Store> store;
  if (m_device) {
    AKO_TRY(store, m_device->make_store(std::move(plan), std::move(tensors)));
  } else {
    AKO_TRY(store, Buffers::make(std::move(plan), std::move(tensors), tag, m_helpers));
  }
  const auto [at, made] = m_arenas.emplace(id, std::move(store));
  return Reply{Json::object(), at->second->fds()};
}

Session::Answer Session::destroy(const Json& body) {
  AKO_TRY_STATUS(arena(body));
  AKO_TRY(const auto id, base::get<std::string>(body, "arena"));
  m_arenas.erase(id);
  return Reply{};
}

Session::Answer Session::fill(const Json& body) {
  AKO_TRY(auto* buffers, arena(body));
  if (!m_library) return base::fail(ErrorKind::invalid, "not configured yet");
  FillRequest request;
  AKO_TRY(request.seed, protocol::get_hex(body, "seed"));
  AKO_TRY(const auto epoch, base::get<std::int64_t>(body, "epoch"));
  request.epoch = static_cast<std::uint32_t>(epoch);
  AKO_TRY(const auto recipe, base::get<std::string>(body, "recipe"));
  const auto known = inputs::recipe_from(recipe);
  if (!known) return base::fail(ErrorKind::invalid, "unknown recipe", {.found = recipe});
  request.recipe = *known;
  AKO_TRY(request.sets, protocol::get_ints(body, "sets"));
  AKO_TRY(const auto which, base::get<std::string>(body, "tensors"));
  request.fresh_only = which == "fresh";
  AKO_TRY(const auto fills, base::get<Json>(body, "fills"));
  for (const auto& item : fills) {
    AKO_TRY(auto order, protocol::fill_order_from_json(item));
    request.orders.push_back(std::move(order));
  }
  AKO_TRY_STATUS(buffers->fill(request, *m_library));
  return Reply{};
}

Session::Answer Session::poison(const Json& body) {
  AKO_TRY(auto* buffers, arena(body));
  AKO_TRY(const auto sets, protocol::get_ints(body, "sets"));
  AKO_TRY(const auto sentinel, base::get<std::int64_t>(body, "sentinel"));
  AKO_TRY_STATUS(
      buffers->poison(sentinel == 0 ? inputs::Sentinel::first : inputs::Sentinel::second, sets));
  return Reply{};
}

Session::Answer Session::check(const Json& body) {
  AKO_TRY(auto* buffers, arena(body));
  AKO_TRY(const auto sets, protocol::get_ints(body, "sets"));
  std::int64_t bytes = 0;
  Json list = Json::array();
  AKO_TRY(const auto findings, buffers->check(sets, bytes));
  for (const auto& finding : findings)
    list.push_back({{"tensor", finding.tensor},
                    {"set", finding.set},
                    {"unwritten", finding.unwritten},
                    {"doubtful", finding.doubtful},
                    {"first", finding.first},
                    {"last", finding.last},
                    {"red_before", finding.red_before},
                    {"red_after", finding.red_after},
                    {"red_distance", finding.red_distance},
                    {"gap_damage", finding.gap_damage},
                    {"input_changed", finding.input_changed}});
  return Reply{Json{{"bytes_checked", bytes}, {"buffers", list}}, {}};
}

Session::Answer Session::sums(const Json& body) {
  AKO_TRY(auto* buffers, arena(body));
  Json list = Json::array();
  AKO_TRY(const auto sums, buffers->sums());
  for (const auto sum : sums) list.push_back(protocol::hex(sum));
  return Reply{Json{{"sums", list}}, {}};
}

Session::Answer Session::copy(const Json& body) {
  AKO_TRY(auto* from, arena(body, "from"));
  AKO_TRY(auto* to, arena(body, "to"));
  AKO_TRY(const auto steps, base::get<Json>(body, "steps"));
  for (const auto& step : steps) {
    AKO_TRY(const auto s, protocol::get_ints(Json{{"step", step}}, "step"));
    if (s.size() != 4) return base::fail(ErrorKind::invalid, "a copy step has four numbers");
    AKO_TRY(const auto source, from->region(s[0], s[1]));
    AKO_TRY(const auto target, to->region(s[2], s[3]));
    if (source.bytes != target.bytes)
      return base::fail(ErrorKind::invalid, "buffers of different sizes cannot be copied",
                        {.found = fmt::format("{} and {} bytes", source.bytes, target.bytes)});
    AKO_TRY_STATUS(to->move(target, source));
  }
  return Reply{};
}

Session::Answer Session::machine(const Json& body) {
  AKO_TRY(const auto cores, protocol::get_ints(body, "cores"));
  Reply reply{machine_state(m_ticks, cores), {}};
  if (m_device) {
    AKO_TRY(reply.body["device"], m_device->state());
  }
  return reply;
}

Session::Answer Session::sweep() {
  if (!m_evict_read_only) return Reply{};
  std::size_t bytes = m_evict_read.size();
  if (bytes == 0) {
    struct stat file {};
    if (fstat(m_evict_read_only.get(), &file) != 0)
      return base::fail_errno("the eviction buffer cannot be read", "sweep", errno);
    bytes = static_cast<std::size_t>(file.st_size);
    AKO_TRY(m_evict_read,
            base::Mapping::map(m_evict_read_only.get(), bytes, 0, base::Access::read));
  }
  const auto line = measure::find_cache().line;
  if (m_cores.empty()) measure::read_lines(m_evict_read.data(), bytes, line);
  for (const int core : m_cores) {
    pin({core});
    measure::read_lines(m_evict_read.data(), bytes, line);
  }
  if (!m_cores.empty()) pin(m_cores);
  return Reply{};
}

Session::Answer Session::move_host(const Json& body, bool read) {
  AKO_TRY(auto* buffers, arena(body));
  AKO_TRY(const auto tensor, base::get<std::int64_t>(body, "tensor"));
  AKO_TRY(const auto set, base::get<std::int64_t>(body, "set"));
  const auto t = static_cast<int>(tensor), s = static_cast<int>(set);
  AKO_TRY_STATUS(read ? buffers->read(t, s) : buffers->write(t, s));
  return Reply{};
}

int run_keeper(int channel) {
  prctl(PR_SET_DUMPABLE, 0); // expected outputs live here: nobody reads them from outside
  fcntl(channel, F_SETFD, FD_CLOEXEC);
  return Session(channel).run();
}

} // namespace ako::keeper
