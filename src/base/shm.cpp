#include "base/shm.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ako::base {

namespace {

/// A mapping past the end of its file would fault at first use instead of failing here.
Status check_request(int fd, std::size_t bytes, std::uint64_t address) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (address % page != 0)
    return fail(ErrorKind::invalid, "an address to map at must lie on a page boundary",
                {.where = {},
                 .found = fmt::format("{:#x}", address),
                 .allowed = fmt::format("a multiple of {}", page),
                 .next = {}});
  struct stat info {};
  if (fstat(fd, &info) != 0) return fail_errno("no memory file", fmt::format("fd {}", fd), errno);
  if (bytes == 0 || bytes > static_cast<std::uint64_t>(info.st_size))
    return fail(ErrorKind::invalid, "a mapping must lie within its file",
                {.where = fmt::format("fd {}", fd),
                 .found = fmt::format("{} bytes", bytes),
                 .allowed = fmt::format("1 to {}", info.st_size),
                 .next = {}});
  return {};
}

} // namespace

Expected<Mapping> Mapping::map(int fd, std::size_t bytes, std::uint64_t address, Access access) {
  AKO_TRY_STATUS(check_request(fd, bytes, address));
  const int protection = access == Access::read ? PROT_READ : PROT_READ | PROT_WRITE;
  const int flags = MAP_SHARED | (address == 0 ? 0 : MAP_FIXED_NOREPLACE);
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got = mmap(wanted, bytes, protection, flags, fd, 0);
  const int error = errno;
  // A kernel that does not know the flag takes the address as a hint and may answer with another.
  const bool elsewhere = got != MAP_FAILED && address != 0 && got != wanted;
  if (elsewhere) munmap(got, bytes);
  if (got == MAP_FAILED || elsewhere)
    return fail(ErrorKind::environment, "memory could not be mapped",
                {.where = address == 0 ? "any address" : fmt::format("address {:#x}", address),
                 .found = elsewhere ? "the address is taken" : std::strerror(error),
                 .allowed = fmt::format("{} bytes free there", bytes),
                 .next = {}});
  Mapping mapping;
  mapping.m_data = static_cast<std::byte*>(got);
  mapping.m_size = bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_size(std::exchange(other.m_size, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    if (m_data != nullptr) munmap(m_data, m_size);
    m_data = std::exchange(other.m_data, nullptr);
    m_size = std::exchange(other.m_size, 0);
  }
  return *this;
}

Mapping::~Mapping() {
  if (m_data != nullptr) munmap(m_data, m_size);
}

} // namespace ako::base
