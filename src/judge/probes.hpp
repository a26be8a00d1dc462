// Can this contract judge? Answers that must fail (probes: lazy answers; mutants: the right answer,
// damaged) are put to the comparison before any candidate is.
#pragma once

#include "inputs/recipe.hpp"
#include "judge/compare.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ako::judge {

// clang-format off
enum class Probe { zeros, ones, row_mean, copy_of_input, other_seed };
enum class Mutant {
  scaled_072, scaled_101, negated, row_zeroed, tile_wrong, last_element, short_sum, swapped_operands,
  truncated
};
// clang-format on
const char* to_string(Probe probe);
const char* to_string(Mutant mutant);
const std::vector<Probe>& all_probes();
const std::vector<Mutant>& all_mutants();
/// The recipe built to expose it, tried after the plain one.
inputs::Recipe recipe_for(Mutant mutant);
inputs::Recipe recipe_for(Probe probe);

/// What the reference is to be run on.
enum class InputChange { none, short_sum, swapped };
struct OracleCase {
  int shape = 0; ///< index into SelfTest::shapes
  inputs::Recipe recipe = inputs::Recipe::plain;
  std::uint64_t seed = 0;
  InputChange change = InputChange::none;
};
/// Contents of every contract tensor for that case: inputs in their own dtype; outputs as the
/// reference wrote them (reference precision). Index = contract order; workspace empty.
struct OracleAnswer {
  std::vector<std::vector<std::byte>> tensors;
};
/// Fills inputs by recipe and seed, applies change_inputs(), runs the reference.
using Oracle = std::function<base::Expected<OracleAnswer>(const OracleCase&)>;

/// Applies a change to filled inputs in place: `short_sum` zeroes the last 1 % (at least one) of
/// the longest axis of every floating input; `swapped` exchanges the contents of the first two
/// inputs of equal dtype and size (else transposes the first square one). False: nothing to change
/// here.
bool change_inputs(InputChange change, const model::ResolvedShape& shape,
                   std::span<const std::span<std::byte>> tensors);

/// Lazy answer in the candidate's dtype; empty when the probe does not exist here (copy_of_input
/// without an input of as many elements).
std::vector<std::byte> probe_answer(Probe probe, const model::ResolvedTensor& tensor,
                                    const TensorView& expected, std::span<const TensorView> inputs,
                                    const TensorView& other_seed);
/// The right answer rounded to the candidate's dtype, damaged. short_sum and swapped_operands take
/// `changed` (the reference's answer on changed inputs). Empty when it does not exist here.
std::vector<std::byte> mutant_answer(Mutant mutant, const model::ResolvedTensor& tensor,
                                     const TensorView& expected, const TensorView& changed);
/// The right answer rounded to nearest.
std::vector<std::byte> ideal_answer(const model::ResolvedTensor& tensor,
                                    const TensorView& expected);

struct SelfTest {
  const model::Contract* contract = nullptr;
  std::vector<model::ResolvedShape> shapes; ///< small ones are enough
  std::uint64_t seed = 1;
  Oracle oracle;
};

struct SelfTestLine {
  std::string name, tensor, shape; ///< probe or mutant, output, shape tag
  enum class Result { failed_as_it_must, passed, not_applicable } result = Result::passed;
  inputs::Recipe recipe = inputs::Recipe::plain; ///< the one that exposed it
  std::string detail;
};
struct SelfTestFault {
  /// reference: its answer is none to judge by. tolerance: lets a wrong answer pass. inputs: leave
  /// one answer only. honest: a right answer would fail.
  enum class Kind { reference, tolerance, inputs, honest } kind = Kind::reference;
  std::string tensor, text;
};
struct SelfTestReport {
  std::vector<SelfTestLine> lines;
  std::vector<inputs::Recipe> judged; ///< recipes that join the judged inputs, plain first
  /// Of them those that no probe and no mutant needs to be seen: a kernel may be wrong on them
  /// alone. They may leave again where a baseline cannot take them.
  std::vector<inputs::Recipe> extra;
  std::vector<SelfTestFault> faults; ///< empty = the contract can judge
  /// What it judges worse than its author may think: a set whose inputs have ties, inputs that
  /// never change.
  std::vector<std::string> warnings;
};

/// Puts every probe and mutant to the comparison on every shape, plain recipe first, then the one
/// built for it, then the others, until it fails. The recipe built for it joins also where plain
/// inputs show it: a kernel's fault is smaller than a mutant's. Gross damage must be seen by the
/// element rules alone (slope and bias off): a tolerance that lets zeros pass is not saved by
/// statistics. Faults: a probe or mutant that no recipe exposes, a right answer with the noise of
/// its sums that fails, a reference that gives NaN undeclared or differs between two runs. Errors
/// are the oracle's own.
base::Expected<SelfTestReport> self_test(const SelfTest& test);

/// Outcome task_error naming the first fault and how many more; nullopt when there is none.
std::optional<model::Outcome> outcome_of(const SelfTestReport& report);

} // namespace ako::judge
