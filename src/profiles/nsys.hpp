// Nsight Systems: the tables of `nsys stats` as CSV, and the exported sqlite database.
#pragma once

#include "profiles/timeline.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace ako::profiles {

/// One row of a kernel, copy or API summary.
struct NsysRow {
  std::string name, grid, block;
  double total_ns = 0, mean_ns = 0;
  std::int64_t count = 0;
};

struct NsysStats {
  std::vector<NsysRow> kernels, copies, api;
  Timeline timeline;              ///< from a cuda_gpu_trace table, when there is one
  std::vector<std::string> hints; ///< "graph-level trace: ..."
  std::vector<model::SkippedLine> skipped;
};

/// Any stack of tables, told apart by their columns. invalid: none of them is one of nsys's.
base::Expected<NsysStats> read_nsys_csv(std::string_view text, const std::string& where);

/// Kernels, copies, sets and API calls of the database; missing tables and columns are lawful
/// (versions differ), and a database without any of them is invalid.
base::Expected<Timeline> read_nsys_sqlite(const std::filesystem::path& path);

/// Refuses an exported file that is older than the export's start: a leftover of another run
/// (stale).
base::Status check_fresh(const std::filesystem::path& exported, std::int64_t started_unix_ns,
                         int export_exit_code);

} // namespace ako::profiles
