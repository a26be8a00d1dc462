// The plain SHA256_* calls, not EVP: no provider, no configuration file of the user's machine, and
// a fraction of the library in a static link.
#define OPENSSL_SUPPRESS_DEPRECATED
#define XXH_INLINE_ALL
#include "base/hash.hpp"

#include "base/fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <openssl/sha.h>
#include <unistd.h>
#include <vector>
#include <xxhash.h>

namespace ako::base {

struct Hasher::State {
  SHA256_CTX context;
};

Hasher::Hasher() : m_state(std::make_unique<State>()) { SHA256_Init(&m_state->context); }
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::string_view bytes) {
  AKO_CHECK(m_state, "a finished or moved-from hasher");
  SHA256_Update(&m_state->context, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::add_field(std::string_view bytes) {
  char length[8];
  for (std::size_t i = 0; i < sizeof length; ++i)
    length[i] = static_cast<char>((static_cast<std::uint64_t>(bytes.size()) >> (8 * i)) & 0xff);
  return add({length, sizeof length}).add(bytes);
}

Hash Hasher::finish() {
  AKO_CHECK(m_state, "a finished or moved-from hasher");
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &m_state->context);
  m_state.reset();
  constexpr char k_digits[] = "0123456789abcdef";
  Hash out;
  out.reserve(2 * sizeof digest);
  for (const unsigned char byte : digest) {
    out.push_back(k_digits[byte >> 4]);
    out.push_back(k_digits[byte & 15]);
  }
  return out;
}

Hash sha256(std::string_view bytes) { return Hasher().add(bytes).finish(); }

Hash sha256(std::span<const std::byte> bytes) {
  return sha256(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Expected<Hash> sha256_file(const std::filesystem::path& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("a file could not be opened", path.string(), errno);
  std::vector<char> buffer(1u << 20);
  Hasher hasher;
  for (;;) {
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got == 0) return hasher.finish();
    if (got > 0) hasher.add({buffer.data(), static_cast<std::size_t>(got)});
    if (got < 0 && errno != EINTR)
      return fail_errno("a file could not be read", path.string(), errno);
  }
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace ako::base
