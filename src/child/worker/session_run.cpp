// Commands that run the candidate.
#include "model/device.hpp"
#include "model/entry_status.hpp"
#include "protocol/values.hpp"
#include "worker/refused.hpp"
#include "worker/session.hpp"

#include <algorithm>
#include <cmath>
#include <cxxabi.h>
#include <exception>
#include <fmt/format.h>

namespace ako::worker {

using base::Json;
using protocol::Refusal;

namespace {

Json count_or_unknown(std::uint64_t value) { return value == UINT64_MAX ? Json(-1) : Json(value); }

tl::unexpected<Refusal> status_refused(int status, const ako_measure* context) {
  return refused(status == AKO_MEASURE_MEMORY ? "environment" : "invalid",
                 fmt::format("measuring failed: {}", ako_measure_message(context)));
}

} // namespace

protocol::Outcome<void> Session::guarded(const std::function<void()>& body) {
  m_vault.lock();
  try {
    body();
    return {};
  } catch (const std::exception& error) {
    return refused("threw", fmt::format("an exception left the kernel: {}", error.what()));
  } catch (const abi::__forced_unwind&) {
    throw; // a cancelled thread must go on ending
  } catch (...) {
    return refused("threw", "an exception left the kernel");
  }
}

std::vector<std::string> Session::restored() {
  auto changed = m_state->restore();
  if (m_device)
    for (auto& name : m_device->restore()) changed.push_back(std::move(name));
  if (m_guest)
    for (auto& name : m_guest->restore()) changed.push_back(std::move(name));
  return changed;
}

Refusal Session::returned(const std::string& name, int code, Json data) const {
  if (m_guest && code == AKO_GUEST_RAISED) return m_guest->explain();
  data["code"] = code;
  // The generated entry lets no exception out: it says so by its status.
  if (code == model::k_exception_status)
    return {"threw", "an exception left the kernel", std::move(data)};
  if (code == model::k_range_status)
    return {"returned_error",
            fmt::format("{} was given an axis value that its parameter's type cannot hold", name),
            std::move(data)};
  if (m_replay && code == Replay::k_unknown)
    return {"returned_error", "the replay failed: " + m_replay->why(), std::move(data)};
  std::string text = fmt::format("{} returned {}", name, code);
  if (const auto trouble = model::launch_trouble(code)) {
    data["trouble"] = {{"name", trouble->name}, {"cause", trouble->cause}, {"next", trouble->next}};
    text += fmt::format(" ({}): {}; {}", trouble->name, trouble->cause, trouble->next);
  }
  return {"returned_error", std::move(text), std::move(data)};
}

void Session::add_report(Json& answer) const {
  if (!m_guest) return;
  if (auto report = m_guest->report(); !report.empty()) answer["guest"] = std::move(report);
}

protocol::Outcome<std::vector<void* const*>> Session::sets_of(const Json& body, const char* key) {
  auto sets = protocol::get_ints(body, key);
  if (!sets) return tl::unexpected(protocol::refuse(sets.error()));
  std::vector<void* const*> tensors;
  for (const int set : *sets) {
    if (set < 0 || static_cast<std::size_t>(set) >= m_pointers.size())
      return refused("invalid",
                     fmt::format("set {} is none of the {} bound ones", set, m_pointers.size()));
    tensors.push_back(m_pointers[static_cast<std::size_t>(set)].data());
  }
  return tensors;
}

Session::Answer Session::call(const Json& body) {
  if (!m_library) return refused("invalid", "nothing is loaded");
  const auto name = base::get_or<std::string>(body, "function", "call");
  const auto function = name == "prepare" ? m_library->prepare
                        : name == "plan"  ? m_library->plan
                                          : m_library->call;
  if (!function) return refused("invalid", fmt::format("the artifact has no ako_{}", name));
  if (m_device) return call_device(body, function, ("ako_" + name).c_str());
  const auto set = base::get_or<std::int64_t>(body, "set", 0);
  auto tensors = sets_of(Json{{"sets", Json::array({set})}}, "sets");
  if (!tensors) return tl::unexpected(tensors.error());

  ako_measure_job job{};
  job.size = sizeof job;
  job.cache = AKO_MEASURE_WARM;
  job.timing = AKO_MEASURE_PASS;
  job.sets = 1;
  job.call = function;
  job.tensors = tensors->data();
  job.integers = m_integers.data();
  job.scalars = m_scalars.data();
  ako_measure_result result{};
  result.size = sizeof result;
  const int threads_before = thread_count();
  int status = AKO_MEASURE_OK;
  const auto ran =
      guarded([&] { status = ako_measure_run(m_measure.get(), &job, nullptr, nullptr, &result); });
  auto changed = restored();
  if (!ran) return tl::unexpected(ran.error());
  if (status == AKO_MEASURE_RETURNED)
    return tl::unexpected(returned("ako_" + name, result.code, Json{{"set", set}}));
  if (status != AKO_MEASURE_OK) return status_refused(status, m_measure.get());
  Json answer{{"ns", std::llround(result.total_ns)},
              {"threads_before", threads_before},
              {"threads_after", thread_count()},
              {"libraries", came_along(*m_library)},
              {"changed", changed}};
  add_report(answer);
  return answer;
}

namespace {

/// What the job asks for, with the arrays that the C struct points into.
struct Prepared {
  ako_measure_job job{};
  std::vector<void*const*> sets, warmup;
  std::vector<std::vector<ako_measure_span>> spans;
  std::vector<const ako_measure_span*> span_of_set;
};

void add_spans(Prepared& prepared, const std::vector<std::int64_t>& bytes,
               const std::vector<int>& warm_tensors) {
  for (const auto* tensors : prepared.sets) {
    auto& spans = prepared.spans.emplace_back();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const bool warm = std::find(warm_tensors.begin(), warm_tensors.end(), static_cast<int>(i)) !=
                        warm_tensors.end();
      spans.push_back({tensors[i], static_cast<std::uint64_t>(bytes[i]),
                       warm ? static_cast<std::uint32_t>(AKO_MEASURE_WARM) : prepared.job.cache,
                       0});
    }
  }
  for (const auto& spans : prepared.spans) prepared.span_of_set.push_back(spans.data());
  prepared.job.spans = prepared.span_of_set.data();
  prepared.job.span_count = static_cast<std::uint32_t>(bytes.size());
}

std::vector<void* const*> repeated(const std::vector<void* const*>& sets, std::int64_t times) {
  std::vector<void* const*> out;
  out.reserve(sets.size() * static_cast<std::size_t>(times));
  for (std::int64_t i = 0; i < times; ++i) out.insert(out.end(), sets.begin(), sets.end());
  return out;
}

std::uint32_t timing_from(const std::string& word) {
  return word == "each" ? AKO_MEASURE_EACH : word == "pass" ? AKO_MEASURE_PASS : AKO_MEASURE_AUTO;
}

} // namespace

