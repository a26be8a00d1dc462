// How an evaluation ended, and whose fault that is.
#pragma once

#include "base/json.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::model {

// clang-format off
//      enumerator             fault      exit code of `try`
#define AKO_OUTCOMES(X)                                \
  X(improved,            none,        0)               \
  X(equivalent,          none,       10)               \
  X(regressed,           none,       10)               \
  X(undecided,           none,       10)               \
  X(incorrect,           candidate,  11)               \
  X(suspect,             candidate,  12)               \
  X(build_failed,        candidate,  13)               \
  X(launch_failed,       candidate,  13)               \
  X(crashed,             candidate,  13)               \
  X(timeout,             candidate,  13)               \
  X(invalid_measurement, machine,    14)               \
  X(unsupported,         task,        3)               \
  X(task_error,          task,        2)               \
  X(environment,         machine,     3)               \
  X(stale,               machine,    14)               \
  X(interrupted,         none,      130)
// clang-format on

enum class OutcomeKind {
#define AKO_X(name, fault, code) name,
  AKO_OUTCOMES(AKO_X)
#undef AKO_X
};
enum class Fault { none, candidate, task, machine, ako };
enum class Decision { keep, revert, flag };

const char* to_string(OutcomeKind);
const char* to_string(Fault);
const char* to_string(Decision);
std::optional<OutcomeKind> outcome_from(std::string_view);
std::optional<Decision> decision_from(std::string_view);
Fault default_fault(OutcomeKind);
int exit_code(OutcomeKind);

/// Evidence is data that lets somebody else see the same: seed, shape, set, tensor, element,
/// values, counters.
struct Evidence {
  std::string
      guard; ///< "unwritten_elements", "red_zone", "changed_input", "compare", "stray_threads", ...
  std::string text;     ///< one sentence
  base::Json data;      ///< enough to replay it
  bool decisive = true; ///< false: a weak sign, raises scrutiny only
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::undecided;
  Fault fault = Fault::none;
  std::string reason; ///< one sentence with the numbers and the threshold that decided
  std::vector<Evidence> evidence;
};

base::Json to_json(const Outcome& outcome);
base::Expected<Outcome> outcome_from_json(const base::Json& json);

} // namespace ako::model
