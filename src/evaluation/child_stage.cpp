#include "evaluation/child_stage.hpp"

#include "evaluation/blocks.hpp"
#include "evaluation/counted.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <future>
#include <sched.h>
#include <set>
#include <thread>
#include <tuple>
#include <unistd.h>

namespace ako::evaluation {
namespace {

using client::Worker;
using model::Side;

/// A worker, and which open() it was last bound to.
struct Party {
  std::optional<model::LaunchSpec> spec;
  std::optional<Worker> worker;
  std::future<Answer<void>> greeting; ///< valid while the worker is starting
  std::optional<client::LoadReport> loaded;
  std::uint64_t bound = 0;
  base::Json compiled = base::Json::object();
  bool mapped_shared = false, mapped_own = false;
};

/// Lists grow, times add up.
void add_to(base::Json& all, const base::Json& more) {
  for (const auto& [key, value] : more.items()) {
    auto& at = all[key];
    if (value.is_array()) {
      if (!at.is_array()) at = base::Json::array();
      for (const auto& each : value) at.push_back(each);
    } else if (value.is_number_integer() && at.is_number_integer()) {
      at = at.get<std::int64_t>() + value.get<std::int64_t>();
    } else {
      at = value;
    }
  }
}

/// Stops the side when a command is over.
class Stopping {
public:
  explicit Stopping(Worker& worker) : m_worker(worker) {}
  Stopping(const Stopping&) = delete;
  Stopping& operator=(const Stopping&) = delete;
  ~Stopping() {
    if (m_worker.alive()) (void)m_worker.pause();
  }

private:
  Worker& m_worker;
};

/// Lets the side run for the length of one command; everything of it is stopped otherwise.
class Running : public Stopping {
public:
  explicit Running(Worker& worker) : Stopping(worker) { (void)worker.resume(); }
};

/// Keeps this process, and the keeper it starts, off the cores that are measured on, for as long as
/// it lives: their work would count as foreign there, and would be. With no other core to go to,
/// nothing changes.
class OffMeasuringCores {
public:
  explicit OffMeasuringCores(const std::vector<int>& measuring) {
    CPU_ZERO(&m_before);
    if (sched_getaffinity(0, sizeof m_before, &m_before) != 0) return;
    cpu_set_t others = m_before;
    for (int core : measuring)
      if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &others);
    if (measuring.empty() || CPU_COUNT(&others) == 0) return;
    m_moved = sched_setaffinity(0, sizeof others, &others) == 0;
  }
  OffMeasuringCores(const OffMeasuringCores&) = delete;
  OffMeasuringCores& operator=(const OffMeasuringCores&) = delete;
  ~OffMeasuringCores() {
    if (m_moved) (void)sched_setaffinity(0, sizeof m_before, &m_before);
  }

private:
  cpu_set_t m_before;
  bool m_moved = false;
};

class ChildStage final : public Stage {
public:
  ChildStage(ChildStageOptions options, std::unique_ptr<OffMeasuringCores> off)
      : m_options(std::move(options)), m_off(std::move(off)) {
    m_parties[0].spec = m_options.reference;
    m_parties[1].spec = m_options.incumbent;
    m_parties[2].spec = m_options.candidate;
  }

  /// Who is still greeting is not waited for: what was never asked to load is ended at once.
  ~ChildStage() override {
    for (Party& p : m_parties)
      if (p.greeting.valid() && p.worker) p.worker->end_from_outside();
  }

  /// All at once: a device's context takes a fifth of a second, a sandbox some milliseconds. What
  /// fails is told when the side is loaded.
  base::Status start(client::KeeperOptions keeper) {
    for (Party& p : m_parties)
      if (p.spec) launch(p);
    AKO_TRY(m_keeper, client::Keeper::start(std::move(keeper)));
    return {};
  }

  bool has(Side side) const override { return party(side).spec.has_value(); }

  Answer<client::LoadReport> load(Side side) override {
    Party& p = party(side);
    if (p.loaded) return *p.loaded;
    if (!p.greeting.valid())
      if (auto launched = launch(p); !launched) return tl::unexpected(launched.error());
    if (auto greeted = p.greeting.get(); !greeted) return tl::unexpected(greeted.error());
    if (auto shared = p.worker->share_eviction(*m_keeper); !shared)
      return tl::unexpected(shared.error());
    auto report = p.worker->load();
    if (!report) return report;
    p.loaded = *report;
    if (auto paused = p.worker->pause(); !paused) return environment(paused.error(), "pause");
    return report;
  }