Session::Answer Session::sample(const Json& body) {
  if (!m_library) return refused("invalid", "nothing is loaded");
  if (m_device) return sample_device(body);
  Prepared prepared;
  auto sets = sets_of(body, "sets");
  auto warmup = sets_of(body, "warmup_sets");
  auto warm_tensors = protocol::get_ints(body, "warm_tensors");
  if (!sets) return tl::unexpected(sets.error());
  if (!warmup) return tl::unexpected(warmup.error());
  if (!warm_tensors) return tl::unexpected(protocol::refuse(warm_tensors.error()));
  const auto repeat = std::max<std::int64_t>(1, base::get_or<std::int64_t>(body, "repeat", 1));
  prepared.sets = repeated(*sets, repeat);
  prepared.warmup = std::move(*warmup);
  auto& job = prepared.job;
  job.size = sizeof job;
  const bool cold = base::get_or<std::string>(body, "cache", "cold") == "cold";
  job.cache = cold ? AKO_MEASURE_COLD : AKO_MEASURE_WARM;
  job.timing = timing_from(base::get_or<std::string>(body, "timing", "automatic"));
  job.eviction = base::get_or<std::string>(body, "eviction", "every_call") == "once"
                     ? AKO_MEASURE_ONCE
                     : AKO_MEASURE_EVERY_CALL;
  job.sets = static_cast<std::uint32_t>(prepared.sets.size());
  job.call = m_library->call;
  job.tensors = prepared.sets.data();
  job.integers = m_integers.data();
  job.scalars = m_scalars.data();
  job.warmup_sets = static_cast<std::uint32_t>(prepared.warmup.size());
  job.warmup_tensors = prepared.warmup.data();
  job.warmup_ns = static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, base::get_or<std::int64_t>(body, "warmup_ns", 0)));
  if (repeat == 1) add_spans(prepared, m_bytes, *warm_tensors);

  std::vector<double> times;
  times.reserve(job.sets);
  const auto keep = [](void* user, std::uint32_t, double ns) {
    static_cast<std::vector<double>*>(user)->push_back(ns);
  };
  ako_measure_result result{};
  result.size = sizeof result;
  const int threads_before = thread_count();
  int status = AKO_MEASURE_OK;
  const auto ran =
      guarded([&] { status = ako_measure_run(m_measure.get(), &job, keep, &times, &result); });
  const auto changed = restored();
  if (!ran) return tl::unexpected(ran.error());
  if (status == AKO_MEASURE_RETURNED)
    return tl::unexpected(returned("ako_call", result.code,
                                   Json{{"index", result.failed_set}, {"timed", result.calls}}));
  if (status != AKO_MEASURE_OK) return status_refused(status, m_measure.get());
  ako_measure_facts facts{};
  facts.size = sizeof facts;
  ako_measure_get_facts(m_measure.get(), &facts);
  const bool whole = times.size() == 1 && (job.timing == AKO_MEASURE_PASS || !cold) &&
                     job.timing != AKO_MEASURE_EACH;
  Json answer{{"call_ns", whole ? std::vector<double>() : times},
              {"pass_ns", result.total_ns},
              {"calls", result.calls},
              {"first_ns", result.first_ns},
              {"last_ns", result.last_ns},
              {"warmup_calls", result.warmup_calls},
              {"warmup_spent_ns", result.warmup_spent_ns},
              {"evict_spent_ns", result.evict_spent_ns},
              {"timer_overhead_ns", std::llround(facts.timer_overhead_ns)},
              {"threads_before", threads_before},
              {"threads_after", thread_count()},
              {"children", child_count()},
              {"cpu_ns", result.cpu_ns},
              {"cycles", count_or_unknown(result.cycles)},
              {"instructions", count_or_unknown(result.instructions)},
              {"cache_misses", count_or_unknown(result.cache_misses)},
              {"libraries", came_along(*m_library)},
              {"changed", changed},
              {"cache_state", cold ? "cold-clean" : "warm"}};
  add_report(answer);
  return answer;
}

Session::Answer Session::residency(const Json& body) {
  if (m_device) return residency_device(body);
  const auto set = base::get_or<std::int64_t>(body, "set", 0);
  auto tensors = sets_of(Json{{"sets", Json::array({set})}}, "sets");
  if (!tensors) return tl::unexpected(tensors.error());
  const auto largest = std::max_element(m_bytes.begin(), m_bytes.end());
  if (largest == m_bytes.end()) return refused("invalid", "no tensors are bound");
  const auto index = static_cast<std::size_t>(largest - m_bytes.begin());
  ako_measure_residency result{};
  result.size = sizeof result;
  const int status = ako_measure_probe(m_measure.get(), tensors->front()[index],
                                       static_cast<std::uint64_t>(*largest), &result);
  if (status != AKO_MEASURE_OK) return status_refused(status, m_measure.get());
  return Json{{"cached_line_ns", result.cached_line_ns},
              {"evicted_line_ns", result.evicted_line_ns},
              {"memory_line_ns", result.memory_line_ns},
              {"resident_share", result.resident_share},
              {"evict_ns", result.evict_ns}};
}

} // namespace ako::worker
