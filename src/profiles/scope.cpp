#include "profiles/scope.hpp"

#include "profiles/names.hpp"
#include "profiles/ranges.hpp"
#include "profiles/scope_sums.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace ako::profiles {
namespace {

using base::ErrorKind;
using base::Expected;

constexpr std::size_t k_shapes_shown = 20;

/// What started each device span, by correlation.
class Launches {
public:
  explicit Launches(const Timeline& timeline) : m_timeline(timeline) {
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const Span& span = timeline.spans[i];
      if (span.activity == Activity::api && span.correlation)
        m_by_correlation.emplace_back(span.correlation, static_cast<std::uint32_t>(i));
    }
    std::sort(m_by_correlation.begin(), m_by_correlation.end());
  }
  const Span* of(const Span& span) const {
    if (!span.correlation) return nullptr;
    auto at = std::lower_bound(m_by_correlation.begin(), m_by_correlation.end(),
                               std::pair<std::uint32_t, std::uint32_t>(span.correlation, 0));
    if (at == m_by_correlation.end() || at->first != span.correlation) return nullptr;
    return &m_timeline.spans[at->second];
  }

private:
  const Timeline& m_timeline;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> m_by_correlation;
};

struct Sum {
  std::int64_t launches = 0;
  double total = 0;
  void add(double length) { ++launches, total += length; }
};
using Sums = std::map<std::uint32_t, Sum>;

struct PerKernel {
  Sums phases, operators, launchers;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> shapes;
};

/// Collects what one pass over the kernels says.
class Collector {
public:
  Collector(const Timeline& timeline, const ScopeOptions& options)
      : m_timeline(timeline), m_launches(timeline), m_phase_of_name(phases_of_names(timeline)),
        m_all(timeline.ranges, [](std::uint32_t) { return true; }),
        m_phased(timeline.ranges,
                 [&](std::uint32_t name) { return !m_phase_of_name[name].empty(); }),
        m_file_phase(phase_of(options.file_name)) {
    for (const Span& span : timeline.spans)
      if (span.activity == Activity::kernel) take(span);
  }

  std::map<std::uint32_t, PerKernel> kernels; ///< by the id of the name
  Sums operators;
  std::map<std::string_view, Sum> phases;
  bool by_annotation = false, by_file = false, by_name = false;

  /// Ids of phases are places in this list.
  std::vector<std::string_view> phase_names;

private:
  static std::vector<std::string_view> phases_of_names(const Timeline& timeline) {
    std::vector<std::string_view> all(timeline.names());
    for (const Range& range : timeline.ranges)
      if (all[range.name].empty()) all[range.name] = phase_of(timeline.name(range.name));
    return all;
  }

  std::uint32_t enclosing(const RangeIndex& index, const Span& span, const Span* launch) const {
    if (index.empty()) return k_no_name;
    std::uint32_t name = k_no_name;
    if (launch) name = index.at(Track::host, 0, launch->stream, launch->start_ns);
    if (name == k_no_name) name = index.at(Track::device, span.device, span.stream, span.start_ns);
    return name;
  }

  std::string_view phase(const Span& span, const Span* launch) {
    const std::uint32_t range = enclosing(m_phased, span, launch);
    if (range != k_no_name) return by_annotation = true, m_phase_of_name[range];
    if (!m_file_phase.empty()) return by_file = true, m_file_phase;
    auto [known, fresh] = m_phase_of_kernel.try_emplace(span.name);
    if (fresh) {
      std::string_view named = phase_of(short_name(m_timeline.name(span.name)));
      if (named == "prefill" || named == "decode") known->second = named;
    }
    if (!known->second.empty()) by_name = true;
    return known->second;
  }

  std::uint32_t phase_id(std::string_view name) {
    auto at = std::find(phase_names.begin(), phase_names.end(), name);
    if (at == phase_names.end()) at = phase_names.insert(phase_names.end(), name);
    return static_cast<std::uint32_t>(at - phase_names.begin());
  }

  void take(const Span& span) {
    const double length = double(span.end_ns - span.start_ns);
    const Span* launch = m_launches.of(span);
    PerKernel& kernel = kernels[span.name];
    const std::string_view in_phase = phase(span, launch);
    phases[in_phase].add(length);
    kernel.phases[phase_id(in_phase)].add(length);
    std::uint32_t operation = span.operation;
    if (operation == k_no_name) operation = enclosing(m_all, span, launch);
    operators[operation].add(length);
    if (operation != k_no_name) kernel.operators[operation].add(length);
    if (launch) kernel.launchers[launch->name].add(length);
    if (span.launch_size != k_no_name || span.inputs != k_no_name)
      kernel.shapes[{span.launch_size, span.inputs}].add(length);
  }

