// How a worker can end, as a value that says what happened and carries what somebody else needs to
// see it too.
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"

#include <cstdint>
#include <string>

namespace ako::client {

// clang-format off
//      enumerator           what the parent saw
#define AKO_FAILURES(X)                                                                            \
  X(returned_error)     /* ako_call returned non-zero; the worker lives on                      */ \
  X(threw)              /* an exception left ako_call; the worker lives on                      */ \
  X(compile_failed)     /* the candidate's own compiler refused it while it ran; lives on        */ \
  X(load_failed)        /* dlopen or a missing symbol: the loader's words; the worker lives on  */ \
  X(stale)              /* the file to load has another hash than the spec; the worker lives on */ \
  X(crashed)            /* a signal, or a device fault; data.fault says where                  */ \
  X(exited)             /* exit(), _exit() or quick_exit() inside the candidate                 */ \
  X(hung)               /* the deadline passed on the parent's clock                            */ \
  X(violation)          /* bytes on the private channel that the worker cannot have sent        */ \
  X(output_flood)       /* printed more than the cap                                            */ \
  X(disk_filled)        /* wrote more than the cap into its private folder                      */ \
  X(too_many_threads)   /* ran more threads than the bound                                      */ \
  X(forbidden_call)     /* a system call that the sandbox does not allow                        */ \
  X(out_of_memory)      /* ended for want of memory that it took itself                         */ \
  X(environment)        /* not the candidate's doing: `error` says what                         */
// clang-format on

enum class FailureKind {
#define AKO_X(name) name,
  AKO_FAILURES(AKO_X)
#undef AKO_X
};
const char* to_string(FailureKind);

/// Whether the worker can be used further after this failure.
bool worker_lives_on(FailureKind);

/// What a worker answered instead of a value.
struct WorkerFailure {
  FailureKind kind = FailureKind::environment;
  std::string text; ///< one sentence: `called exit(0)`, `SIGSEGV writing 4 bytes past "out" ...`
  /// crashed: {signal, signal_name, code, address, ip, fault:{arena, zone: "buffer"|"red_zone"|
  /// "outside", tensor, set, offset}}; returned_error: {code, set}; violation: {bytes (hex), why};
  /// forbidden_call: {number, name}; output_flood: {bytes}; disk_filled: {bytes};
  /// too_many_threads: {threads}; load_failed: {loader}.
  base::Json data;
  std::string during; ///< the command in flight: "load", "call", "sample", ...
  base::Error error;  ///< environment only

  /// Kept output of the worker so far, the caps' worth of it.
  std::string out, err;
};

template <class T> using Answer = base::Result<T, WorkerFailure>;

} // namespace ako::client
