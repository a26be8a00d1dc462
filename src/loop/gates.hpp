// What must be on record before a claim. Pure: facts in, closed gates out.
#pragma once

#include "base/error.hpp"
#include "base/hash.hpp"
#include "ledger/file_seen.hpp"
#include "ledger/queries.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

// clang-format off
//      enumerator         spelling
#define AKO_GATES(X)                                                                               \
  X(contract_proven,   "contract-proven")   /* ako check passed for this very contract          */ \
  X(reading,           "reading")           /* the guides that the task requires, as they are    */ \
  X(baseline,          "baseline")          /* measured for this contract on this machine        */ \
  X(direction,         "direction")         /* after a stall: a direction or another lane        */ \
  X(citation,          "citation")          /* the hypothesis names a guide or a finding         */ \
  X(clean_harness,     "clean-harness")     /* inside an AKO4ALL checkout: clean and at upstream */ \
  X(library_baseline,  "library-baseline")  /* the fastest known library, or why there is none   */ \
  X(second_opinion,    "second-opinion")    /* the incumbent was confirmed by fresh processes    */
// clang-format on

enum class Gate {
#define AKO_X(name, text) name,
  AKO_GATES(AKO_X)
#undef AKO_X
};
const char* to_string(Gate gate);

/// What a step's hypothesis says it rests on.
enum class Citation { not_asked, none, given };

/// What becomes a claim.
enum class Claim { baseline, iteration, port, report };

struct Facts {
  ledger::Standing standing;
  base::Hash contract;                                ///< of task.toml as it is now
  base::Hash environment;                             ///< identity of this machine as it is now
  bool self_test_passed = false;                      ///< the last one on record
  base::Hash self_test_contract;                      ///< it was about
  base::Hash baseline_contract, baseline_environment; ///< of the last baseline; empty = none
  base::Hash baseline;                                ///< its identity: hash of the fastest library
  /// Files that decide and are no longer what they were: "input/reference.cpp (reference)".
  std::vector<std::string> changed_since_check, changed_since_baseline;
  /// Records of an older ako do not say which files decided; new claims need to know.
  bool check_names_files = true, baseline_names_files = true;
  std::vector<ledger::FileSeen> proven;    ///< what the last check saw
  std::string baseline_compiler;           ///< that built the library whose hash `baseline` is
  bool direction_given = false;            ///< with this very step
  Citation citation = Citation::not_asked; ///< of this very step
  std::vector<std::string> unread, unread_for_port; ///< required guides, by name
  std::string reading_trouble; ///< why it is not known what must be read; empty = it is
  std::string library_trouble; ///< why no library is a baseline, unexplained; empty = explained
  std::string harness_trouble; ///< why the AKO4ALL checkout is not clean; empty = clean or none
};

struct ClosedGate {
  Gate gate = Gate::contract_proven;
  std::string missing; ///< one sentence
  std::string command; ///< the one that supplies it
};

std::vector<ClosedGate> closed_gates(Claim claim, const Facts& facts);

/// Why a gate is passed over although it is closed.
using Waivers = std::map<Gate, std::string>;
/// A person's one word: whatever is closed is waived with it.
Waivers waive_all(const std::vector<ClosedGate>& closed, const std::optional<std::string>& why);

/// Nothing, or kind refused for the first closed gate that is not waived.
base::Status pass(const std::vector<ClosedGate>& closed, const Waivers& waived);
/// With a person's one word.
base::Status pass(const std::vector<ClosedGate>& closed, const std::optional<std::string>& why);

} // namespace ako::loop
