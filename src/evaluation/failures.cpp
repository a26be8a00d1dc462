#include "evaluation/failures.hpp"

#include <fmt/format.h>

namespace ako::evaluation {
namespace {

model::OutcomeKind kind_of(client::FailureKind kind) {
  using F = client::FailureKind;
  using O = model::OutcomeKind;
  switch (kind) {
  case F::returned_error:
  case F::load_failed: return O::launch_failed;
  case F::compile_failed: return O::build_failed;
  case F::stale: return O::stale;
  case F::threw:
  case F::crashed:
  case F::exited:
  case F::output_flood:
  case F::disk_filled:
  case F::too_many_threads:
  case F::out_of_memory: return O::crashed;
  case F::hung: return O::timeout;
  case F::violation:
  case F::forbidden_call: return O::suspect;
  case F::environment: return O::environment;
  }
  return O::environment;
}

} // namespace

model::Outcome outcome_of(const client::WorkerFailure& failure, model::Side side,
                          const std::string& shape) {
  model::Outcome out;
  out.kind = kind_of(failure.kind);
  out.fault = model::default_fault(out.kind);
  std::string where = shape.empty() ? std::string("while loading") : "at shape " + shape;
  std::string text =
      failure.kind == client::FailureKind::environment ? failure.error.text() : failure.text;
  if (side != model::Side::candidate && failure.kind != client::FailureKind::environment) {
    out.kind = model::OutcomeKind::task_error;
    out.fault = model::Fault::task;
  }
  out.reason = fmt::format("{} {}: {}", model::to_string(side), where, text);
  base::Json data = {{"failure", client::to_string(failure.kind)},
                     {"during", failure.during},
                     {"shape", shape},
                     {"side", model::to_string(side)},
                     {"detail", failure.data}};
  if (!failure.out.empty()) data["stdout"] = failure.out;
  if (!failure.err.empty()) data["stderr"] = failure.err;
  out.evidence.push_back({"worker_ended", text, std::move(data), true});
  return out;
}

} // namespace ako::evaluation
