// The worker program.
#pragma once

#include <string>
#include <vector>

namespace ako::worker {

enum class Containment { full, none };

/// Runs a worker on the channel; `crash` takes crash records. Returns its exit code, or ends the
/// process in the way that the contained worker ended.
/// With `host` (program and words) that program becomes the worker, inside the namespaces, with
/// channel and crash pipe at the same numbers and what was entered in AKO_NAMESPACES.
int run_worker(int channel, int crash, Containment containment,
               const std::vector<std::string>& host = {});

class Guest;
/// The worker of a host: from here on the process is ako's. Its exit code.
int run_guest(int channel, int crash, const std::string& namespaces, const Guest& guest);

} // namespace ako::worker
