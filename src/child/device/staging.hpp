// Large copies between the device and ordinary memory.
#pragma once

#include "device/gpu.hpp"

#include <optional>

namespace ako::device {

/// Page-locked memory through which copies go in pieces: one piece crosses the bus while all cores
/// copy the one before. A driver that is given ordinary memory does both by turns on one core,
/// which also takes every first touch of a page: a quarter of the speed and less.
class Staging {
public:
  static constexpr std::size_t k_piece_bytes = std::size_t{16} << 20;
  /// As Gpu::copy_out() and copy_in(), which they are for what is small, and where no page-locked
  /// memory is to be had.
  base::Status copy_out(const Gpu& gpu, std::span<std::byte> to, abi::Pointer from);
  base::Status copy_in(const Gpu& gpu, abi::Pointer to, std::span<const std::byte> from);

private:
  bool worth(const Gpu& gpu, std::size_t bytes);
  std::byte* piece(std::size_t at) const;
  std::optional<Pinned> m_pieces; ///< two of them
  bool m_refused = false;
};

} // namespace ako::device
