// How much memory there is.
#pragma once

#include <cstdint>

namespace ako::base {

/// Bytes that this process may still take before the kernel ends somebody: what the machine has
/// available, or its control groups leave it, whichever is less. UINT64_MAX where neither is known.
std::uint64_t memory_room();

} // namespace ako::base
