// An arena that the keeper made, as the parent sees it: the same bytes at the same address.
#pragma once

#include "base/fd.hpp"
#include "base/shm.hpp"
#include "model/arena.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ako::client {

/// Addresses that are free in the parent, the keeper and every worker, sanitized builds included.
/// Ranges are handed out in turn, page-aligned, with an unmapped gap behind each; the range wraps
/// around after 384 GiB, so that an arena's range is not given out again while it lives.
std::uint64_t next_arena_address(std::int64_t bytes);
/// The same for memory of a device: multiples of 64 MiB, as its driver reserves them, within what
/// every process so far could set apart for it.
std::uint64_t next_device_address(std::int64_t bytes);
/// A keeper or worker has this many bytes of the range, from its beginning, set apart; 0 = none: it
/// tries the whole range.
void note_set_apart(std::uint64_t bytes);

/// Move-only; unmapped in the parent by the destructor (Keeper::destroy_arena frees the rest).
class Arena {
public:
  std::uint64_t id() const { return m_id; }
  const std::string& tag() const { return m_tag; }
  const model::ArenaPlan& plan() const { return m_plan; }
  int fd() const { return m_fd.get(); } ///< of the memory itself
  bool on_device() const { return static_cast<bool>(m_mirror_fd); }
  int mirror_fd() const { return m_mirror_fd.get(); } ///< on a device: of the host's view
  /// What stands in one buffer now: a view, read only, valid while the arena lives. On a device:
  /// what stood there at the last Keeper::read of it.
  std::span<const std::byte> bytes(int tensor, int set) const;
  /// Address of one buffer, the same in every process.
  std::uint64_t address(int tensor, int set) const;
  bool has(int tensor, int set) const;

private:
  friend class Keeper;
  std::uint64_t m_id = 0;
  std::string m_tag;
  model::ArenaPlan m_plan;
  base::UniqueFd m_fd, m_mirror_fd;
  base::Mapping m_mapping;
};

/// The place of a tensor for a set: static tensors lie once, at set 0.
const model::BufferPlace* find_place(const model::ArenaPlan& plan, int tensor, int set);

} // namespace ako::client
