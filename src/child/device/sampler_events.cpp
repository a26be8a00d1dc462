// Event pairs around calls and around replays of captured calls: the labelled fall-back and the
// graph clock.
#include "device/sampler.hpp"

#include <algorithm>
#include <random>

namespace ako::device {
namespace {

struct Pair {
  abi::Event begin = nullptr, end = nullptr;
};

/// Events and captured graphs, ended when they go out of scope, whatever happened meanwhile.
struct Queue {
  const Gpu& gpu;
  std::vector<Pair> pairs;
  std::vector<abi::GraphExec> graphs;
  explicit Queue(const Gpu& g) : gpu(g) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    for (const auto& pair : pairs) {
      if (pair.begin) (void)gpu.api().event_end(pair.begin);
      if (pair.end) (void)gpu.api().event_end(pair.end);
    }
    for (auto* graph : graphs)
      if (graph) (void)gpu.api().graph_exec_end(graph);
  }
};

base::Status make_events(Queue& queue, std::size_t count) {
  queue.pairs.resize(count);
  for (auto& pair : queue.pairs) {
    AKO_TRY_STATUS(queue.gpu.ok(queue.gpu.api().event_make(&pair.begin, 0), "making an event"));
    AKO_TRY_STATUS(queue.gpu.ok(queue.gpu.api().event_make(&pair.end, 0), "making an event"));
  }
  return {};
}

/// Captures what `call` puts into the stream; the code that it returned.
base::Expected<int> capture(Queue& queue, abi::Stream stream, const std::function<int()>& call) {
  const auto& api = queue.gpu.api();
  AKO_TRY_STATUS(queue.gpu.ok(api.capture_begin(stream, abi::k_capture_relaxed), "capturing"));
  const int code = call();
  abi::Graph graph = nullptr;
  AKO_TRY_STATUS(queue.gpu.ok(api.capture_end(stream, &graph),
                              "capturing: the kernel does what cannot be captured"));
  abi::GraphExec exec = nullptr;
  const auto made = queue.gpu.ok(api.graph_make(&exec, graph, 0), "making a graph");
  (void)api.graph_end(graph);
  AKO_TRY_STATUS(made);
  queue.graphs.push_back(exec);
  return code;
}

} // namespace

base::Status Sampler::run_events(const SampleJob& job, SampleResult& result) {
  const bool replay = job.clock == Clock::graph;
  result.how = replay ? "graph" : "events";
  const auto& api = m_gpu.api();
  constexpr std::size_t k_group = 32;
  for (std::size_t begin = 0; begin < job.sets.size(); begin += k_group) {
    const auto end = std::min(begin + k_group, job.sets.size());
    Queue queue(m_gpu);
    AKO_TRY_STATUS(make_events(queue, end - begin));
    for (std::size_t i = begin; replay && i < end; ++i) {
      AKO_TRY(const int code, capture(queue, m_stream, [&] { return invoke(job, job.sets[i]); }));
      result.code = code;
      result.failed = i;
      if (code != 0) return {};
    }
    AKO_TRY_STATUS(finish(result));
    if (!result.fault.empty()) return {};
    if (replay) {
      // What is captured does not run. What ran meanwhile is part of no replay.
      AKO_TRY(const int ahead, left_behind());
      result.stray += ahead;
      // Uploaded, not launched: a launch on these contents would be the work that is timed.
      for (auto* graph : queue.graphs)
        AKO_TRY_STATUS(m_gpu.ok(api.graph_upload(graph, m_stream), "uploading a graph"));
      AKO_TRY_STATUS(finish(result));
      if (!result.fault.empty()) return {};
    }
    AKO_TRY_STATUS(m_gate.close(m_stream));
    AKO_TRY(const int woken, wake(job, begin, end));
    static_cast<void>(woken);
    for (std::size_t i = begin; i < end; ++i) {
      const auto& pair = queue.pairs[i - begin];
      AKO_TRY_STATUS(prepare(job, i));
      AKO_TRY_STATUS(m_gpu.ok(api.event_record(pair.begin, m_stream), "recording an event"));
      if (replay)
        AKO_TRY_STATUS(m_gpu.ok(api.graph_launch(queue.graphs[i - begin], m_stream), "replaying"));
      else if (const int code = invoke(job, job.sets[i])) {
        result.code = code;
        result.failed = i;
        break;
      }
      AKO_TRY_STATUS(m_gpu.ok(api.event_record(pair.end, m_stream), "recording an event"));
    }
    AKO_TRY_STATUS(finish(result));
    result.gate_opened_early += m_gate.opened_early();
    note_early();
    if (result.code != 0 || !result.fault.empty()) return {};
    forget(); // the replays' own records
    for (const auto& pair : queue.pairs) {
      float ms = 0;
      AKO_TRY_STATUS(m_gpu.ok(api.event_elapsed(&ms, pair.begin, pair.end), "reading an event"));
      result.call_ns.push_back(static_cast<double>(ms) * 1e6);
    }
  }
  result.gate = m_gate.unavailable().empty() ? "held" : m_gate.unavailable();
  return {};
}

