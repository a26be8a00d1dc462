#include "fakes/gpu/machine.hpp"

#include "fakes/gpu/host_kernels.hpp"

#include <set>

namespace ako::fakes {
namespace {

constexpr std::uint64_t k_gap_ns = 800; ///< between operations of a stream
std::set<u64> g_cached;                 ///< lines that the scripted cache holds
u64 g_line_cost = 0;

} // namespace

u64 timer_ns() {
  Machine::of_this_process().advance(32);
  return Machine::of_this_process().now();
}
u64 cycles() {
  static u64 count = 0;
  count += 20 + g_line_cost;
  g_line_cost = 0;
  return count;
}
u64 load_line(u64 at) {
  const u64 line = at / 128;
  g_line_cost = g_cached.contains(line) ? 300 : 780;
  g_cached.insert(line);
  return *reinterpret_cast<const u64*>(at);
}

Machine& Machine::of_this_process() {
  static Machine machine;
  return machine;
}

int Machine::queue(FakeStream* stream, std::function<int()> work) {
  if (stream->capturing) {
    stream->captured.push_back(std::move(work));
    return 0;
  }
  stream->queue.push_back(std::move(work));
  return 0;
}

int Machine::drain(FakeStream* stream) {
  auto work = std::move(stream->queue);
  stream->queue.clear();
  for (auto& step : work)
    if (const int result = step()) return result;
  return 0;
}

void Machine::happen(FakeStream* stream, int kind, const std::string& name, std::uint64_t ns,
                     std::int64_t bytes) {
  m_now += k_gap_ns;
  const auto start = m_now;
  m_now += ns;
  if (recording)
    recorded.push_back({kind, start, m_now, stream ? stream->id : 7, ++m_correlation, bytes, name});
}

namespace {

struct Kernel {
  std::size_t bytes;
  void (*run)(void*);
};
template <auto Function, class Params> void call_with(void* params) {
  Params copy;
  std::memcpy(&copy, params, sizeof copy);
  Function(copy);
}

/// A sweep through the whole cache leaves nothing of what was in it.
void sweep(void* params) {
  ReadParams copy;
  std::memcpy(&copy, params, sizeof copy);
  if (copy.bytes > 0) g_cached.clear();
}

/// What the tensor kernels leave behind: nothing.
void nothing(void*) {}

#define AKO_FAKE(name, Params)                                                                     \
  {                                                                                                \
#name, { sizeof(Params), call_with<name, Params> }                                             \
  }
const std::map<std::string, Kernel>& kernels() {
  static const std::map<std::string, Kernel> all{
      AKO_FAKE(ako_fill, FillParams),
      AKO_FAKE(ako_paint, PaintParams),
      AKO_FAKE(ako_zone_paint, ZoneParams),
      AKO_FAKE(ako_zone_check, ZoneParams),
      AKO_FAKE(ako_search, SearchParams),
      AKO_FAKE(ako_sum, SumParams),
      AKO_FAKE(ako_mark, ReadParams),
      AKO_FAKE(ako_wake, WakeParams),
      AKO_FAKE(ako_touch, TouchParams),
      AKO_FAKE(ako_warm, ReadParams),
      AKO_FAKE(ako_probe, ProbeParams),
      AKO_FAKE(ako_demote, ReadParams),
      AKO_FAKE(spin_kernel, SpinParams),
      AKO_FAKE(empty_kernel, ReadParams),
      AKO_FAKE(copy_kernel, CopyParams),
      AKO_FAKE(fma_kernel, WorkParams),
      AKO_FAKE(read_kernel, ReadParams),
      {"ako_sweep", {sizeof(ReadParams), sweep}},
      {"tensor_float16", {sizeof(WorkParams), nothing}},
      {"tensor_bfloat16", {sizeof(WorkParams), nothing}},
      {"tensor_float8_e4m3fn", {sizeof(WorkParams), nothing}},
      {"tensor_int8", {sizeof(WorkParams), nothing}}};
  return all;
}
#undef AKO_FAKE

} // namespace

bool run_kernel(const std::string& name, void** parameters) {
  const auto at = kernels().find(name);
  if (at == kernels().end()) return false;
  at->second.run(parameters[0]);
  return true;
}

std::size_t parameter_bytes(const std::string& name) {
  const auto at = kernels().find(name);
  return at == kernels().end() ? 0 : at->second.bytes;
}

} // namespace ako::fakes
