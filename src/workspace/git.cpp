#include "workspace/git.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

extern char** environ;

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

constexpr std::size_t k_capture_bytes = 256u << 20;

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
    return fail(ErrorKind::io, "git refused",
                {.where = fmt::format("git {} in {}", fmt::join(call.args, " "), m_folder.string()),
                 .found = said.empty() ? result.ending.text() : said.substr(0, 2000),
                 .allowed = "a git command that ends well",
                 .next = "run it there by hand and mend what git names"});
  }
  if (!result.out.empty() && result.out.back() == '\n') result.out.pop_back();
  return std::move(result.out);
}

} // namespace ako::workspace