base::Expected<Sampler::Captured> Sampler::capture_once(ako_call_fn call, void* const* tensors,
                                                        const std::int64_t* integers,
                                                        const double* scalars) {
  const auto& api = m_gpu.api();
  Captured out;
  AKO_TRY_STATUS(m_gpu.ok(api.capture_begin(m_stream, abi::k_capture_relaxed), "capturing"));
  out.code = call(tensors, integers, scalars, m_stream);
  abi::Graph graph = nullptr;
  const auto ended = api.capture_end(m_stream, &graph);
  if (ended != abi::k_success || !graph) {
    (void)m_gpu.ok(ended, "capturing"); // a lost context is noted
    return base::fail(base::ErrorKind::unsupported, "the call cannot be captured",
                      {.found = words_of(api, ended)});
  }
  auto nodes = nodes_of(m_gpu, graph);
  (void)api.graph_end(graph);
  AKO_TRY(out.nodes, std::move(nodes));
  return out;
}

base::Status Sampler::read_lines(const std::vector<std::uint64_t>& lines,
                                 std::vector<std::uint32_t>& out) {
  AKO_TRY(const auto addresses, Memory::take(m_gpu, static_cast<std::int64_t>(lines.size() * 8)));
  AKO_TRY(const auto cycles, Memory::take(m_gpu, static_cast<std::int64_t>(lines.size() * 4)));
  AKO_TRY_STATUS(m_gpu.copy_in(addresses.at(), std::as_bytes(std::span(lines))));
  if (!out.empty()) AKO_TRY_STATUS(evict()); // asked for by a non-empty vector
  AKO_TRY_STATUS(m_kernels->launch(
      "ako_probe", ProbeParams{addresses.at(), lines.size(), cycles.at(), m_sink.at()}, 1, 1,
      m_stream));
  AKO_TRY_STATUS(m_gpu.ok(m_gpu.api().stream_wait(m_stream), "probing the cache"));
  out.assign(lines.size(), 0);
  return m_gpu.copy_out(std::as_writable_bytes(std::span(out)), cycles.at());
}

namespace {

double median(std::vector<std::uint32_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

double Sampler::clock_ghz() const {
  return m_gpu.facts().clock_khz > 0 ? m_gpu.facts().clock_khz / 1e6 : 1;
}

base::Expected<Sampler::Residency> Sampler::probe(std::uint64_t data, std::uint64_t bytes) {
  constexpr std::uint64_t k_most_lines = 512, k_step = 4096;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t at = 0; at + 32 <= bytes && lines.size() < k_most_lines; at += k_step)
    lines.push_back(data + at);
  if (lines.empty()) return base::fail(base::ErrorKind::invalid, "the probe needs memory to read");
  std::mt19937_64 order(7);
  std::shuffle(lines.begin(), lines.end(), order);
  std::vector<std::uint32_t> first, cached, evicted{1}, memory{1};
  AKO_TRY_STATUS(read_lines(lines, first));
  AKO_TRY_STATUS(read_lines(lines, cached));
  AKO_TRY_STATUS(read_lines(lines, evicted));
  for (int i = 0; i < 3; ++i) AKO_TRY_STATUS(evict());
  AKO_TRY_STATUS(read_lines(lines, memory));
  Residency out;
  out.cached_cycles = median(cached);
  out.evicted_cycles = median(evicted);
  out.memory_cycles = median(memory);
  const double threshold = (out.cached_cycles + out.memory_cycles) / 2;
  const auto near = std::count_if(evicted.begin(), evicted.end(),
                                  [&](std::uint32_t value) { return value < threshold; });
  out.resident_share = static_cast<double>(near) / static_cast<double>(lines.size());
  return out;
}

} // namespace ako::device
