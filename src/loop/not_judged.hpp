// What a contract declares and nothing here judges, or judges less well than it could.
#pragma once

#include "model/contract.hpp"

#include <string>
#include <vector>

namespace ako::loop {

/// One sentence for each: "kernel.batch_invariant is declared and not judged: ...". Pure.
std::vector<std::string> not_judged(const model::Contract& contract);

} // namespace ako::loop
