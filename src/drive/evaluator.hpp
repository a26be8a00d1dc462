// What judges a turn's candidate: ako itself, or a fake in the tests.
#pragma once

#include "loop/try.hpp"

#include <memory>

namespace ako::drive {

struct Evaluated {
  std::int64_t iteration = 0;
  model::OutcomeKind outcome = model::OutcomeKind::undecided;
  model::Fault fault = model::Fault::none;
  model::Decision decision = model::Decision::revert;
  double seconds = 0, device_seconds = 0;
  bool stalled = false;
  std::string text;      ///< for the agent
  std::string no_commit; ///< why git took no commit of it; empty = it did
  /// Of several attempts: the first one's iteration, and what the last one took by itself.
  std::int64_t first_iteration = 0;
  double last_device_seconds = 0;
};

struct Spent {
  double seconds = 0, device_seconds = 0; ///< 0: nothing was due
};

class Evaluator {
public:
  virtual ~Evaluator() = default;
  /// As `ako try`: records an iteration and leaves solution/ as that leaves it. Kind invalid where
  /// there is nothing to try.
  virtual base::Expected<Evaluated> evaluate(const loop::Session& session,
                                             const loop::TryRequest& request) = 0;
  /// Supplies what can be supplied without a person: a check, a baseline, a first look.
  virtual base::Expected<Spent> prepare(const loop::Session& session) = 0;
};

/// The machine was at fault, not the candidate: nothing was judged.
bool machines_fault(model::OutcomeKind kind);

/// As evaluate(), up to three times while the machine is at fault. What all attempts took is added
/// up: it is all spent.
base::Expected<Evaluated> evaluate_patiently(Evaluator& evaluator, const loop::Session& session,
                                             const loop::TryRequest& request);

/// The real one. `write_texts` as for loop::try_candidate.
std::unique_ptr<Evaluator> real_evaluator(loop::TextWriter write_texts);

} // namespace ako::drive
