// Addresses for shared memory, taken before anything else of the process can lie there.
#pragma once

#include "device/tables.hpp"

#include <cstdint>
#include <optional>

namespace ako::device {

struct AddressRange {
  std::uint64_t first = 0, last = 0; ///< multiples of 64 MiB; equal = none
};

/// A range of this process's addresses that the driver has set apart for us. Without one, memory is
/// mapped where it is wanted only as long as nothing lies there, and as long as the driver looks
/// there: it serves small requests from ranges that it has in hand, whatever address is asked for.
class Window {
public:
  Window() = default;
  Window(Window&& other) noexcept { swap(other); }
  Window& operator=(Window&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Window();

  /// Before the driver starts: what it and others map for themselves meanwhile goes elsewhere.
  static Window hold(AddressRange range);
  /// With a context: the driver takes the range over. A part of it, from its beginning, is taken
  /// when the whole cannot be had; none, when nothing can.
  void hand_over(const Cuda& api);

  std::uint64_t bytes() const { return m_reserved; } ///< set apart, from the range's beginning
  bool covers(std::uint64_t address, std::int64_t bytes) const;

private:
  void swap(Window& other) noexcept;
  const Cuda* m_api = nullptr;
  AddressRange m_range;
  bool m_held = false;
  std::uint64_t m_reserved = 0;
};

/// Reserves that address; 0 = whatever the driver gives. What comes elsewhere is kept until the
/// end, so that the driver runs out of it, and asked again. k_success with `*at` elsewhere, the
/// caller's to give back, when the address never came.
abi::Result reserve_at(const Cuda& api, std::uint64_t address, std::int64_t bytes,
                       abi::Pointer* at);

} // namespace ako::device