  const Timeline& m_timeline;
  Launches m_launches;
  std::vector<std::string_view> m_phase_of_name;
  RangeIndex m_all, m_phased;
  std::string_view m_file_phase;
  std::unordered_map<std::uint32_t, std::string_view> m_phase_of_kernel;
};

void longest_first(std::vector<ScopeGroup>& groups) {
  std::sort(groups.begin(), groups.end(), [](const ScopeGroup& a, const ScopeGroup& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
}

template <class Name>
std::vector<ScopeGroup> groups_of(const auto& sums, double kernel_ns, Name name) {
  std::vector<ScopeGroup> all;
  for (const auto& [id, sum] : sums)
    all.push_back({std::string(name(id)), sum.launches, sum.total,
                   kernel_ns > 0 ? sum.total / kernel_ns : 0});
  longest_first(all);
  return all;
}

std::string name_of_id(const Timeline& timeline, std::uint32_t id) {
  return id == k_no_name ? std::string() : timeline.name(id);
}

void add_shapes(const Timeline& timeline, const PerKernel& from, ScopeKernel& to) {
  for (const auto& [size, sum] : from.shapes)
    to.shapes.push_back({name_of_id(timeline, size.first), name_of_id(timeline, size.second),
                         sum.launches, sum.total});
  std::sort(to.shapes.begin(), to.shapes.end(), [](const ScopeShape& a, const ScopeShape& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.launch < b.launch;
  });
  if (to.shapes.size() > k_shapes_shown) {
    to.more_shapes = static_cast<std::int64_t>(to.shapes.size() - k_shapes_shown);
    to.shapes.resize(k_shapes_shown);
  }
}

void group(const Timeline& timeline, const ScopeOptions& options, ScopeReport& report) {
  Collector all(timeline, options);
  const double kernel_ns = report.sum.kernel_ns;
  auto name = [&](std::uint32_t id) {
    return id == k_no_name ? std::string("(none recorded)") : timeline.name(id);
  };
  std::unordered_map<std::string_view, const PerKernel*> by_name;
  for (const auto& [id, kernel] : all.kernels) by_name[timeline.name(id)] = &kernel;
  std::map<std::string, Sum> families;
  for (const KernelShare& share : report.sum.ranking) {
    const PerKernel& own = *by_name.at(share.name);
    ScopeKernel kernel;
    kernel.share = share, kernel.family = family_of(share.name);
    families[kernel.family].launches += share.launches;
    families[kernel.family].total += share.total_ns;
    kernel.phases = groups_of(own.phases, kernel_ns, [&](std::uint32_t id) {
      return all.phase_names[id].empty() ? "(none)" : all.phase_names[id];
    });
    kernel.operators = groups_of(own.operators, kernel_ns, name);
    kernel.launchers = groups_of(own.launchers, kernel_ns, name);
    add_shapes(timeline, own, kernel);
    report.kernels.push_back(std::move(kernel));
  }
  report.families = groups_of(families, kernel_ns, [](const std::string& text) { return text; });
  report.operators = groups_of(all.operators, kernel_ns, name);
  report.phases = groups_of(all.phases, kernel_ns, [](std::string_view text) {
    return text.empty() ? std::string_view("(none)") : text;
  });
  report.phase_basis = all.by_annotation ? "annotations of the trace"
                       : all.by_file     ? "the name of the file"
                       : all.by_name     ? "names of kernels: a hint"
                                         : "";
  if (report.phase_basis.empty()) report.phases.clear();
  if (report.operators.size() == 1 && report.operators[0].name == "(none recorded)")
    report.operators.clear();
}

std::vector<ScopeGain> gains_of(double share) {
  std::vector<ScopeGain> all;
  for (double speedup : {1.25, 1.5, 2.0, 4.0, std::numeric_limits<double>::infinity()})
    all.push_back({speedup, amdahl_gain(share, speedup)});
  return all;
}

Heat heat_of(double limit, const ScopeOptions& options) {
  return limit >= options.hot_from    ? Heat::hot
         : limit >= options.warm_from ? Heat::warm
                                      : Heat::cold;
}

void doubt(const ScopeReport& report, HotProof& proof) {
  if (report.whole == Whole::kernels)
    proof.against.push_back("the file holds no time between kernels: these are shares of kernel "
                            "time, an upper bound of the share of wall time");
  if (report.source == k_ncu_source)
    proof.against.push_back("ncu shows the launches it was told to profile, one after another and "
                            "with cold caches: record a trace of the whole run to prove heat");
  if (proof.launches > 0 && proof.launches < 3)
    proof.against.push_back(
        fmt::format("{} launches only: a warm-up or a single step may not stand for the service",
                    proof.launches));
  const TimelineSummary& sum = report.sum;
  if (report.whole == Whole::wall && sum.wall_ns > 0 && sum.gap_ns / sum.wall_ns > 0.4)
    proof.against.push_back(fmt::format(
        "the device does nothing for {:.0f} % of the time: gaps come first, and a recording "
        "profiler makes them longer",
        100 * sum.gap_ns / sum.wall_ns));
  if (proof.alone && proof.of_wall && *proof.of_wall > 0 && *proof.alone < 0.7 * *proof.of_wall)
    proof.against.push_back("much of its time is overlapped by other work: a faster kernel "
                            "uncovers that work");
}

Expected<HotProof> prove(const ScopeReport& report, const ScopeOptions& options) {
  HotProof proof;
  proof.kernel = options.kernel.empty() ? report.kernels[0].share.name : options.kernel;
  double wall = 0, alone = 0;
  for (const ScopeKernel& kernel : report.kernels) {
    const KernelShare& share = kernel.share;
    if (options.kernel.empty() ? share.name != proof.kernel
                               : share.name.find(options.kernel) == std::string::npos)
      continue;
    proof.launches += share.launches, proof.total_ns += share.total_ns;
    proof.of_kernels += share.of_busy, wall += share.of_wall, alone += share.amdahl;
  }
  if (proof.launches == 0) {
    std::string names;
    for (const ScopeKernel& kernel : report.kernels)
      if (names.size() < 300)
        names += (names.empty() ? "" : ", ") + short_name(kernel.share.name).substr(0, 80);
    return base::fail(ErrorKind::invalid, "no kernel of that name in the trace",
                      {"--kernel", options.kernel, names, "name one of these, or a part of it"});
  }
  if (report.whole == Whole::wall) proof.of_wall = wall, proof.alone = alone;
  const double share = proof.alone.value_or(proof.of_kernels);
  proof.gains = gains_of(share);
  proof.heat = report.source == k_ncu_source ? Heat::unproven : heat_of(share, options);
  doubt(report, proof);
  return proof;
}

} // namespace

const char* to_string(Heat heat) {
  switch (heat) {
  case Heat::hot: return "hot";
  case Heat::warm: return "warm";
  case Heat::cold: return "cold";
  case Heat::unproven: return "unproven";
  }
  return "?";
}

Expected<ScopeReport> scope_of(const Timeline& timeline, const ScopeOptions& options) {
  ScopeReport report;
  report.sum = summarise(timeline);
  report.device = timeline.device, report.skipped = timeline.skipped, report.notes = timeline.hints;
  report.findings = timeline_findings(report.sum, options.lane);
  group(timeline, options, report);
  if (report.kernels.empty()) {
    report.notes.push_back("no kernel in this trace: nothing can be said about a hot one");
    return report;
  }
  AKO_TRY(report.hot, prove(report, options));
  return report;
}

Expected<ScopeReport> scope_sums(ScopeReport report, const ScopeOptions& options) {
  report.whole = Whole::kernels;
  std::map<std::string, Sum> families;
  for (ScopeKernel& kernel : report.kernels) {
    report.sum.kernel_ns += kernel.share.total_ns;
    report.sum.kernels += kernel.share.launches;
  }
  for (ScopeKernel& kernel : report.kernels) {
    kernel.family = family_of(kernel.share.name);
    kernel.share.of_busy =
        report.sum.kernel_ns > 0 ? kernel.share.total_ns / report.sum.kernel_ns : 0;
    families[kernel.family].launches += kernel.share.launches;
    families[kernel.family].total += kernel.share.total_ns;
  }
  std::stable_sort(report.kernels.begin(), report.kernels.end(), [](const auto& a, const auto& b) {
    return a.share.total_ns > b.share.total_ns;
  });
  report.families =
      groups_of(families, report.sum.kernel_ns, [](const std::string& text) { return text; });
  if (report.kernels.empty()) return report;
  AKO_TRY(report.hot, prove(report, options));
  return report;
}

Expected<ScopeReport> scope_stated(double share, const std::string& source,
                                   const std::string& kernel, const ScopeOptions& options) {
  if (!(share > 0 && share <= 1))
    return base::fail(ErrorKind::usage, "a share of the time lies between 0 and 100 %",
                      {"--share", fmt::format("{:g} %", share * 100), "above 0, at most 100", {}});
  if (source.empty())
    return base::fail(ErrorKind::usage, "a stated share needs its source",
                      {"--share", fmt::format("{:g} %", share * 100),
                       "--source \"where it is from\"",
                       "better: record a trace and give it with --trace"});
  ScopeReport report;
  report.source = "stated", report.whole = Whole::stated;
  HotProof proof;
  proof.kernel = kernel.empty() ? "(the kernel)" : kernel;
  proof.of_wall = proof.alone = share;
  proof.gains = gains_of(share), proof.heat = heat_of(share, options);
  proof.against.push_back("stated, not measured: " + source);
  report.hot = std::move(proof);
  return report;
}

} // namespace ako::profiles
