// ITERATIONS.md and context/<kernel>_notes.md: the record in the form that people read and
// complete. Pure: from query results to the text of the marked blocks.
#pragma once

#include "report/data.hpp"
#include "report/text/marked.hpp"

#include <string>
#include <vector>

namespace ako::report {

/// Blocks "baseline", "iterations" and "reading".
std::vector<Block> iterations_blocks(const Data& data);
std::string iterations_heading(const Data& data);

/// Blocks "contract", "findings" and "failed-attempts".
std::vector<Block> notes_blocks(const Data& data);
std::string notes_heading(const Data& data);

/// Both files brought up to date, what people wrote around the blocks kept; an unchanged file is
/// not written.
struct Texts {
  std::filesystem::path iterations, notes;
};
base::Status write_texts(const Data& data, const Texts& paths);

} // namespace ako::report
