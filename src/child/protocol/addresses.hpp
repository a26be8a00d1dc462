// Where shared buffers lie: the same range in every process that maps one.
#pragma once

#include <cstdint>

namespace ako::protocol {

// Below where the kernel begins to place mappings (at most 2^40 below the top of the address space,
// by its randomness), above everything of a program, and where ThreadSanitizer allows memory.
inline constexpr std::uint64_t k_first_address = 0x7e90'0000'0000,
                               k_last_address = 0x7ef0'0000'0000;

} // namespace ako::protocol
