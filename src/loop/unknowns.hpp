// What a contract leaves open that a claim would rest on, each asked for by name. Pure, but for
// `scope_facts`, which reads the record.
#pragma once

#include "loop/session.hpp"
#include "model/contract.hpp"

#include <string>
#include <vector>

namespace ako::loop {

/// Topic of the note that says why no library is a baseline.
inline constexpr const char* k_no_library = "no_library";

struct ScopeFacts {
  bool hot = false;       ///< `ako scope --trace` or --share is on record
  bool recorded = false;  ///< recorded calls are
  std::string no_library; ///< why there is no library to compare with; empty = nobody said
};

struct Unknown {
  std::string what; ///< the question
  std::string how;  ///< the command or key that answers it
};

std::vector<Unknown> unknowns(const model::Contract& contract, const ScopeFacts& facts);

/// Why the fastest known library is no baseline, where nobody said so; empty = it is one, or its
/// absence is explained.
std::string library_trouble(const model::Contract& contract, const ScopeFacts& facts);

base::Expected<ScopeFacts> scope_facts(ledger::Reader& reader);

} // namespace ako::loop
