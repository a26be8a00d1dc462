// Shared memory mapped at a given address, so that pointers mean the same in several processes.
#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>

namespace ako::base {

enum class Access { read, read_write };

/// A mapping of a memory file; unmapped by the destructor.
class Mapping {
public:
  /// address 0 = anywhere. A fixed address that is taken is an error (kind environment), never an
  /// overlay.
  static Expected<Mapping> map(int fd, std::size_t bytes, std::uint64_t address, Access access);
  Mapping() = default;
  Mapping(Mapping&&) noexcept;
  Mapping& operator=(Mapping&&) noexcept;
  ~Mapping();
  std::byte* data() const { return m_data; }
  std::size_t size() const { return m_size; }

private:
  std::byte* m_data = nullptr;
  std::size_t m_size = 0;
};

} // namespace ako::base
