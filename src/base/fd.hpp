// File descriptors that close themselves, and whole reads and writes on them.
#pragma once

#include "base/error.hpp"
#include "base/time.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ako::base {

/// Owns one descriptor; -1 is none.
class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : m_fd(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }
  int get() const { return m_fd; }
  int release() { return std::exchange(m_fd, -1); }
  void reset();
  explicit operator bool() const { return m_fd >= 0; }

private:
  int m_fd = -1;
};

struct FdPair {
  UniqueFd first, second;
};

Expected<FdPair> make_pipe();        ///< first reads, second writes; close-on-exec
Expected<FdPair> make_socket_pair(); ///< AF_UNIX stream; close-on-exec
/// Anonymous memory file of `bytes` zero bytes. Its pages are reserved, so that writing it later
/// cannot fault for lack of memory; error kind environment when there is not enough.
Expected<UniqueFd> make_memfd(std::string_view name, std::size_t bytes);

Status write_all(int fd, std::span<const std::byte> bytes, Deadline deadline);
/// Fills the span or fails; kind io with found "end of stream" when the other end closed.
Status read_all(int fd, std::span<std::byte> bytes, Deadline deadline);

/// Passes descriptors beside one byte over a unix socket (SCM_RIGHTS).
Status send_fds(int socket, std::span<const int> fds, Deadline deadline);
Expected<std::vector<UniqueFd>> receive_fds(int socket, std::size_t most, Deadline deadline);

} // namespace ako::base
