// Where buffers lie: one placement = one shared arena that holds `sets` copies of the fresh
// tensors, one copy of the static ones, and red zones around everything. Offsets are the same in
// every process that maps it.
#pragma once

#include "model/resolved.hpp"

namespace ako::model {

struct BufferPlace {
  int tensor = 0;          ///< index into ResolvedShape::tensors
  int set = 0;             ///< static tensors: 0 for all sets
  std::int64_t offset = 0; ///< from the arena's start, satisfies the tensor's align
  std::int64_t bytes = 0;
};

struct ArenaPlan {
  std::uint64_t address = 0; ///< where it is mapped in every process
  std::int64_t bytes = 0;    ///< whole pages
  int sets = 1;
  std::int64_t red_zone_bytes = 256; ///< before and after each buffer
  std::vector<BufferPlace> places;   ///< sorted by offset
  /// For a static tensor its only place, whatever the set. The tensor must have one.
  const BufferPlace& place(int tensor, int set) const;
};

/// `address` is a multiple of a page. Tensors of lifetime static have one place, as set 0.
/// `colour` shifts every buffer by a lawful pseudo-random multiple of its alignment below a page,
/// so that placements differ in more than their physical pages.
base::Expected<ArenaPlan> plan_arena(const Contract& contract, const ResolvedShape& shape, int sets,
                                     std::uint64_t address, std::uint64_t colour);
/// What the reference writes for this tensor: close-compared floating outputs in the precision of
/// contract.reference, all others (inout included) as declared.
Dtype reference_dtype(const Contract& contract, const ResolvedShape& shape, int tensor);
/// The private arena of the reference: its outputs as reference_dtype() says, its own copies of
/// inout tensors, and one workspace of its own. It has no place for tensors of role in.
base::Expected<ArenaPlan> plan_reference_arena(const Contract& contract, const ResolvedShape& shape,
                                               int sets, std::uint64_t address);

base::Json to_json(const ArenaPlan&);
base::Expected<ArenaPlan> arena_plan_from_json(const base::Json&);

} // namespace ako::model
