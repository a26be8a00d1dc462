#include "profiles/timeline.hpp"

#include "profiles/playbook.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ako::profiles {

std::uint32_t Timeline::intern(std::string_view text) {
  if (m_names.size() >= k_most_names && !m_index.contains(std::string(text)))
    text = "(other names)";
  auto [at, fresh] =
      m_index.try_emplace(std::string(text), static_cast<std::uint32_t>(m_names.size()));
  if (fresh) m_names.emplace_back(text);
  return at->second;
}

double amdahl_gain(double share, double speedup) {
  if (!(share > 0) || !(speedup > 0)) return 0;
  return std::min(share, 1.0) * (1 - 1 / speedup);
}

namespace {

bool on_device(const Span& span) { return span.activity <= Activity::set; }

struct Edge {
  std::int64_t at;
  int kernel, copy; ///< +1 begin, -1 end
  std::uint32_t name;
  bool operator<(const Edge& other) const {
    return at != other.at ? at < other.at : kernel + copy < other.kernel + other.copy;
  }
};

/// One sweep over all begins and ends: busy time, gaps, overlap, and the time each kernel ran
/// alone.
void sweep(const Timeline& timeline, TimelineSummary& sum, std::vector<double>& alone) {
  std::vector<Edge> edges;
  for (const Span& span : timeline.spans) {
    if (!on_device(span) || span.end_ns <= span.start_ns) continue;
    const bool kernel = span.activity == Activity::kernel;
    edges.push_back({span.start_ns, kernel, !kernel, span.name});
    edges.push_back({span.end_ns, -int(kernel), -int(!kernel), span.name});
  }
  if (edges.empty()) return;
  std::sort(edges.begin(), edges.end());
  std::map<std::uint32_t, int> running;
  int kernels = 0, copies = 0;
  std::int64_t last = edges.front().at;
  for (const Edge& edge : edges) {
    const double passed = double(edge.at - last);
    if (passed > 0) {
      if (kernels + copies > 0) sum.busy_ns += passed;
      else
        sum.gap_ns += passed, ++sum.gaps, sum.longest_gap_ns = std::max(sum.longest_gap_ns, passed);
      if (kernels + copies > 1) sum.overlap_ns += passed;
      if (copies > 0 && kernels == 0) sum.copy_alone_ns += passed;
      if (kernels == 1 && copies == 0) alone[running.begin()->first] += passed;
    }
    if (edge.kernel > 0) ++running[edge.name];
    if (edge.kernel < 0 && --running[edge.name] == 0) running.erase(edge.name);
    kernels += edge.kernel, copies += edge.copy;
    last = edge.at;
  }
  sum.wall_ns = double(edges.back().at - edges.front().at);
}

std::vector<const Span*> kernels_in_order(const Timeline& timeline) {
  std::vector<const Span*> order;
  for (const Span& span : timeline.spans)
    if (span.activity == Activity::kernel) order.push_back(&span);
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->start_ns < b->start_ns; });
  return order;
}

