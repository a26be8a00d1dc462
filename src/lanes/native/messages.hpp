// What compilers say, as values.
#pragma once

#include "lanes/native/shim.hpp"
#include "model/sources.hpp"

namespace ako::lanes::native {

/// Messages of gcc, clang, nvcc's front end and ptxas in text form. Paths below the stage become
/// task-relative; source_line is filled from `sources`. Notes are dropped; at most `most` messages,
/// errors first.
std::vector<model::CompilerMessage>
parse_messages(std::string_view text, const model::Sources& sources, std::size_t most = 50);

/// When the shim could not be compiled against the entry: the one sentence that says why, naming
/// entry, argument number, what the contract gives and what the function takes. Nothing when the
/// fault lies elsewhere.
std::optional<base::Error> explain_shim_error(std::string_view text, model::Lane lane,
                                              const model::Contract& contract, Role role,
                                              const model::EntryRef& entry,
                                              const model::Sources& sources);

/// Linker complaints ("undefined reference to ..."), first one.
std::optional<std::string> first_linker_error(std::string_view text);

} // namespace ako::lanes::native
