// The seven things that whoever takes over is told, each from the record.
#pragma once

#include "report/data.hpp"

#include <string>

namespace ako::report {

/// "## Hand-off" with seven numbered items: reading, lane and files, correctness, figures, history,
/// explanation, risks. What is missing is said so.
std::string handoff_md(const Data& data);

} // namespace ako::report
