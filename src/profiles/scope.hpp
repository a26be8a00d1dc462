// Where the time of a whole run goes, and what a faster kernel could win end to end.
#pragma once

#include "base/json.hpp"
#include "profiles/timeline.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

/// Time of several launches that have something in common.
struct ScopeGroup {
  std::string name;
  std::int64_t launches = 0;
  double total_ns = 0;
  double of_kernels = 0; ///< of the summed kernel time, 0..1
};

/// One size at which a kernel was launched.
struct ScopeShape {
  std::string launch,
      inputs; ///< "grid 2x64x1 block 384x1x1", "BFloat16[512,1024]"; empty = unknown
  std::int64_t count = 0;
  double total_ns = 0;
};

struct ScopeKernel {
  KernelShare share;
  std::string family;
  std::vector<ScopeGroup> phases, operators, launchers; ///< the longest first
  std::vector<ScopeShape> shapes;                       ///< the longest first, twenty at most
  std::int64_t more_shapes = 0;
};

enum class Heat {
  hot,
  warm,
  cold,
  unproven ///< the file shows chosen launches, not a run
};
const char* to_string(Heat heat);

/// What is known of the whole that the shares are of.
enum class Whole {
  wall,    ///< a timeline: shares of wall time are measured
  kernels, ///< only sums: shares of the listed kernels' time
  stated   ///< a share that somebody states
};

struct ScopeGain {
  double speedup = 0; ///< infinite: the kernel takes no time at all
  double gain = 0;    ///< of the whole's time, 0..1
};

/// Is this kernel worth the work?
struct HotProof {
  std::string kernel; ///< name, or what the names hold
  std::int64_t launches = 0;
  double total_ns = 0, of_kernels = 0;
  std::optional<double> of_wall, alone; ///< alone: while nothing else ran; what Amdahl counts
  Heat heat = Heat::cold;
  std::vector<ScopeGain> gains;     ///< at 1.25, 1.5, 2, 4 times the speed and at the limit
  std::vector<std::string> against; ///< what speaks against the figures
};

struct ScopeReport {
  std::string source; ///< "torch trace", "nsys database", "nsys tables", "ncu report", "stated"
  std::string device;
  Whole whole = Whole::wall;
  TimelineSummary sum;
  std::vector<ScopeKernel> kernels; ///< the longest first
  std::vector<ScopeGroup> operators, phases, families;
  std::string phase_basis;              ///< where phases come from; empty = the trace has none
  std::vector<model::Finding> findings; ///< about launches, gaps, copies and synchronisation
  std::optional<HotProof> hot;          ///< none when nothing ran
  std::vector<std::string> notes;
  std::vector<model::SkippedLine> skipped;
};

struct ScopeOptions {
  std::string kernel; ///< proof for kernels whose name holds this; empty: for the longest
  std::string lane;   ///< moves of this lane only
  double hot_from = 0.05, warm_from = 0.01; ///< end-to-end gain at the limit, 0..1
  std::string file_name;                    ///< of the trace: some tools write the phase into it
};

/// invalid: no kernel's name holds options.kernel; the ones there are come with the error.
base::Expected<ScopeReport> scope_of(const Timeline& timeline, const ScopeOptions& options);

/// torch trace, nsys database or tables, ncu CSV: told apart by content.
base::Expected<ScopeReport> scope_file(const std::filesystem::path& path, ScopeOptions options);

/// A share that somebody states, with where it comes from: Amdahl's bound without a trace. invalid:
/// not between 0 and 1, or no source.
base::Expected<ScopeReport> scope_stated(double share, const std::string& source,
                                         const std::string& kernel, const ScopeOptions& options);

base::Json to_json(const ScopeReport& report);
/// `most`: rows of each table.
std::string to_text(const ScopeReport& report, std::size_t most = 12);

} // namespace ako::profiles
