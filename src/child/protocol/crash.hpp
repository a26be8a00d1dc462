// What a worker's signal handler writes into its pipe before it dies. Written by one write() of
// less than PIPE_BUF bytes, so it is whole or absent. The candidate can forge it, about itself
// alone.
#pragma once

#include <cstdint>

namespace ako::protocol {

struct CrashRecord {
  static constexpr std::uint32_t k_magic = 0x48534352u;
  std::uint32_t magic = k_magic;
  std::int32_t signal = 0;
  std::int32_t code = 0;         ///< siginfo si_code
  std::int32_t system_call = -1; ///< SIGSYS: number of the forbidden call
  std::uint64_t address = 0;     ///< SIGSEGV, SIGBUS: the address that was touched
  std::uint64_t instruction = 0; ///< program counter
  std::uint32_t writes = 0;      ///< 1 = the access was a write, 0 = a read, 2 = not known
  std::uint32_t reserved = 0;
};
static_assert(sizeof(CrashRecord) == 40);

/// Name of a system call that the sandbox forbids; empty for one that is not listed.
const char* system_call_name(int number);

// Exit codes by which a worker's own code ends; a candidate that uses them harms itself alone.
inline constexpr int k_exit_channel_lost = 97; ///< the channel was closed or damaged
inline constexpr int k_exit_setup_failed = 98;
inline constexpr int k_exit_device_lost = 99; ///< after an answer that said so: the context is gone

} // namespace ako::protocol