  base::Status open(const model::ResolvedShape& shape, int sets, std::uint64_t colour) override {
    // Where the reference writes is no part of a placement: it stays while the shape does.
    const bool same = m_own && m_sets == sets && m_shape.tag == shape.tag &&
                      m_shape.axes == shape.axes && made_when_asked(shape);
    close(same ? Own::stays : Own::goes);
    changed();
    AKO_TRY(model::ArenaPlan plan, model::plan_arena(*m_options.contract, shape, sets, 0, colour));
    AKO_TRY(client::Arena shared,
            m_keeper->create_arena(*m_options.contract, shape, plan, shape.tag));
    m_shared.emplace(std::move(shared));
    m_shape = shape;
    m_sets = sets;
    ++m_opened;
    return made_when_asked(shape) ? base::Status{} : ready_own();
  }

  void close() override { close(Own::goes); }
  base::Status fill(const Content& content) override {
    changed();
    AKO_TRY_STATUS(m_keeper->fill(*m_shared, job(content)));
    return hand_over_inouts();
  }

  base::Status write(int tensor, int set, std::span<const std::byte> bytes) override {
    changed();
    const auto& place = m_shared->plan().place(tensor, set);
    AKO_CHECK(static_cast<std::int64_t>(bytes.size()) <= place.bytes, "more bytes than the buffer");
    // The parent maps arenas read only; through the descriptor it may write.
    std::size_t done = 0;
    while (done < bytes.size()) {
      const int fd = m_shared->on_device() ? m_shared->mirror_fd() : m_shared->fd();
      const ssize_t wrote = ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                                     place.offset + static_cast<off_t>(done));
      if (wrote <= 0) return base::fail_errno("could not write a test input", "arena", errno);
      done += static_cast<std::size_t>(wrote);
    }
    return m_shared->on_device() ? m_keeper->write(*m_shared, tensor, set) : base::Status{};
  }

  base::Status poison(inputs::Sentinel sentinel, const std::vector<int>& sets) override {
    changed();
    return m_keeper->poison(*m_shared, sentinel, sets);
  }

  base::Expected<client::CheckReport> check(const std::vector<int>& sets) override {
    return m_keeper->check(*m_shared, sets);
  }

  Answer<void> bind(Side side) override {
    Party& p = party(side);
    if (p.bound == m_opened) return {};
    Running running(*p.worker);
    return bind_running(side, p);
  }

  Answer<client::CallReport> call(Side side, int set, client::Function function) override {
    changed();
    Party& p = party(side);
    Running running(*p.worker);
    if (auto bound = bind_running(side, p); !bound) return tl::unexpected(bound.error());
    auto report = p.worker->call(set, function);
    if (report) add_to(p.compiled, report->guest);
    return report;
  }

  Answer<client::SampleReport> sample(Side side, const client::SampleJob& job) override {
    changed();
    Party& p = party(side);
    if (auto bound = bind(side); !bound) return tl::unexpected(bound.error());
    // The command itself lets it run: what its threads do from there on is counted.
    Stopping stopping(*p.worker);
    auto report = p.worker->sample(job);
    if (report) {
      add_to(p.compiled, report->guest);
      if (job.repeat == 1) m_counted.add(m_shape.tag, side, *report);
    }
    return report;
  }

  base::Expected<std::span<const std::byte>> bytes(int tensor, int set) override {
    return fetched(*m_shared, tensor, set);
  }
  base::Expected<std::span<const std::byte>> expected_bytes(int tensor, int set) override {
    AKO_TRY_STATUS(ready_own());
    return fetched(*m_own, tensor, set);
  }

  base::Expected<client::MachineState> machine() override {
    return m_keeper->machine_state(m_options.cores);
  }
  base::Expected<std::string> hand_over(const std::vector<int>& sets) override {
    if (!m_options.device) return Stage::hand_over(sets);
    if (!m_options.candidate->host.empty()) return "an interpreter launches by itself";
    Party& p = party(Side::candidate);
    client::Worker::Captured captured;
    {
      Running running(*p.worker);
      if (auto bound = bind_running(Side::candidate, p); !bound) return bound.error().text;
      auto answer = p.worker->capture(sets);
      if (!answer) return answer.error().text;
      captured = std::move(*answer);
    }
    if (!captured.why.empty()) return captured.why;
    if (auto ready = ready_replayer(); !ready) return ready.error().text;
    Running running(*m_replayer);
    if (auto mapped = m_replayer->map(*m_shared); !mapped) return mapped.error().text;
    m_replayer_mapped = true;
    auto binding = client::bind(*m_options.contract, m_shape, *m_shared);
    if (!binding) return binding.error().text();
    if (auto used = m_replayer->use(*binding); !used) return used.error().text;
    auto taken = m_replayer->replay(captured.nodes);
    return taken ? std::string() : taken.error().text;
  }

