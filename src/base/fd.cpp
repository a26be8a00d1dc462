#include "base/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ako::base {

namespace {

/// SCM_MAX_FD of the kernel.
constexpr std::size_t k_most_fds = 253;

tl::unexpected<Error> late(const char* what) {
  return fail(ErrorKind::timeout, fmt::format("the deadline passed while {}", what));
}

/// Waits until `fd` is ready for `events` or has an error that the next call will show.
Status wait_ready(int fd, short events, Deadline deadline, const char* what) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, deadline.remaining_ms());
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR)
      return fail_errno(fmt::format("poll failed while {}", what), fmt::format("fd {}", fd), errno);
    if (ready == 0 && deadline.passed()) return late(what);
  }
}

/// write() that reports a closed pipe as EPIPE even where SIGPIPE would end the process: the signal
/// is held back in this thread and taken off its queue.
ssize_t write_without_sigpipe(int fd, const void* data, std::size_t bytes) {
  sigset_t pipe_only, before, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const ssize_t written = write(fd, data, bytes);
  const int saved = errno;
  if (written < 0 && saved == EPIPE && !was_pending) {
    const timespec now{};
    while (sigtimedwait(&pipe_only, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = saved;
  return written;
}

/// Writes some bytes without outlasting the poll before it: sockets are asked not to wait, and on
/// anything else at most PIPE_BUF bytes go at once, which a pipe that polls writable takes whole.
ssize_t write_some(int fd, std::span<const std::byte> bytes) {
  const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return write_without_sigpipe(fd, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

bool again(int error) { return error == EINTR || error == EAGAIN || error == EWOULDBLOCK; }

std::vector<UniqueFd> taken_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

} // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    m_fd = std::exchange(other.m_fd, -1);
  }
  return *this;
}

void UniqueFd::reset() {
  if (m_fd >= 0) close(m_fd); // not repeated on EINTR: Linux has released the number by then
  m_fd = -1;
}

Expected<FdPair> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("no pipe could be made", "", errno);
  return FdPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Expected<FdPair> make_socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_errno("no socket pair could be made", "", errno);
  return FdPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Status write_all(int fd, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    AKO_TRY_STATUS(wait_ready(fd, POLLOUT, deadline, "writing"));
    const ssize_t written = write_some(fd, bytes);
    if (written < 0) {
      if (again(errno)) continue;
      return fail_errno("writing failed", fmt::format("fd {}", fd), errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status read_all(int fd, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    AKO_TRY_STATUS(wait_ready(fd, POLLIN, deadline, "reading"));
    const ssize_t got = read(fd, bytes.data(), bytes.size());
    if (got == 0)
      return fail(ErrorKind::io, "the other end closed",
                  {.where = fmt::format("fd {}", fd),
                   .found = "end of stream",
                   .allowed = fmt::format("{} more bytes", bytes.size()),
                   .next = {}});
    if (got < 0) {
      if (again(errno)) continue;
      return fail_errno("reading failed", fmt::format("fd {}", fd), errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Status send_fds(int socket, std::span<const int> fds, Deadline deadline) {
  if (fds.empty() || fds.size() > k_most_fds)
    return fail(ErrorKind::invalid, "this many descriptors cannot be passed at once",
                {.where = {},
                 .found = std::to_string(fds.size()),
                 .allowed = fmt::format("1 to {}", k_most_fds),
                 .next = {}});
  alignas(cmsghdr) char control[CMSG_SPACE(k_most_fds * sizeof(int))] = {};
  char byte = 'f';
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  for (;;) {
    AKO_TRY_STATUS(wait_ready(socket, POLLOUT, deadline, "passing descriptors"));
    if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) return {};
    if (!again(errno))
      return fail_errno("passing descriptors failed", fmt::format("fd {}", socket), errno);
  }
}

Expected<std::vector<UniqueFd>> receive_fds(int socket, std::size_t most, Deadline deadline) {
  alignas(cmsghdr) char control[CMSG_SPACE(k_most_fds * sizeof(int))] = {};
  const std::string where = fmt::format("fd {}", socket);
  for (;;) {
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    AKO_TRY_STATUS(wait_ready(socket, POLLIN, deadline, "waiting for descriptors"));
    const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && again(errno)) continue;
    if (got < 0) return fail_errno("receiving descriptors failed", where, errno);
    auto fds = taken_fds(message); // owned before any check, so that none leaks
    if (got == 0)
      return fail(ErrorKind::io, "the other end closed",
                  {.where = where, .found = "end of stream", .allowed = {}, .next = {}});
    if (fds.empty() || fds.size() > most || (message.msg_flags & MSG_CTRUNC) != 0)
      return fail(ErrorKind::invalid, "not the descriptors that were expected",
                  {.where = where,
                   .found = fmt::format("{} descriptors", fds.size()),
                   .allowed = fmt::format("1 to {}", most),
                   .next = {}});
    return fds;
  }
}

} // namespace ako::base
