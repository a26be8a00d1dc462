// SHA-256, the identity of everything that is stored or loaded.
#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ako::base {

/// 64 lower-case hex digits; empty = none.
using Hash = std::string;

Hash sha256(std::string_view bytes);
Hash sha256(std::span<const std::byte> bytes);
Expected<Hash> sha256_file(const std::filesystem::path& path);

/// Incremental form. add_field() writes the length before the bytes, so that neighbouring fields
/// cannot be shifted.
class Hasher {
public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();
  Hasher& add(std::string_view bytes);
  Hasher& add_field(std::string_view bytes);
  Hash finish();

private:
  struct State;
  std::unique_ptr<State> m_state;
};

/// Fast 64-bit checksum for buffers (xxh3); not an identity.
std::uint64_t checksum(std::span<const std::byte> bytes);

} // namespace ako::base
