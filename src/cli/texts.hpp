// ITERATIONS.md, the kernel's notes and the stand-alone microbench, written anew from the record.
#pragma once

#include "loop/session.hpp"

namespace ako::cli {

/// Text that people added outside the marked blocks survives.
base::Status write_texts(const loop::Session& session);

} // namespace ako::cli
