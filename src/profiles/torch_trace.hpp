// Traces of the torch profiler (Chrome trace events), plain or gzipped, read in one pass and
// bounded memory.
#pragma once

#include "profiles/timeline.hpp"

#include <filesystem>

namespace ako::profiles {

/// Kernels, copies, sets and CUDA calls of the trace. A file that ends early keeps what was whole
/// and says so in `skipped`. io: unreadable; invalid: no "traceEvents", or damaged compression
/// before any event.
base::Expected<Timeline> read_torch_trace(const std::filesystem::path& path);

/// The same from memory, for tests and fuzzing.
base::Expected<Timeline> parse_torch_trace(std::string_view json, const std::string& where);

} // namespace ako::profiles
