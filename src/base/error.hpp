// Errors as values. What can go wrong in the world is an Expected<T>; what can only be a bug is an
// AKO_CHECK.
#pragma once

#include "base/result.hpp"

#include <string>
#include <utility>

namespace ako::base {

/// Whose business an error is; the command line maps each to an exit code.
enum class ErrorKind {
  usage,       ///< the caller's words are off                                   exit 2
  invalid,     ///< a file or value that was given does not hold what it must    exit 2
  environment, ///< something outside is missing or broken: compiler, disk, ...  exit 3
  unsupported, ///< lawful, but not on this machine or by this build             exit 3
  refused,     ///< a condition that must be on record is not                    exit 4
  stale,       ///< what was measured, kept and loaded is not the same thing     exit 14
  io,          ///< reading or writing failed                                    exit 3
  timeout,     ///< a deadline passed                                            exit 3
  interrupted, ///< the user asked to stop                                       exit 130
  internal     ///< a bug in ako                                                 exit 70
};

const char* to_string(ErrorKind kind);

/// One message that says what was wrong, where, what is allowed and what to do next. Empty fields
/// are not shown.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message; ///< one sentence, no trailing full stop
  std::string where;   ///< file:line:column, key, path or command
  std::string found;   ///< what stood there
  std::string allowed; ///< what may stand there
  std::string next;    ///< the one thing to do

  /// All fields on one line, for logs and terminals.
  std::string text() const;
};

template <class T> using Expected = Result<T, Error>;
using Status = Expected<void>;

/// The fields of an Error after kind and message, named at the call: fail(kind, "...", {.where =
/// path}).
struct ErrorDetail {
  std::string where{}, found{}, allowed{}, next{};
};

tl::unexpected<Error> fail(ErrorKind kind, std::string message, ErrorDetail detail = {});

/// fail(io, ...) with strerror(errno_value) as `found` and what can be done about it as `next`.
tl::unexpected<Error> fail_errno(std::string message, std::string where, int errno_value);

/// Prints the failed condition and place to stderr and aborts: exit by SIGABRT, reported as a bug
/// in ako.
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& note);

} // namespace ako::base

#define AKO_CHECK(condition, note)                                                                 \
  do {                                                                                             \
    if (!(condition)) ::ako::base::check_failed(#condition, __FILE__, __LINE__, (note));           \
  } while (0)

#define AKO_JOIN2(a, b) a##b
#define AKO_JOIN(a, b) AKO_JOIN2(a, b)

/// AKO_TRY(auto value, expression): value, or return the error to the caller.
#define AKO_TRY(declaration, expression)                                                           \
  auto AKO_JOIN(ako_try_, __LINE__) = (expression);                                                \
  if (!AKO_JOIN(ako_try_, __LINE__))                                                               \
    return tl::unexpected(std::move(AKO_JOIN(ako_try_, __LINE__)).error());                        \
  declaration = std::move(*AKO_JOIN(ako_try_, __LINE__))

/// AKO_TRY_STATUS(expression): go on, or return the error to the caller.
#define AKO_TRY_STATUS(expression)                                                                 \
  do {                                                                                             \
    auto ako_try_status = (expression);                                                            \
    if (!ako_try_status) return tl::unexpected(std::move(ako_try_status).error());                 \
  } while (0)
