// Commands of a worker with a device.
#include "protocol/values.hpp"
#include "worker/refused.hpp"
#include "worker/session.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace ako::worker {

using base::Json;
using protocol::Refusal;

namespace {

tl::unexpected<Refusal> fault(const std::string& words) {
  return refused("device_fault", "the device stopped the kernel: " + words,
                 Json{{"device_error", words}});
}

template <class Value, class Use> Json list_of(const std::vector<Value>& values, Use&& use) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(use(value));
  return list;
}

device::Clock clock_from(const std::string& word) {
  return word == "graph"    ? device::Clock::graph
         : word == "call"   ? device::Clock::call
         : word == "events" ? device::Clock::events
                            : device::Clock::device;
}

/// cold-clean, warm, and what lowers either.
std::string state_label(const device::SampleJob& job, const device::SampleResult& result) {
  std::string label = job.cache == device::Cache::cold ? "cold-clean" : "warm";
  if (result.gate != "held" && result.how != "host") label += ", gate " + result.gate;
  else if (result.gate_opened_early > 0) label += ", gate opened early";
  return label;
}

} // namespace

/// The driver brings files of its own along when they are first needed, and puts some away again;
/// an interpreter imports as it goes.
std::vector<std::string> Session::device_libraries() {
  std::vector<std::string> names;
  if (m_guest) return names;
  for (auto& name : came_along(*m_library))
    if (name.find('/') != std::string::npos || name.find(".so") != std::string::npos)
      names.push_back(std::move(name));
  return names;
}

Session::Answer Session::call_device(const Json& body, ako_call_fn function, const char* name) {
  const auto set = base::get_or<std::int64_t>(body, "set", 0);
  auto tensors = sets_of(Json{{"sets", Json::array({set})}}, "sets");
  if (!tensors) return tl::unexpected(tensors.error());
  const int threads_before = thread_count();
  base::Expected<device::Sampler::Single> single;
  const auto ran = guarded([&] {
    single = m_device->sampler().call_once(function, tensors->front(), m_integers.data(),
                                           m_scalars.data());
  });
  auto changed = restored();
  if (!ran) return tl::unexpected(ran.error());
  if (!single) return tl::unexpected(protocol::refuse(single.error()));
  if (!single->fault.empty()) return fault(single->fault);
  if (single->code != 0) return tl::unexpected(returned(name, single->code, Json{{"set", set}}));
  Json answer{
      {"ns", single->ns},   {"threads_before", threads_before}, {"threads_after", thread_count()},
      {"changed", changed}, {"libraries", device_libraries()},  {"operations", single->operations}};
  add_report(answer);
  return answer;
}

protocol::Outcome<device::SampleJob> Session::device_job(const Json& body) {
  auto sets = sets_of(body, "sets");
  auto warmup = sets_of(body, "warmup_sets");
  auto warm_tensors = protocol::get_ints(body, "warm_tensors");
  if (!sets) return tl::unexpected(sets.error());
  if (!warmup) return tl::unexpected(warmup.error());
  if (!warm_tensors) return tl::unexpected(protocol::refuse(warm_tensors.error()));
  device::SampleJob job;
  job.call = m_library->call;
  job.sets = std::move(*sets);
  job.warmup = std::move(*warmup);
  job.integers = m_integers.data();
  job.scalars = m_scalars.data();
  job.clock = clock_from(base::get_or<std::string>(body, "clock", "device"));
  const bool cold = base::get_or<std::string>(body, "cache", "cold") == "cold";
  job.cache = cold ? device::Cache::cold : device::Cache::warm;
  job.warmup_ns = std::max<std::int64_t>(0, base::get_or<std::int64_t>(body, "warmup_ns", 0));
  for (const auto* tensors : job.sets) {
    auto& spans = job.spans.emplace_back();
    for (std::size_t i = 0; i < m_bytes.size(); ++i) {
      const bool other = std::find(warm_tensors->begin(), warm_tensors->end(),
                                   static_cast<int>(i)) != warm_tensors->end();
      spans.push_back({reinterpret_cast<std::uint64_t>(tensors[i]),
                       static_cast<std::uint64_t>(m_bytes[i]),
                       other || !cold ? device::Cache::warm : device::Cache::cold});
    }
  }
  return job;
}

Session::Answer Session::sample_device(const Json& body) {
  auto job = device_job(body);
  if (!job) return tl::unexpected(job.error());
  const int threads_before = thread_count();
  base::Expected<device::SampleResult> result;
  const auto ran = guarded([&] { result = m_device->sampler().run(*job); });
  const auto changed = restored();
  if (!ran) return tl::unexpected(ran.error());
  if (!result) return tl::unexpected(protocol::refuse(result.error()));
  if (!result->fault.empty()) return fault(result->fault);
  if (result->code != 0)
    return tl::unexpected(
        returned("ako_call", result->code,
                 Json{{"index", result->failed},
                      {"timed", result->in_warmup ? 0 : result->call_ns.size()}}));
  const double sum = std::accumulate(result->call_ns.begin(), result->call_ns.end(), 0.0);
  int operations = 0;
  double windows = 0;
  for (const auto& call : result->calls) {
    operations = std::max(operations, call.kernels + call.copies + call.sets);
    windows += call.window_ns;
  }
  Json answer{
      {"call_ns", result->call_ns},
      {"pass_ns", sum},
      {"calls", result->call_ns.size()},
      {"first_ns", result->first_ns},
      {"last_ns", result->last_ns},
      {"warmup_calls", result->warmup_calls},
      {"warmup_spent_ns", result->warmup_spent_ns},
      {"evict_spent_ns", result->evict_spent_ns},
      {"timer_overhead_ns", 0},
      {"threads_before", threads_before},
      {"threads_after", thread_count()},
      {"children", child_count()},
      {"changed", changed},
      {"libraries", device_libraries()},
      {"cache_state", state_label(*job, *result)},
      {"device",
       {{"how", result->how},
        {"gate", result->gate},
        {"gate_opened_early", result->gate_opened_early},
        {"label", result->label},
        {"stray", result->stray},
        {"memory_taken", result->memory_taken},
        {"window_ns", windows},
        {"operations", operations},
        {"busy_ns", list_of(result->calls, [](const auto& call) { return call.busy_ns; })}}}};
  add_report(answer);
  return answer;
}

Session::Answer Session::residency_device(const Json& body) {
  const auto set = base::get_or<std::int64_t>(body, "set", 0);
  auto tensors = sets_of(Json{{"sets", Json::array({set})}}, "sets");
  if (!tensors) return tl::unexpected(tensors.error());
  const auto largest = std::max_element(m_bytes.begin(), m_bytes.end());
  if (largest == m_bytes.end()) return refused("invalid", "no tensors are bound");
  const auto index = static_cast<std::size_t>(largest - m_bytes.begin());
  const auto at = reinterpret_cast<std::uint64_t>(tensors->front()[index]);
  const auto found = m_device->sampler().probe(at, static_cast<std::uint64_t>(*largest));
  if (!found) return tl::unexpected(protocol::refuse(found.error()));
  const double ghz = m_device->sampler().clock_ghz();
  return Json{{"cached_line_ns", found->cached_cycles / ghz},
              {"evicted_line_ns", found->evicted_cycles / ghz},
              {"memory_line_ns", found->memory_cycles / ghz},
              {"resident_share", found->resident_share},
              {"evict_ns", std::llround(found->evict_ns)}};
}

} // namespace ako::worker
