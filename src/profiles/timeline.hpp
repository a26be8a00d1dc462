// What ran on the device when: ranking, gaps, overlap, and what follows from them.
#pragma once

#include "model/profile.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ako::profiles {

enum class Activity : std::uint8_t { kernel, copy, set, api, operation };

constexpr std::uint32_t k_no_name = UINT32_MAX;

/// One interval. Names are kept once per timeline.
struct Span {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t name = 0;
  std::int32_t device = 0, stream = 0; ///< of an API call: stream is the thread's number
  Activity activity = Activity::kernel;
  std::uint32_t correlation = 0;         ///< joins an API call and what it started; 0 = none
  std::uint32_t operation = k_no_name;   ///< the framework's operator, where the trace has it
  std::uint32_t inputs = k_no_name;      ///< that operator's inputs: "bfloat16[512,1024]"
  std::uint32_t launch_size = k_no_name; ///< "grid 2x64x1 block 384x1x1"
};

enum class Track : std::uint8_t { host, device };

/// A named stretch that encloses others: a user's annotation or an NVTX range.
struct Range {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t name = 0;
  Track track = Track::host;
  std::int32_t device = 0, line = 0; ///< line: thread of the host, stream of the device
};

/// Times whose differences cannot overflow, in order. Readers drop the others.
constexpr bool is_lawful(std::int64_t start_ns, std::int64_t end_ns) {
  constexpr std::int64_t k_most = 4000000000000000000;
  return start_ns >= -k_most && end_ns <= k_most && start_ns <= end_ns;
}

class Timeline {
public:
  static constexpr std::size_t k_most_names = 1 << 20;

  /// Past k_most_names different names all are "(other names)".
  std::uint32_t intern(std::string_view name);
  const std::string& name(std::uint32_t id) const { return m_names[id]; }
  std::size_t names() const { return m_names.size(); }
  std::vector<Span> spans;        ///< in no order
  std::vector<Range> ranges;      ///< in no order
  std::vector<std::string> hints; ///< what the reader noticed
  std::vector<model::SkippedLine> skipped;
  std::string device; ///< its name, where known

private:
  std::vector<std::string> m_names;
  std::unordered_map<std::string, std::uint32_t> m_index;
};

struct KernelShare {
  std::string name;
  std::int64_t launches = 0;
  double total_ns = 0, shortest_ns = 0, longest_ns = 0;
  double of_busy = 0; ///< of the summed kernel time, 0..1
  double of_wall = 0; ///< of the time from first to last span
  double amdahl = 0; ///< end-to-end gain if it took no time at all: its share of the wall time that
                     ///< nothing overlaps
  std::int64_t first_launch = 0;
};

/// Two kernels that follow each other on a stream again and again, with little between them.
struct Neighbours {
  std::string first, second;
  std::int64_t times = 0;
  double gap_ns = 0;   ///< mean
  double saved_ns = 0; ///< bound: the gaps and the shorter kernel's time
};

struct TimelineSummary {
  double wall_ns = 0;
  double busy_ns = 0;                ///< the union over streams: overlapping spans count once
  double kernel_ns = 0, copy_ns = 0; ///< sums
  double copy_alone_ns = 0;          ///< copies while no kernel ran
  double gap_ns = 0;                 ///< no device work, between first and last
  std::int64_t gaps = 0;
  double longest_gap_ns = 0;
  double overlap_ns = 0;  ///< time with two or more device spans
  double api_sync_ns = 0; ///< host time in synchronising calls
  std::int64_t api_syncs = 0, api_launches = 0;
  double median_kernel_ns = 0;
  std::int64_t kernels = 0;
  std::vector<KernelShare> ranking; ///< the longest first
  std::vector<Neighbours> fusion;   ///< the most saving first, ten at most
};
TimelineSummary summarise(const Timeline& timeline);
/// launch_overhead, host_gaps, copies_bound and sync_in_steady_state, the largest bound first.
std::vector<model::Finding> timeline_findings(const TimelineSummary& sum, std::string_view lane);

/// The end-to-end gain when a share of the time becomes `speedup` times as fast; 1 - new/old.
double amdahl_gain(double share, double speedup);

/// A first entry "(whole timeline)" with the findings about launches, gaps, copies and
/// synchronisation, then the kernels in the order of their time.
model::DiagnosisReport diagnose_timeline(const Timeline& timeline, std::string_view lane = {});

} // namespace ako::profiles
