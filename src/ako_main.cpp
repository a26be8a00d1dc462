// ako: parse, run one command, print its reply, exit with its code. The architecture in prose:
// ARCHITECTURE.md.
#include "ako_agents.hpp"
#include "ako_bug.hpp"

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/whole.hpp"
#include "loop/interrupt.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <string_view>

namespace {

using namespace ako;

void print(std::FILE* to, const std::string& text) { std::fputs(cli::printable(text).c_str(), to); }

void print_reply(const cli::Reply& reply) {
  print(stdout, reply.text);
  for (const auto& warning : reply.warnings) print(stderr, "ako: warning: " + warning + "\n");
}

void print_error(const base::Error& error) {
  print(stderr, "ako: " + error.where + (error.where.empty() ? "" : ": ") + error.message + "\n");
  if (!error.found.empty()) print(stderr, "  found:   " + error.found + "\n");
  if (!error.allowed.empty()) print(stderr, "  allowed: " + error.allowed + "\n");
  if (!error.next.empty()) print(stderr, "  next:    " + error.next + "\n");
}

/// The exit code, once all that was said has gone out: a result that nobody got is no success. A
/// reader that went away needs no word.
int delivered(int exit) {
  errno = 0;
  const bool gone = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  const int why = errno;
  if (!gone) return exit;
  if (why != EPIPE)
    print_error({base::ErrorKind::io, "the answer could not be written", "standard output",
                 why != 0 ? std::strerror(why) : "an error of an earlier write",
                 "a place with room that can be written",
                 "make room or name another file, then ask again: what was done stays on record"});
  return exit != 0 ? exit : 3;
}

int finish(const std::string& command, const base::Expected<cli::Reply>& reply, bool json) {
  int exit = 0;
  if (!reply) exit = cli::exit_code(reply.error());
  else if (reply->outcome) exit = model::exit_code(*reply->outcome);
  base::progress_done();
  if (json) std::printf("%s\n", base::dump_json(cli::envelope(command, reply, exit), 2).c_str());
  else if (reply) print_reply(*reply);
  else print_error(cli::whole(reply.error(), command));
  return delivered(exit);
}

/// Whose words are answered, and how: for a bug that shows while they are carried out.
std::string g_command;
bool g_json = false;

int tell_bug(const base::Error& error) { return finish(g_command, tl::unexpected(error), g_json); }

/// A standard descriptor that the caller closed would be the next file that is opened, and what is
/// printed would go into that. In its place stands one that refuses.
void hold_standard_descriptors() {
  for (const int fd : {0, 1, 2})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int run(int argc, char** argv) {
  cli::add_commands(agent_commands());
  cli::Invocation invocation = cli::parse(argc, argv);
  g_command = invocation.command ? invocation.command->name : invocation.command_name;
  if (invocation.error)
    return finish(invocation.command_name, tl::unexpected(*invocation.error),
                  invocation.context.json);
  if (!invocation.command) {
    std::fputs(invocation.print.c_str(), stdout);
    return delivered(0);
  }
  base::set_log_level(invocation.verbosity < 0   ? base::LogLevel::quiet
                      : invocation.verbosity > 0 ? base::LogLevel::verbose
                                                 : base::LogLevel::normal);
  loop::install_interrupt_handler();
  break_on_purpose();
  return finish(invocation.command->name,
                invocation.command->run(invocation.context, invocation.arguments),
                invocation.context.json);
}

} // namespace

int main(int argc, char** argv) {
  hold_standard_descriptors();
  for (int i = 1; i < argc; ++i) g_json |= std::string_view(argv[i]) == "--json";
  end_by_bugs(tell_bug);
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    return tell_bug(bug_error(problem.what(), {}));
  }
}
