#include "drive/leftovers.hpp"

#include "base/fd.hpp"
#include "base/fs.hpp"
#include "base/time.hpp"

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace ako::drive {
namespace {

constexpr int k_looks_until_killed = 50;

/// In the order of /proc: rising numbers, so that who was started meanwhile comes last.
std::vector<pid_t> processes() {
  std::vector<pid_t> out;
  std::error_code why;
  for (base::fs::directory_iterator walk("/proc", why), end; !why && walk != end;
       walk.increment(why)) {
    const std::string name = walk->path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(name[0]))) out.push_back(std::atoi(name.c_str()));
  }
  return out;
}

bool carries(pid_t pid, const std::string& token) {
  if (token.empty()) return false;
  base::UniqueFd file(::open(fmt::format("/proc/{}/environ", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  std::string text;
  char buffer[16u << 10];
  for (ssize_t got = 0; (got = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text.find("AKO_TURN_TOKEN=" + token) != std::string::npos;
}

/// Its parent; 0 when it is gone.
pid_t parent_of(pid_t pid) {
  auto stat = base::read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat) return 0;
  const std::size_t close = stat->rfind(')');
  if (close == std::string::npos || close + 4 >= stat->size()) return 0;
  return std::atoi(stat->c_str() + close + 4);
}

/// Stops whoever is not in `held` yet and adds it; whether there was anybody.
bool hold_more(const std::string& token, std::set<pid_t>& held) {
  const pid_t self = ::getpid();
  bool more = false;
  for (const pid_t pid : processes()) {
    if (pid == self || held.count(pid) != 0) continue;
    const pid_t parent = parent_of(pid);
    if (parent != self && held.count(parent) == 0 && !carries(pid, token)) continue;
    ::kill(pid, SIGSTOP);
    more |= held.insert(pid).second;
  }
  return more;
}

/// Whether no child is left, which below a subreaper means: nobody at all.
bool reap() {
  pid_t got = 0;
  while ((got = ::waitpid(-1, nullptr, WNOHANG | __WALL)) > 0) {
  }
  return got < 0 && errno == ECHILD;
}

} // namespace

Subreaper::Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
Subreaper::~Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); }

base::Expected<int> end_leftovers(const std::string& token, double seconds) {
  const auto deadline = base::Deadline::after_seconds(seconds);
  std::set<pid_t> all;
  reap(); // the dead are not left running
  for (;;) {
    std::set<pid_t> held;
    for (int look = 0; look < k_looks_until_killed && hold_more(token, held); ++look) {
    }
    for (const pid_t pid : held) ::kill(pid, SIGKILL);
    all.insert(held.begin(), held.end());
    if (reap() && held.empty()) return static_cast<int>(all.size());
    if (deadline.passed())
      return base::fail(base::ErrorKind::environment,
                        "processes that a turn started could not be ended",
                        {.where = fmt::format("processes {}", fmt::join(held, ", ")),
                         .found = fmt::format("still there after {:.0f} s of SIGKILL", seconds),
                         .allowed = "none: what they go on to edit cannot be judged",
                         .next = "end them by hand (they may be another user's, or wait for a "
                                 "device), then run the same command again: the turn is undone"});
    if (!held.empty()) ::usleep(2'000);
  }
}

} // namespace ako::drive
