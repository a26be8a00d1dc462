// Independent pieces of work on several cores.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ako::base {

/// Cores that the calling thread may run on now, ascending.
std::vector<int> usable_cores();
/// Cores that the process might use when it was started: what a thread was bound to since is no
/// limit.
const std::vector<int>& cores_at_start();

/// Calls work(0) .. work(count - 1), each once, on the calling thread and on helpers, at most one a
/// core, that run on `cores`; returns when all have returned. `work` must not throw. Where no
/// thread can be had the caller does it all.
void in_parallel(std::size_t count, const std::vector<int>& cores,
                 const std::function<void(std::size_t)>& work);

} // namespace ako::base
