#include "workspace/git.hpp"

#include "base/fd.hpp"
#include "base/time.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

constexpr std::size_t k_capture_bytes = 256u << 20;
constexpr double k_orphan_seconds = 20;
/// Git looks at 0, 1 and 2 alone.
constexpr int k_held_fd = 3;

/// The nearest folder upwards that has a .git; the folder itself when there is none.
base::fs::path checkout_of(const base::fs::path& folder) {
  std::error_code why;
  for (base::fs::path at = base::fs::absolute(folder, why);; at = at.parent_path()) {
    if (base::fs::exists(at / ".git", why)) return at;
    if (at == at.root_path() || at.empty()) return folder;
  }
}

/// Waits until no git runs in the checkout that an ako started which is gone: it could move a ref
/// after we have read it. Once for each checkout and process; our own commands never overlap.
void wait_for_orphans(const base::fs::path& checkout, int fd) {
  static std::mutex s_guard;
  static std::set<std::string> s_settled;
  static pid_t s_process = 0;
  const std::lock_guard hold(s_guard);
  // A forked process begins anew: what it inherits may be hours old.
  if (std::exchange(s_process, getpid()) != getpid()) s_settled.clear();
  if (!s_settled.insert(checkout.string()).second) return;
  const auto deadline = base::Deadline::after_seconds(k_orphan_seconds);
  while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && !deadline.passed()) {
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
}

/// A lock on the checkout's folder that a git process keeps until its own end, whatever becomes of
/// us; shared, so that several commands do not wait for one another.
base::UniqueFd held_by_git(const base::fs::path& folder) {
  const base::fs::path checkout = checkout_of(folder);
  base::UniqueFd fd(open(checkout.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fd; // git itself says what is wrong with the folder
  wait_for_orphans(checkout, fd.get());
  flock(fd.get(), LOCK_SH | LOCK_NB);
  return fd;
}

/// The user's environment without what would lead git elsewhere or make it talk to anybody.
std::vector<std::string> clean_environment(const Git::Call& call) {
  std::vector<std::string> list = {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
                                   "GIT_EDITOR=false", "GIT_PAGER=cat"};
  const bool network = call.network == Git::Network::yes;
  if (network) list.insert(list.end(), {"SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force"});
  else list.insert(list.end(), {"GIT_ALLOW_PROTOCOL=file", "GIT_NO_LAZY_FETCH=1"});
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool replaced = text.starts_with("GIT_") || text.starts_with("LC_") ||
                          text.starts_with("LANG") || text.starts_with("SSH_ASKPASS");
    const bool way = network && (text.starts_with("GIT_SSH") || text.starts_with("GIT_SSL") ||
                                 text.starts_with("GIT_PROXY"));
    if (!replaced || way) list.push_back(text);
  }
  if (!call.index.empty()) list.push_back("GIT_INDEX_FILE=" + call.index.string());
  list.insert(list.end(), call.environment.begin(), call.environment.end());
  return list;
}

} // namespace

Git::Git(base::fs::path folder, model::CommandRunner runner)
    : m_folder(std::move(folder)), m_runner(std::move(runner)) {
  if (!m_runner)
    m_runner = [](const base::CommandOptions& options) { return base::run_command(options); };
}

Expected<base::CommandResult> Git::try_run(const Call& call) const {
  base::CommandOptions options;
  options.argv = {"git",
                  "--no-pager",
                  "--literal-pathspecs",
                  "-c",
                  "core.hooksPath=/dev/null",
                  "-c",
                  "commit.gpgsign=false",
                  "-c",
                  "core.fsmonitor=false",
                  "-c",
                  "core.untrackedCache=keep",
                  "-c",
                  "core.safecrlf=false",
                  "-c",
                  "gc.auto=0",
                  "-c",
                  "maintenance.auto=false",
                  "-c",
                  "core.quotePath=false"};
  options.argv.insert(options.argv.end(), call.args.begin(), call.args.end());
  options.env = clean_environment(call);
  options.cwd = m_folder.string();
  options.deadline = base::Deadline::after_seconds(call.deadline_seconds);
  options.capture_bytes = k_capture_bytes;
  options.stdin_text = call.stdin_text;
  // A talk with a remote may be long and ends with us, its locks put away.
  const bool network = call.network == Network::yes;
  options.orphaned =
      network ? base::SpawnOptions::Orphaned::told : base::SpawnOptions::Orphaned::goes_on;
  const base::UniqueFd held = network ? base::UniqueFd() : held_by_git(m_folder);
  if (held) options.fds.emplace_back(held.get(), k_held_fd);
  auto result = m_runner(options);
  const std::string what = fmt::format("git {}", call.args.empty() ? "" : call.args[0]);
  if (!result) {
    base::Error error = std::move(result).error();
    error.message = "git could not be started: " + error.message;
    error.next = "install git (Debian, Ubuntu: apt install git)";
    return tl::unexpected(std::move(error));
  }
  if (result->timed_out)
    return fail(ErrorKind::timeout, "git did not finish",
                {.where = fmt::format("{} in {}", what, m_folder.string()),
                 .found = fmt::format("still running after {} s", call.deadline_seconds),
                 .allowed = {},
                 .next = "look what holds the repository, then try again"});
  if (result->out_dropped > 0)
    return fail(ErrorKind::invalid, "git said more than can be kept",
                {.where = what, .found = {}, .allowed = {}, .next = {}});
  return result;
}

Expected<std::string> Git::run(const Call& call) const {
  AKO_TRY(auto result, try_run(call));
  if (!result.ok()) {
    std::string said = result.err.empty() ? result.out : result.err;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    const bool locked = said.find(".lock': File exists") != std::string::npos;
    return fail(ErrorKind::io, "git refused",
                {.where = fmt::format("git {} in {}", fmt::join(call.args, " "), m_folder.string()),
                 .found = said.empty() ? result.ending.text() : said.substr(0, 2000),
                 .allowed = "a git command that ends well",
                 .next = locked ? "wait for the git command that holds it; when none runs there, "
                                  "remove the .lock file"
                                : "run it there by hand and mend what git names"});
  }
  if (!result.out.empty() && result.out.back() == '\n') result.out.pop_back();
  return std::move(result.out);
}

} // namespace ako::workspace
