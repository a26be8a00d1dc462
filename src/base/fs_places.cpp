// The rest of fs.hpp: where a path lies, temporary folders, locks.
#include "base/fd.hpp"
#include "base/fs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace ako::base {

namespace {

/// The path itself or the nearest folder above it that exists.
fs::path nearest_existing(const fs::path& path) {
  std::error_code ignored;
  fs::path at = fs::absolute(path, ignored);
  while (!fs::exists(at, ignored) && at != at.root_path()) at = at.parent_path();
  return at;
}

/// The process that took the lock last, as it wrote it into the file; empty when unknown.
std::string holder_of(int fd) {
  char text[24] = {};
  const ssize_t got = pread(fd, text, sizeof text - 1, 0);
  if (got <= 0) return {};
  const std::string pid(text, static_cast<std::size_t>(std::find(text, text + got, '\n') - text));
  return pid.find_first_not_of("0123456789") == std::string::npos ? pid : std::string();
}

} // namespace

std::uint64_t free_bytes(const fs::path& path) {
  struct statvfs info {};
  if (statvfs(nearest_existing(path).c_str(), &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

bool is_network_type(std::uint64_t type) {
  constexpr std::uint64_t k_types[] = {
      0x6969,     // NFS
      0x517b,     // SMB
      0xff534d42, // CIFS
      0xfe534d42, // SMB2
      0x01021997, // 9p
      0x65735546, // FUSE
      0x00c36400, // Ceph
      0x0bd00bd0, // Lustre
      0x47504653, // GPFS
      0x19830326, // BeeGFS
      0x5346414f, // OpenAFS
      0x6b414653, // kAFS
      0x73757245, // Coda
      0x564c,     // NCP
      0x7461636f, // OCFS2
      0x01161970, // GFS2
      0x786f4256, // VirtualBox shared folder
  };
  return std::find(std::begin(k_types), std::end(k_types), type & 0xffffffffu) != std::end(k_types);
}

bool on_network_file_system(const fs::path& path) {
  struct statfs info {};
  if (statfs(nearest_existing(path).c_str(), &info) != 0) return false;
  return is_network_type(static_cast<std::uint64_t>(info.f_type));
}

Expected<TemporaryDir> TemporaryDir::make(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = (base != nullptr && *base != '\0') ? base : "/tmp";
  pattern += fmt::format("/{}.XXXXXX", prefix);
  if (mkdtemp(pattern.data()) == nullptr)
    return fail(ErrorKind::environment, "no temporary folder could be made",
                {.where = pattern,
                 .found = std::error_code(errno, std::generic_category()).message(),
                 .allowed = {},
                 .next = "set TMPDIR to a folder that can be written"});
  TemporaryDir dir;
  dir.m_path = pattern;
  return dir;
}

TemporaryDir::TemporaryDir(TemporaryDir&& other) noexcept
    : m_path(std::exchange(other.m_path, fs::path())) {}

TemporaryDir& TemporaryDir::operator=(TemporaryDir&& other) noexcept {
  std::swap(m_path, other.m_path); // ours is removed with `other`
  return *this;
}

TemporaryDir::~TemporaryDir() {
  if (m_path.empty()) return;
  std::error_code ignored;
  fs::remove_all(m_path, ignored);
}

Expected<FileLock> FileLock::take(const fs::path& path, Wait wait) {
  if (path.has_parent_path()) AKO_TRY_STATUS(make_dirs(path.parent_path()));
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) return fail_errno("a lock file could not be opened", path.string(), errno);
  const int how = LOCK_EX | (wait == Wait::no ? LOCK_NB : 0);
  while (flock(fd.get(), how) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail_errno("a lock was refused", path.string(), errno);
    const std::string pid = holder_of(fd.get());
    return fail(ErrorKind::refused, "a lock is held by another process",
                {.where = path.string(),
                 .found = pid.empty() ? "an unknown process" : fmt::format("process {}", pid),
                 .allowed = {},
                 .next = "wait for it or end it"});
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(fd.get(), 0) == 0) {
    const ssize_t noted =
        pwrite(fd.get(), pid.data(), pid.size(), 0); // for the message above alone
    static_cast<void>(noted);
  }
  FileLock lock;
  lock.m_fd = fd.release();
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(m_fd, other.m_fd);
  return *this;
}

FileLock::~FileLock() {
  if (m_fd < 0) return;
  const int ignored = ftruncate(m_fd, 0);
  static_cast<void>(ignored);
  close(m_fd);
}

} // namespace ako::base
