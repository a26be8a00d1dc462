// The worker program.
#pragma once

namespace ako::worker {

enum class Containment { full, none };

/// Runs a worker on the channel; `crash` takes crash records. Returns its exit code, or ends the
/// process in the way that the contained worker ended.
int run_worker(int channel, int crash, Containment containment);

} // namespace ako::worker
