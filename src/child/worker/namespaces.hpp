// The processes of a worker:  warden -> init (first process of a new pid namespace) -> worker.
// Where the kernel gives no pid namespace:  warden -> worker.  The warden ends as the worker did.
#pragma once

#include <functional>

namespace ako::worker {

struct Namespaces {
  bool user = false, pid = false, network = false, ipc = false, mount = false;
};

/// Enters what the kernel gives and runs `body` in the innermost process; in the warden it returns
/// by ending that process. `keep` are the descriptors that only the innermost process keeps.
[[noreturn]] void run_contained(std::initializer_list<int> keep,
                                const std::function<int(const Namespaces&)>& body);

} // namespace ako::worker
