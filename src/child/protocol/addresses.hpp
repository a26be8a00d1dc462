// Where shared buffers lie: the same range in every process that maps one.
#pragma once

#include <cstdint>

namespace ako::protocol {

// Below where the kernel begins to place mappings (at most 2^40 below the top of the address space,
// by its randomness), above everything of a program, and where ThreadSanitizer allows memory.
inline constexpr std::uint64_t k_first_address = 0x7e90'0000'0000,
                               k_last_address = 0x7ef0'0000'0000;

// The eviction buffer of a worker, below them: alone in a range that one mask tells (its size is a
// power of two, its address a multiple of it), so that the range can be sealed.
inline constexpr std::uint64_t k_evict_range = std::uint64_t{1} << 36,
                               k_evict_address = 0x7e80'0000'0000;
static_assert(k_evict_address % k_evict_range == 0 &&
              k_evict_address + k_evict_range <= k_first_address);

} // namespace ako::protocol