void rank(const Timeline& timeline, const std::vector<const Span*>& order,
          const std::vector<double>& alone, TimelineSummary& sum) {
  std::unordered_map<std::uint32_t, KernelShare> shares;
  std::vector<double> lengths;
  std::int64_t place = 0;
  for (const Span* span : order) {
    const double length = double(std::max<std::int64_t>(0, span->end_ns - span->start_ns));
    auto [at, fresh] = shares.try_emplace(span->name);
    KernelShare& share = at->second;
    if (fresh)
      share.name = timeline.name(span->name), share.first_launch = place,
      share.shortest_ns = length;
    ++place, ++share.launches;
    share.total_ns += length;
    share.shortest_ns = std::min(share.shortest_ns, length),
    share.longest_ns = std::max(share.longest_ns, length);
    sum.kernel_ns += length;
    lengths.push_back(length);
    if (sum.wall_ns > 0) share.amdahl = alone[span->name] / sum.wall_ns;
  }
  sum.kernels = place;
  if (!lengths.empty()) {
    std::nth_element(lengths.begin(), lengths.begin() + std::ptrdiff_t(lengths.size() / 2),
                     lengths.end());
    sum.median_kernel_ns = lengths[lengths.size() / 2];
  }
  for (auto& [name, share] : shares) {
    if (sum.kernel_ns > 0) share.of_busy = share.total_ns / sum.kernel_ns;
    if (sum.wall_ns > 0) share.of_wall = share.total_ns / sum.wall_ns;
    sum.ranking.push_back(std::move(share));
  }
  std::sort(sum.ranking.begin(), sum.ranking.end(), [](const KernelShare& a, const KernelShare& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
}

void find_neighbours(const Timeline& timeline, const std::vector<const Span*>& order,
                     TimelineSummary& sum) {
  struct Pair {
    std::int64_t times = 0;
    double gap = 0, shorter = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Pair> pairs;
  std::map<std::pair<std::int32_t, std::int32_t>, const Span*> before;
  for (const Span* span : order) {
    const Span*& last = before[{span->device, span->stream}];
    if (last) {
      const double gap = double(span->start_ns - last->end_ns);
      const double shorter =
          double(std::min(span->end_ns - span->start_ns, last->end_ns - last->start_ns));
      // Long kernels gain nothing from fusion worth the trouble, distant ones are no neighbours.
      if (gap < 20000 && shorter < 100000) {
        Pair& pair = pairs[{last->name, span->name}];
        ++pair.times, pair.gap += std::max(0.0, gap), pair.shorter += shorter;
      }
    }
    last = span;
  }
  for (const auto& [names, pair] : pairs)
    if (pair.times >= 2)
      sum.fusion.push_back({timeline.name(names.first), timeline.name(names.second), pair.times,
                            pair.gap / double(pair.times), pair.gap + pair.shorter});
  std::sort(sum.fusion.begin(), sum.fusion.end(),
            [](const Neighbours& a, const Neighbours& b) { return a.saved_ns > b.saved_ns; });
  if (sum.fusion.size() > 10) sum.fusion.resize(10);
}

bool is_sync(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos || name.starts_with("cudaMemcpy_") ||
         name == "cudaMemcpy" || name.starts_with("cudaFree_") || name == "cudaFree" ||
         name.starts_with("cuMemcpyDtoH_") || name.starts_with("cuMemcpyHtoD_");
}

void count_calls(const Timeline& timeline, TimelineSummary& sum) {
  for (const Span& span : timeline.spans) {
    if (span.activity == Activity::copy || span.activity == Activity::set)
      sum.copy_ns += double(span.end_ns - span.start_ns);
    if (span.activity != Activity::api) continue;
    std::string_view name = timeline.name(span.name);
    if (name.find("Launch") != std::string_view::npos) ++sum.api_launches;
    if (is_sync(name)) ++sum.api_syncs, sum.api_sync_ns += double(span.end_ns - span.start_ns);
  }
}

model::Finding timeline_finding(const char* id, double gain, double confidence, std::string basis,
                                std::vector<model::ProfileEvidence> evidence,
                                std::string_view lane) {
  model::Finding finding;
  finding.id = id;
  finding.kind = kind_of(id);
  finding.gain_bound = std::clamp(gain, 0.0, 1.0), finding.confidence = confidence,
  finding.gain_basis = std::move(basis);
  finding.evidence = std::move(evidence);
  finding.moves = moves_for(id, 0, lane);
  return finding;
}

} // namespace

std::vector<model::Finding> timeline_findings(const TimelineSummary& sum, std::string_view lane) {
  std::vector<model::Finding> all;
  if (sum.wall_ns <= 0) return all;
  const double idle = sum.gap_ns / sum.wall_ns, copies = sum.copy_alone_ns / sum.wall_ns;
  const double mean_gap = sum.gaps ? sum.gap_ns / double(sum.gaps) : 0;
  // Gaps of a few microseconds between short kernels are the launches themselves; long ones are the
  // host's.
  const bool launches = mean_gap < 10000 && sum.median_kernel_ns < 20000;
  if (idle >= 0.1)
    all.push_back(timeline_finding(launches ? "launch_overhead" : "host_gaps", idle, 0.8,
                                   "time without device work",
                                   {{"time without device work", idle * 100, "%", 10.0},
                                    {"mean gap", mean_gap, "ns", 10000.0},
                                    {"median kernel", sum.median_kernel_ns, "ns", 20000.0},
                                    {"longest gap", sum.longest_gap_ns, "ns", {}}},
                                   lane));
  if (copies >= 0.1)
    all.push_back(timeline_finding(
        "copies_bound", copies, 0.85, "copies while no kernel ran",
        {{"copies alone", copies * 100, "%", 10.0}, {"copies in all", sum.copy_ns, "ns", {}}},
        lane));
  // Waiting for the device costs nothing by itself: what the host could not queue meanwhile shows
  // as gaps.
  const double per_kernel = sum.kernels ? double(sum.api_syncs) / double(sum.kernels) : 0;
  if (sum.api_syncs >= 3 && per_kernel >= 0.02 && idle >= 0.05) {
    model::Finding sync =
        timeline_finding("sync_in_steady_state", idle, 0.6, "time without device work, at most",
                         {{"synchronising calls", double(sum.api_syncs), "call", 3.0},
                          {"host time in them", sum.api_sync_ns, "ns", {}},
                          {"synchronising calls per kernel", per_kernel, "call", 0.02}},
                         lane);
    sync.against.push_back("one call at the end of a measured region is no fault");
    all.push_back(std::move(sync));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.gain_bound > b.gain_bound; });
  for (std::size_t i = 0; i < all.size(); ++i) all[i].rank = static_cast<int>(i) + 1;
  return all;
}

TimelineSummary summarise(const Timeline& timeline) {
  TimelineSummary sum;
  std::uint32_t names = 0;
  for (const Span& span : timeline.spans) names = std::max(names, span.name + 1);
  std::vector<double> alone(names, 0.0);
  sweep(timeline, sum, alone);
  const auto order = kernels_in_order(timeline);
  rank(timeline, order, alone, sum);
  find_neighbours(timeline, order, sum);
  count_calls(timeline, sum);
  return sum;
}

model::DiagnosisReport diagnose_timeline(const Timeline& timeline, std::string_view lane) {
  model::DiagnosisReport report;
  const TimelineSummary sum = summarise(timeline);
  model::KernelDiagnosis whole;
  whole.name = "(whole timeline)", whole.device = timeline.device, whole.duration_ns = sum.wall_ns;
  if (sum.wall_ns > 0) whole.at_ceiling = sum.busy_ns / sum.wall_ns, whole.roof = "device busy";
  whole.findings = timeline_findings(sum, lane);
  if (!whole.findings.empty()) whole.kind = whole.findings.front().kind;
  report.kernels.push_back(std::move(whole));
  for (const KernelShare& share : sum.ranking) {
    model::KernelDiagnosis one;
    one.name = share.name, one.launch = share.first_launch, one.device = timeline.device,
    one.duration_ns = share.total_ns;
    report.kernels.push_back(std::move(one));
  }
  report.skipped = timeline.skipped;
  return report;
}

} // namespace ako::profiles
