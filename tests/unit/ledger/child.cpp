#include "child.hpp"

#include <array>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::ledger::testing {

void say(int out, const std::string& text) {
  if (::write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(99);
}

ChildEnd in_child(const std::function<int(int out)>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::abort();
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    ::close(ends[0]);
    ::_exit(body(ends[1]));
  }
  ::close(ends[1]);
  ChildEnd end;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(ends[0], buffer.data(), buffer.size());
    if (got <= 0) break;
    end.said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return end;
}

} // namespace ako::ledger::testing
