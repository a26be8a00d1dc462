// make_memfd() of fd.hpp: its pages are there when it returns.
#include "base/fd.hpp"
#include "base/fs.hpp"
#include "base/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace ako::base {

namespace {

/// Left for everybody else when a memory file is asked for.
constexpr std::uint64_t k_spare_bytes = 64u << 20;

/// The number that follows `key` in a small text file of the kernel; `fallback` when there is none.
std::uint64_t number_after(const std::string& text, std::string_view key, std::uint64_t fallback) {
  std::size_t at = text.find(key);
  if (at == std::string::npos) return fallback;
  at = text.find_first_of("0123456789", at + key.size());
  if (at == std::string::npos) return fallback;
  std::uint64_t value = fallback;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

/// Bytes left below the memory limit of this process's control group and the groups above it
/// (version 2); UINT64_MAX when none is set.
std::uint64_t group_room() {
  const auto self = read_file("/proc/self/cgroup");
  if (!self) return UINT64_MAX;
  const std::size_t at = self->find("0::");
  if (at == std::string::npos) return UINT64_MAX;
  fs::path group = "/sys/fs/cgroup" + self->substr(at + 3, self->find('\n', at) - at - 3);
  std::uint64_t room = UINT64_MAX;
  for (; group.string().size() > std::string_view("/sys/fs/cgroup").size();
       group = group.parent_path()) {
    const auto most = read_file(group / "memory.max"), used = read_file(group / "memory.current");
    if (!most || !used) continue;
    const std::uint64_t limit = number_after(*most, "", UINT64_MAX);
    const std::uint64_t now = number_after(*used, "", 0);
    if (limit != UINT64_MAX) room = std::min(room, limit > now ? limit - now : 0);
  }
  return room;
}

} // namespace

// Asked before reserving: the kernel would sooner end a process than refuse pages.
std::uint64_t memory_room() {
  const auto info = read_file("/proc/meminfo");
  std::uint64_t room = UINT64_MAX;
  if (info) {
    const std::uint64_t kib = number_after(*info, "MemAvailable:", UINT64_MAX / 1024);
    room = kib * 1024;
  }
  return std::min(room, group_room());
}

std::optional<std::uint64_t> memory_kills() {
  const auto counters = read_file("/proc/vmstat");
  constexpr std::string_view k_key = "\noom_kill ";
  if (!counters || counters->find(k_key) == std::string::npos) return std::nullopt;
  return number_after(*counters, k_key, 0);
}

Expected<UniqueFd> make_memfd(std::string_view name, std::size_t bytes) {
  const std::uint64_t room = memory_room();
  const auto short_of = [&](const char* why) {
    return fail(ErrorKind::environment, "not enough memory for a shared buffer",
                {.where = std::string(name),
                 .found = fmt::format("{} bytes wanted, {} available ({})", bytes, room, why),
                 .allowed = fmt::format("at most {} bytes", room - std::min(room, k_spare_bytes)),
                 .next = "use smaller shapes or free memory"});
  };
  if (room < k_spare_bytes || bytes > room - k_spare_bytes) return short_of("too large");

  UniqueFd fd(memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail_errno("no memory file could be made", std::string(name), errno);
  if (bytes > 0) {
    int error = 0;
    do {
      error = fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
    } while (error == EINTR);
    if (error == ENOSPC || error == ENOMEM) return short_of("refused by the kernel");
    if (error != 0) return fail_errno("memory could not be reserved", std::string(name), error);
  }
  // Whoever shares it must not be able to shrink it under the others' feet.
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail_errno("a memory file could not be sealed", std::string(name), errno);
  return fd;
}

} // namespace ako::base