  Answer<client::SampleReport> replay(const client::SampleJob& job) override {
    changed();
    Running running(*m_replayer);
    return m_replayer->sample(job);
  }

  base::Status sweep() override { return m_keeper->sweep(); }

  base::Json compiled(Side side) const override { return party(side).compiled; }
  base::Json counted() const override { return m_counted.json(); }
  std::int64_t cache_bytes() const override { return m_keeper->cache_bytes(); }
  void settle(std::int64_t ns) override {
    std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
  }

private:
  enum class Own { goes, stays }; ///< what the reference writes into
  void close(Own own) {
    for (Party& p : m_parties) {
      // One that is still greeting must not be stopped: the greeting would never end.
      if (!p.mapped_shared && !p.mapped_own) continue;
      if (!p.worker || !p.worker->alive()) continue;
      Running running(*p.worker);
      if (p.mapped_shared && m_shared) (void)p.worker->unmap(*m_shared);
      p.mapped_shared = false;
      if (own == Own::stays) continue;
      if (p.mapped_own && m_own) (void)p.worker->unmap(*m_own);
      p.mapped_own = false;
    }
    if (m_replayer_mapped && m_shared && m_replayer->alive()) {
      Running running(*m_replayer);
      (void)m_replayer->unmap(*m_shared);
    }
    m_replayer_mapped = false;
    if (m_shared) (void)m_keeper->destroy_arena(std::move(*m_shared));
    m_shared.reset();
    if (own == Own::stays) return;
    if (m_own) (void)m_keeper->destroy_arena(std::move(*m_own));
    m_own.reset();
  }

  /// Where the reference writes is as large as the shared buffers or larger: on the host it is made
  /// when the reference is first asked, unless what is updated in place is copied there.
  bool made_when_asked(const model::ResolvedShape& shape) const {
    return !m_options.device && !has_inouts(shape);
  }

  base::Status ready_own() {
    if (m_own || !has(Side::reference)) return {};
    AKO_TRY(model::ArenaPlan plan,
            model::plan_reference_arena(*m_options.contract, m_shape, m_sets, 0));
    AKO_TRY(client::Arena own,
            m_keeper->create_arena(*m_options.contract, m_shape, plan, m_shape.tag + " reference",
                                   client::ArenaUse::reference));
    m_own.emplace(std::move(own));
    return {};
  }

  client::WorkerOptions worker_options(const model::LaunchSpec& spec) const {
    client::WorkerOptions options;
    options.program = m_options.child_program;
    options.spec = spec;
    options.sandbox = m_options.sandbox;
    options.limits = m_options.contract->limits;
    options.cores = m_options.cores;
    options.device = m_options.device;
    return options;
  }

  /// A process of its own: what is wrong with a captured node must not end the keeper.
  Answer<void> ready_replayer() {
    if (m_replayer && m_replayer->alive()) return {};
    auto options = worker_options(*m_options.candidate);
    options.loads = client::WorkerOptions::Loads::images;
    auto worker = Worker::start(std::move(options));
    if (!worker) return tl::unexpected(worker.error());
    if (auto shared = worker->share_eviction(*m_keeper); !shared) return shared;
    if (auto loaded = worker->load(); !loaded) return tl::unexpected(loaded.error());
    m_replayer.emplace(std::move(*worker));
    m_replayer_mapped = false;
    return {};
  }

  Answer<void> launch(Party& p) {
    auto worker = Worker::launch(worker_options(*p.spec));
    if (!worker) return tl::unexpected(worker.error());
    p.worker.emplace(std::move(*worker));
    p.greeting = std::async(std::launch::async, [&p] { return p.worker->greet(); });
    return {};
  }

  Party& party(Side side) { return m_parties[static_cast<std::size_t>(side)]; }
  const Party& party(Side side) const { return m_parties[static_cast<std::size_t>(side)]; }

