// From what the link saw to what it says about the candidate.
#pragma once

#include "client/failure.hpp"
#include "client/link.hpp"
#include "model/arena.hpp"

#include <string>
#include <vector>

namespace ako::client {

/// Memory that a worker has mapped, for naming what a fault hit.
struct MappedArena {
  std::uint64_t id = 0;
  std::string tag;
  model::ArenaPlan plan;
};

WorkerFailure failure_of(const Incident& incident, const std::string& during,
                         const std::vector<MappedArena>& arenas);

/// {arena, zone: "buffer"|"red_zone"|"gap"|"outside", tensor, set, offset}: the buffer nearest to
/// the address and the offset from its start. zone "outside" without the rest: far from all.
base::Json locate(std::uint64_t address, const std::vector<MappedArena>& arenas);

/// Variables that every child gets; nothing of the user's environment but the language and PATH.
std::vector<std::string> child_environment();

} // namespace ako::client
