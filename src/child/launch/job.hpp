// One plain call of a built kernel: no gate, no clock, nothing that a profiler's replay could hang
// on. What profilers, sanitizers and debuggers are given to look at.
//
//   {"task": FOLDER, "library": FILE, "shape": TAG, "seed": N, "warmup": N, "calls": N,
//    "device": "host" | "cuda" | "cuda:GPU-UUID", "prepare": BOOL, "plan": BOOL}
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "model/resolved.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ako::launch {

struct Job {
  std::filesystem::path task;
  std::string library, shape, device = "host";
  std::uint64_t seed = 1;
  std::int64_t warmup = 1, calls = 1;
  bool prepare = false, plan = false;
};
base::Expected<Job> read_job(const std::filesystem::path& path);

/// Where tensors live.
class Memory {
public:
  virtual ~Memory() = default;
  /// Zeroed, at least 256-byte aligned; freed with this.
  virtual base::Expected<void*> allocate(std::size_t bytes) = 0;
  virtual base::Status upload(void* to, const std::vector<std::byte>& from) = 0;
  virtual base::Expected<std::vector<std::byte>> download(const void* from, std::size_t bytes) = 0;
  virtual base::Status wait() = 0;
  /// Around the calls that count: a profiler may have been told to start there.
  virtual void mark_start() = 0;
  virtual void mark_stop() = 0;
  virtual void* stream() = 0;
};
/// "host", "cuda", "cuda:UUID". environment: no driver or no such device.
base::Expected<std::unique_ptr<Memory>> open_memory(const std::string& device);

struct TensorSum {
  std::string name;
  std::uint64_t checksum = 0; ///< of its bytes after the last call
};

/// Fills, warms up, calls. invalid: the kernel returned non-zero, or a fill that cannot be made.
base::Expected<std::vector<TensorSum>> run(const Job& job);

} // namespace ako::launch
