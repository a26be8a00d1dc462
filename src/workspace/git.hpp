// git, driven as a command: clean environment, C locale, no hooks, no signing, no prompts, and no
// network but where a call asks for it. Nothing here resets, cleans, stashes or checks out. When
// ako is killed, the git that it runs goes on to its end, so that it leaves no lock behind; the
// next ako waits for it before it asks git anything there.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "model/build_plan.hpp"

#include <string>
#include <vector>

namespace ako::workspace {

class Git {
public:
  /// Commands run in `folder`. Without a runner: this machine.
  explicit Git(base::fs::path folder, model::CommandRunner runner = {});

  /// yes: the call may speak to a remote; who would be asked for a password fails instead.
  enum class Network { no, yes };

  struct Call {
    std::vector<std::string> args;
    std::string stdin_text;
    base::fs::path index; ///< GIT_INDEX_FILE; empty = the repository's own
    double deadline_seconds = 60;
    std::vector<std::string> environment; ///< added "K=V"
    Network network = Network::no;
  };

  /// How it ended and what it said; an Error only when git is missing, hangs or says more than 64
  /// MB.
  base::Expected<base::CommandResult> try_run(const Call& call) const;
  /// stdout without the last newline; a failure becomes an Error with git's own words in `found`.
  base::Expected<std::string> run(const Call& call) const;
  base::Expected<std::string> run(std::vector<std::string> args) const {
    return run(Call{.args = std::move(args), .stdin_text = {}, .index = {}, .environment = {}});
  }
  const base::fs::path& folder() const { return m_folder; }

private:
  base::fs::path m_folder;
  model::CommandRunner m_runner;
};

} // namespace ako::workspace