  static tl::unexpected<client::WorkerFailure> environment(base::Error error, std::string during) {
    client::WorkerFailure failure;
    failure.kind = client::FailureKind::environment;
    failure.text = error.text();
    failure.during = std::move(during);
    failure.error = std::move(error);
    return tl::unexpected(std::move(failure));
  }

  /// From here on nothing that was fetched from a device is known to stand.
  void changed() { m_fetched.clear(); }

  base::Expected<std::span<const std::byte>> fetched(const client::Arena& arena, int tensor,
                                                     int set) {
    const auto key = std::tuple(arena.id(), tensor, set);
    if (arena.on_device() && !m_fetched.contains(key)) {
      AKO_TRY_STATUS(m_keeper->read(arena, tensor, set));
      m_fetched.insert(key);
    }
    return arena.bytes(tensor, set);
  }

  Answer<void> bind_running(Side side, Party& p) {
    if (p.bound == m_opened) return {};
    if (auto mapped = p.worker->map(*m_shared); !mapped) return mapped;
    p.mapped_shared = true;
    const bool reference = side == Side::reference;
    if (reference) {
      if (auto ready = ready_own(); !ready) return environment(ready.error(), "bind");
      if (!p.mapped_own)
        if (auto mapped = p.worker->map(*m_own); !mapped) return mapped;
      p.mapped_own = true;
    }
    auto binding = reference
                       ? client::bind_reference(*m_options.contract, m_shape, *m_shared, *m_own)
                       : client::bind(*m_options.contract, m_shape, *m_shared);
    if (!binding) return environment(binding.error(), "bind");
    if (auto used = p.worker->use(*binding); !used) return used;
    p.bound = m_opened;
    return {};
  }

  client::FillJob job(const Content& content) const {
    client::FillJob out;
    out.contract = m_options.contract;
    out.shape = &m_shape;
    out.recipe = content.recipe;
    out.seed = content.seed;
    out.epoch = content.epoch;
    // Static tensors are prepared once: later epochs leave them as they are.
    out.tensors =
        content.epoch == 0 ? client::FillJob::Tensors::all : client::FillJob::Tensors::fresh;
    out.custom_libraries = m_options.custom_fills;
    return out;
  }

  /// The reference works on copies of its own: it must not see what a candidate made of them.
  base::Status hand_over_inouts() {
    if (!m_own) return {};
    std::vector<client::CopyStep> steps;
    for (std::size_t t = 0; t < m_shape.tensors.size(); ++t)
      if (m_shape.tensors[t].role == model::TensorRole::inout)
        for (int set = 0; set < m_sets; ++set)
          steps.push_back({static_cast<int>(t), set, static_cast<int>(t), set});
    return steps.empty() ? base::Status{} : m_keeper->copy(*m_shared, *m_own, steps);
  }

  ChildStageOptions m_options;
  std::unique_ptr<OffMeasuringCores> m_off;
  std::optional<client::Keeper> m_keeper;
  std::array<Party, 3> m_parties;
  std::optional<Worker> m_replayer;
  bool m_replayer_mapped = false;
  std::optional<client::Arena> m_shared, m_own;
  Counted m_counted;
  model::ResolvedShape m_shape;
  std::set<std::tuple<std::uint64_t, int, int>> m_fetched; ///< arena, tensor, set
  int m_sets = 0;
  std::uint64_t m_opened = 0;
};

} // namespace

base::Expected<std::unique_ptr<Stage>> make_child_stage(const ChildStageOptions& given) {
  ChildStageOptions options = given;
  // A gated block does not feel the host; driver and timestamps have threads of their own.
  if (options.device) options.cores.clear();
  auto off = std::make_unique<OffMeasuringCores>(options.cores);
  client::KeeperOptions keeper_options;
  keeper_options.program = options.child_program;
  keeper_options.task_dir = options.task_dir;
  keeper_options.cores = options.cores;
  keeper_options.device = options.device;
  keeper_options.cache_dir = options.cache_dir;
  auto stage = std::make_unique<ChildStage>(options, std::move(off));
  AKO_TRY_STATUS(stage->start(std::move(keeper_options)));
  return std::unique_ptr<Stage>(std::move(stage));
}

StageFactory child_stage_factory(ChildStageOptions options) {
  return [options = std::move(options)] { return make_child_stage(options); };
}

} // namespace ako::evaluation
