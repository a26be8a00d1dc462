// The keeper program: owns the buffers and marks, fills and checks them. Loads no candidate.
#pragma once

namespace ako::keeper {

/// Serves the channel until `quit` or its end; the exit code.
int run_keeper(int channel);

} // namespace ako::keeper
