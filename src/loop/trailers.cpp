#include "loop/trailers.hpp"

#include "workspace/git.hpp"

#include <sstream>

namespace ako::loop {

base::Expected<std::vector<ledger::KnownHead>> heads_in_commits(const workspace::Workdir& workdir) {
  workspace::Git git(workdir.task());
  std::vector<ledger::KnownHead> out;
  workspace::Git::Call any;
  any.args = {"rev-parse", "--verify", "--quiet", "HEAD"};
  AKO_TRY(base::CommandResult head, git.try_run(any));
  if (!head.ok()) return out;
  AKO_TRY(std::string log,
          git.run({"log",
                   "--format=%h%x09%(trailers:key=Ako-Ledger-Head,valueonly,separator=%x2C)%x09%s",
                   "--", "."}));
  std::istringstream lines(log);
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos || second == first + 1) continue;
    out.push_back({line.substr(first + 1, second - first - 1),
                   "commit " + line.substr(0, first) + " " + line.substr(second + 1)});
  }
  return out;
}

} // namespace ako::loop
