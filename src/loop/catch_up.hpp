// What a kill between the record and the files left undone.
#pragma once

#include "loop/try.hpp"

namespace ako::loop {

/// Where the last iteration on record has no commit: writes the texts anew and commits them, and
/// them alone, under its number. solution/ stays as it is: whoever went on editing it after the
/// kill keeps that. Returns what to tell the user; empty where nothing was missing.
base::Expected<std::string> catch_up(const Session& session, ledger::Writer& writer,
                                     const TextWriter& write_texts);

} // namespace ako::loop
