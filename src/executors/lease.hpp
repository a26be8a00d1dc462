// The right to measure on a device. One holder per machine and device at a time, whoever the
// process belongs to: two ako processes never time kernels against each other.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "base/time.hpp"

#include <functional>
#include <string>

namespace ako::executors {

/// Where lock files of this machine lie, the same for every user and session: $AKO_RUNTIME_DIR,
/// else /tmp. ($TMPDIR and $XDG_RUNTIME_DIR differ between the sessions of one machine.) Kind
/// environment when it is no folder that can be written.
base::Expected<base::fs::path> runtime_dir();

struct LeaseRequest {
  std::string device = "cpu"; ///< "cpu", later "gpu-<uuid>"
  base::fs::path dir;         ///< empty = runtime_dir()
  base::Deadline deadline = base::Deadline::never();
  /// Called once when somebody else holds it, with one sentence that names the holder.
  std::function<void(const std::string&)> on_wait;
  /// Polled while waiting; true = give up with kind interrupted.
  std::function<bool()> stop;
};

/// Held until destruction; a process that dies gives it back.
class Lease {
public:
  /// Kind timeout when the deadline passes first, found = the holder.
  static base::Expected<Lease> take(const LeaseRequest& request);
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();
  std::int64_t waited_ns() const { return m_waited_ns; }

private:
  Lease() = default;
  int m_fd = -1;
  std::int64_t m_waited_ns = 0;
};

} // namespace ako::executors
