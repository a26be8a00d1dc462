// Calls that had their core to themselves, told by a probe around them and never by their own time.
//
// Two hardware threads of one core share its units. A neighbour there, in another virtual machine
// too, makes calls up to twice as long for a fraction of a millisecond at a time, without stolen
// time and without a change of clock. A probe of independent additions sees it (ako/measure.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace ako::stats {

/// Consecutive calls between two probes.
struct Stretch {
  double ns = 0; ///< of all its calls
  int calls = 0;
  double crowding = 0; ///< cycles for one addition of each chain; 0 = not known
};

/// What the probe reads on a core that nobody shares: the 2nd percentile of what it read, because
/// an interrupt inside a probe makes its reading too low. 0 = nothing was read.
double free_core(std::vector<double> readings);

/// Largest reading, against that of a free core, that still counts as free.
inline constexpr double k_free_within = 1.06;

/// Time of one call over the stretches that were free; nothing where none was.
std::optional<double> free_time(std::span<const Stretch> block, double free_core);

} // namespace ako::stats
