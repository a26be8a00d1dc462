#include "base/error.hpp"

#include "base/bug.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ako::base {

const char* to_string(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::usage: return "usage";
  case ErrorKind::invalid: return "invalid";
  case ErrorKind::environment: return "environment";
  case ErrorKind::unsupported: return "unsupported";
  case ErrorKind::refused: return "refused";
  case ErrorKind::stale: return "stale";
  case ErrorKind::io: return "io";
  case ErrorKind::timeout: return "timeout";
  case ErrorKind::interrupted: return "interrupted";
  case ErrorKind::internal: return "internal";
  }
  return "internal";
}

std::string Error::text() const {
  std::string out = where.empty() ? message : where + ": " + message;
  if (!found.empty()) out += "; found: " + found;
  if (!allowed.empty()) out += "; allowed: " + allowed;
  if (!next.empty()) out += "; next: " + next;
  return out;
}

tl::unexpected<Error> fail(ErrorKind kind, std::string message, ErrorDetail detail) {
  return tl::unexpected(Error{kind, std::move(message), std::move(detail.where),
                              std::move(detail.found), std::move(detail.allowed),
                              std::move(detail.next)});
}

namespace {

/// What a user can do about it.
const char* remedy(int errno_value) {
  switch (errno_value) {
  case EACCES:
  case EPERM:
  case EROFS: return "give this user the right to it, or use another place";
  case ENOSPC:
  case EDQUOT: return "free some space, then run it again";
  case EFBIG: return "lift the limit on file sizes (ulimit -f), then run it again";
  case ENOENT:
  case ENOTDIR: return "check the path";
  case EMFILE:
  case ENFILE: return "lift the limit on open files (ulimit -n), then run it again";
  case ENOMEM: return "free some memory, then run it again";
  default: return "";
  }
}

} // namespace

tl::unexpected<Error> fail_errno(std::string message, std::string where, int errno_value) {
  return fail(ErrorKind::io, std::move(message),
              {.where = std::move(where),
               .found = std::strerror(errno_value),
               .allowed = {},
               .next = remedy(errno_value)});
}

namespace {

std::atomic<BugHook> g_bug_hook = nullptr;

} // namespace

void set_bug_hook(BugHook hook) { g_bug_hook = hook; }

void check_failed(const char* condition, const char* file, int line, const std::string& note) {
  if (const BugHook hook = g_bug_hook) hook({condition, file, line, note});
  std::fprintf(stderr, "ako: bug: %s:%d: %s does not hold: %s\n", file, line, condition,
               note.c_str());
  std::abort();
}

} // namespace ako::base
