// How much memory there is.
#pragma once

#include <cstdint>
#include <optional>

namespace ako::base {

/// Bytes that this process may still take before the kernel ends somebody: what the machine has
/// available, or its control groups leave it, whichever is less. UINT64_MAX where neither is known.
std::uint64_t memory_room();

/// Processes that the kernel has ended for want of memory since it started; absent where it does
/// not say.
std::optional<std::uint64_t> memory_kills();

} // namespace ako::base
