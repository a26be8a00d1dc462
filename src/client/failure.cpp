#include "client/failure.hpp"

namespace ako::client {

const char* to_string(FailureKind kind) {
  switch (kind) {
#define AKO_X(name)                                                                                \
  case FailureKind::name: return #name;
    AKO_FAILURES(AKO_X)
#undef AKO_X
  }
  return "unknown";
}

bool worker_lives_on(FailureKind kind) {
  return kind == FailureKind::returned_error || kind == FailureKind::threw ||
         kind == FailureKind::compile_failed || kind == FailureKind::load_failed ||
         kind == FailureKind::stale;
}

} // namespace ako::client
