// From what the link saw to what it says about the candidate.
#pragma once

#include "client/failure.hpp"
#include "client/link.hpp"
#include "model/arena.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::client {

/// Memory that a worker has mapped, for naming what a fault hit.
struct MappedArena {
  std::uint64_t id = 0;
  std::string tag;
  model::ArenaPlan plan;
};

/// Memory when a worker was ended: what tells whose fault it was that there was too little.
struct MemorySeen {
  std::int64_t room_bytes = 0; ///< free when its buffers were mapped
  std::int64_t own_bytes = 0;  ///< at least so much it took itself, ako's buffers apart
  std::optional<bool>
      short_of; ///< the kernel ended somebody for want of memory; absent = not known
};

/// Ended by the kernel for want of memory, a worker is at fault where at least half of what was
/// free went to itself; otherwise the machine is, whatever filled it: ako's own buffers among that.
WorkerFailure failure_of(const Incident& incident, const std::string& during,
                         const std::vector<MappedArena>& arenas, const MemorySeen& memory);

/// {arena, zone: "buffer"|"red_zone"|"gap"|"outside", tensor, set, offset}: the buffer nearest to
/// the address and the offset from its start. zone "outside" without the rest: far from all.
base::Json locate(std::uint64_t address, const std::vector<MappedArena>& arenas);

/// Variables that every child gets; nothing of the user's environment but the language and PATH.
std::vector<std::string> child_environment();

} // namespace ako::client
