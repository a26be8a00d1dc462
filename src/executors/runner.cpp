#include "executors/runner.hpp"

namespace ako::executors {

model::CommandRunner local_runner() {
  return [](const base::CommandOptions& options) { return base::run_command(options); };
}

} // namespace ako::executors
