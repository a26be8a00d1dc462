#include "loop/cannot_judge.hpp"

#include "base/fs.hpp"
#include "model/toml_reader.hpp"

#include <fmt/format.h>

namespace ako::loop {

using base::Error;
using base::ErrorKind;
using FaultKind = judge::SelfTestFault::Kind;

namespace {

constexpr const char* k_again = ", then: ako check";

/// "task.toml:40 [tolerance]"; without that table the tensor that it is derived for.
std::string place_of_tolerance(const Judged& judged, const std::string& tensor) {
  const auto text = base::read_file(judged.task / "task.toml", model::k_most_toml_bytes);
  if (!text) return "task.toml [tolerance]";
  const auto root = model::read_toml(*text, "task.toml");
  if (!root) return "task.toml [tolerance]";
  if (const auto* given = root->member("tolerance"))
    return fmt::format("task.toml:{} [tolerance]", given->place.line);
  if (const auto* tensors = root->find("tensor"))
    for (const auto& each : tensors->items)
      if (const auto* name = each.find("name"); name && name->text == tensor)
        return fmt::format("task.toml:{} tensor {}", name->place.line, tensor);
  return "task.toml [[tensor]]";
}

bool tolerance_given(const model::Contract& contract) {
  const auto& given = contract.tolerance;
  return given.atol || given.rtol || given.matched_ratio;
}

std::string file_of_reference(const Judged& judged) { return judged.contract.reference.entry.file; }

std::string file_of_side(const Judged& judged, const std::string& side) {
  for (const auto& baseline : judged.contract.baselines)
    if (side == "baseline:" + baseline.name) return baseline.entry.file;
  return judged.contract.kernel.entry.file;
}

Error of_reference(const Judged& judged, const judge::SelfTestFault& fault) {
  const std::string file = file_of_reference(judged);
  return {ErrorKind::invalid,
          "the reference does not answer as a judge must",
          file,
          fault.text,
          "finite numbers, the same each time for the same inputs; infinity where the exact answer "
          "is infinite, NaN where its tensor says nan_meaningful",
          "correct " + file + k_again};
}

Error of_tolerance(const Judged& judged, const judge::SelfTestFault& fault) {
  return {ErrorKind::invalid,
          "the tolerance lets wrong answers pass",
          place_of_tolerance(judged, fault.tensor),
          fault.text,
          "a tolerance that every probe and every mutant fails",
          (tolerance_given(judged.contract)
               ? "make it smaller, or leave it out: it is then derived from the dtype and the sums"
               : "give its inputs a fill whose answers differ by more, or a [tolerance] of its "
                 "own") +
              std::string(k_again)};
}

Error of_inputs(const Judged& judged, const judge::SelfTestFault& fault) {
  const std::string file = file_of_reference(judged);
  return {ErrorKind::invalid,
          "there is nothing to tell a wrong answer by",
          file,
          fault.text,
          "a reference whose answer depends on its inputs, and inputs that vary",
          fmt::format("correct {}, or give the inputs another fill{}", file, k_again)};
}

Error of_honest(const Judged& judged, const judge::SelfTestFault& fault) {
  return {ErrorKind::invalid,
          "the tolerance refuses honest answers",
          place_of_tolerance(judged, fault.tensor),
          fault.text,
          "a tolerance that takes the right answer with the rounding errors of its sums",
          (tolerance_given(judged.contract)
               ? "make it larger, or leave it out: it is then derived from the dtype and the sums"
               : "name the length of the sums in tolerance.accumulate") +
              std::string(k_again)};
}

} // namespace

Error self_test_error(const Judged& judged, const judge::SelfTestReport& report) {
  AKO_CHECK(!report.faults.empty(), "a self-test without faults is no error");
  const auto& first = report.faults.front();
  Error error = first.kind == FaultKind::reference   ? of_reference(judged, first)
                : first.kind == FaultKind::tolerance ? of_tolerance(judged, first)
                : first.kind == FaultKind::inputs    ? of_inputs(judged, first)
                                                     : of_honest(judged, first);
  if (report.faults.size() > 1)
    error.found += fmt::format("; and {} more: ako check --all", report.faults.size() - 1);
  return error;
}

Error no_draw_error(const Judged& judged, const std::string& against,
                    const model::Outcome& outcome) {
  const std::string file = file_of_side(judged, against), reference = file_of_reference(judged);
  Error error{ErrorKind::invalid,
              against + " against itself is no draw",
              file,
              outcome.reason,
              "equivalent",
              {}};
  const bool timed = outcome.kind == model::OutcomeKind::improved ||
                     outcome.kind == model::OutcomeKind::regressed ||
                     outcome.kind == model::OutcomeKind::undecided;
  if (timed) {
    error.next = std::string("look at what makes its calls differ (ako check --verbose), raise "
                             "limits.placements") +
                 k_again;
    return error;
  }
  error.message = against + " does not agree with the reference";
  error.where = fmt::format("{} and {}", reference, file);
  error.allowed = "answers of both within the tolerance of task.toml";
  error.next = fmt::format("correct the one that is wrong{}", k_again);
  return error;
}

Error slow_down_error(const Judged& judged, const model::Outcome& outcome) {
  return {ErrorKind::invalid,
          "a planted slow-down of a quarter was not seen",
          judged.contract.kernel.entry.file,
          fmt::format("{}: {}", model::to_string(outcome.kind), outcome.reason),
          "regressed",
          std::string("give it larger shapes, or raise limits.placements and limits.pairs") +
              k_again};
}

Error canary_error(const Judged& judged, const std::string& path) {
  return {ErrorKind::invalid,
          "an edit that cannot compile was not noticed",
          path,
          "it builds with a line that no compiler takes",
          "sources that are compiled into what is measured",
          fmt::format("include it from {}, or take it out of kernel.sources{}",
                      judged.contract.kernel.entry.file, k_again)};
}

Error solution_error(const Judged& judged, Error error) {
  error.kind = ErrorKind::invalid;
  if (error.where.empty()) error.where = judged.contract.kernel.entry.file;
  if (error.allowed.empty()) error.allowed = "a solution/ that builds: what is judged starts there";
  error.next = (error.next.empty() ? "correct it" : error.next) + k_again;
  return error;
}

} // namespace ako::loop
