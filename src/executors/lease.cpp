#include "executors/lease.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace ako::executors {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

constexpr std::int64_t k_poll_ns = 50'000'000;

/// Opens the lock file, which may belong to another user: no link is followed, and an existing file
/// is opened without O_CREAT, which sticky folders refuse for files of others.
Expected<int> open_lock(const base::fs::path& path) {
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int fd = open(path.c_str(), flags);
  if (fd < 0 && errno == ENOENT) {
    fd = open(path.c_str(), flags | O_CREAT | O_EXCL, 0666);
    if (fd >= 0) fchmod(fd, 0666); // the umask must not shut other users out
    else if (errno == EEXIST) fd = open(path.c_str(), flags);
  }
  if (fd < 0) return base::fail_errno("the measuring lock cannot be opened", path.string(), errno);
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return fail(ErrorKind::environment, "the measuring lock is no regular file",
                {.where = path.string(),
                 .found = "a special file",
                 .allowed = "a regular file, or none",
                 .next = "remove it, or set AKO_RUNTIME_DIR to a folder of your own"});
  }
  return fd;
}

/// "process 123 (ako try)" as the holder wrote it, or "another process".
std::string holder(int fd) {
  char text[128] = {};
  const ssize_t got = pread(fd, text, sizeof text - 1, 0);
  const auto length = got > 0 ? strcspn(text, "\n") : 0;
  return length > 0 ? std::string(text, length) : "another process";
}

void write_holder(int fd) {
  std::string command = program_invocation_short_name;
  for (char& c : command)
    if (c < ' ' || c > '~') c = '?';
  const std::string text = fmt::format("process {} ({})\n", getpid(), command.substr(0, 64));
  // Only for messages: a failure here changes nothing about who holds the lock.
  if (ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

enum class Attempt { taken, held };

Expected<Attempt> attempt(int fd, const base::fs::path& path) {
  int result = 0;
  do {
    result = flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return Attempt::taken;
  if (errno == EWOULDBLOCK) return Attempt::held;
  return base::fail_errno("the measuring lock cannot be taken", path.string(), errno);
}

void pause_until(const base::Deadline& deadline) {
  const std::int64_t ns = std::min(k_poll_ns, deadline.remaining_ns());
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&time, nullptr);
}

base::Status wait_for(int fd, const base::fs::path& path, const LeaseRequest& request) {
  for (bool told = false;;) {
    AKO_TRY(const Attempt now, attempt(fd, path));
    if (now == Attempt::taken) return {};
    if (request.stop && request.stop())
      return fail(ErrorKind::interrupted, "waiting for the device was given up",
                  {.where = path.string(), .found = holder(fd), .allowed = {}, .next = {}});
    if (request.deadline.passed())
      return fail(ErrorKind::timeout, "the device is in use for measuring by somebody else",
                  {.where = request.device,
                   .found = holder(fd),
                   .allowed = "one measuring process per device",
                   .next = "wait for it to end, then run the command again"});
    if (!told && request.on_wait)
      request.on_wait(
          fmt::format("waiting for {}: {} is measuring there", request.device, holder(fd)));
    told = true;
    pause_until(request.deadline);
  }
}

} // namespace

Expected<base::fs::path> runtime_dir() {
  const char* chosen = std::getenv("AKO_RUNTIME_DIR");
  const base::fs::path dir = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  std::error_code why;
  if (base::fs::is_directory(dir, why) && access(dir.c_str(), W_OK | X_OK) == 0) return dir;
  return fail(ErrorKind::environment, "no folder for the measuring lock",
              {.where = dir.string(),
               .found = why ? why.message() : "no folder, or it cannot be written",
               .allowed = "a folder that every user of this machine can write",
               .next = "set AKO_RUNTIME_DIR to one"});
}

Expected<Lease> Lease::take(const LeaseRequest& request) {
  base::fs::path dir = request.dir;
  if (dir.empty()) {
    AKO_TRY(dir, runtime_dir());
  }
  const base::fs::path path = dir / fmt::format("ako-measuring-{}.lock", request.device);
  const std::int64_t start = base::monotonic_ns();
  AKO_TRY(const int fd, open_lock(path));
  Lease lease; // owns the descriptor from here on
  lease.m_fd = fd;
  AKO_TRY_STATUS(wait_for(fd, path, request));
  write_holder(fd);
  lease.m_waited_ns = base::monotonic_ns() - start;
  return lease;
}

Lease::Lease(Lease&& other) noexcept
    : m_fd(std::exchange(other.m_fd, -1)), m_waited_ns(other.m_waited_ns) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    if (m_fd >= 0) close(m_fd);
    m_fd = std::exchange(other.m_fd, -1);
    m_waited_ns = other.m_waited_ns;
  }
  return *this;
}

Lease::~Lease() {
  if (m_fd >= 0) close(m_fd); // the lock goes with the open file
}

} // namespace ako::executors
