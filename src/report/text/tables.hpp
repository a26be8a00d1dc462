// What `ako log`, `ako show N` and `ako status` print. Pure: query results in, text out.
#pragma once

#include "report/data.hpp"

#include <string>
#include <vector>

namespace ako::report {

/// Head and lines of the log; each ends with a line break. `width`: columns of the terminal, 0 =
/// no cut.
std::string log_head(std::size_t width = 0);
std::string log_line(const ledger::IterationRow& row, std::size_t width = 0);
/// A page; says how to see what came before it.
std::string log_page(const std::vector<ledger::IterationRow>& rows, std::int64_t iterations,
                     std::size_t width = 0);

/// One iteration in full, with what its `evaluation` (the blob, as JSON) left out. `diff` may be
/// empty.
std::string show_iteration(const ledger::Recorded<ledger::Iteration>& recorded,
                           const base::Json& evaluation, const std::string& commit,
                           const std::string& diff);

/// What `status` adds to the standing: from the room that knows the gates.
struct StatusWords {
  std::string task;
  std::string stands, missing, command; ///< loop::Next
};
std::string status_text(const ledger::Standing& standing,
                        const std::optional<ledger::Baseline>& baseline, const StatusWords& words);

/// Hardware counters of one call per shape and side, as an evaluation recorded them
/// (evaluation/counted.hpp); empty where none were read.
std::string counted_text(const base::Json& counted);

/// Per-shape table of a verdict, aligned with spaces.
std::string shapes_text(const model::Verdict& verdict);

} // namespace ako::report
