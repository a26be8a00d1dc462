// ako: parse, run one command, print its reply, exit with its code. The architecture in prose:
// ARCHITECTURE.md.
#include "ako_agents.hpp"

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/whole.hpp"
#include "loop/interrupt.hpp"

#include <cstdio>
#include <exception>
#include <string_view>

namespace {

using namespace ako;

void print_reply(const cli::Reply& reply) {
  std::fputs(reply.text.c_str(), stdout);
  for (const auto& warning : reply.warnings)
    std::fprintf(stderr, "ako: warning: %s\n", warning.c_str());
}

void print_error(const base::Error& error) {
  std::fprintf(stderr, "ako: %s%s%s\n", error.where.c_str(), error.where.empty() ? "" : ": ",
               error.message.c_str());
  if (!error.found.empty()) std::fprintf(stderr, "  found:   %s\n", error.found.c_str());
  if (!error.allowed.empty()) std::fprintf(stderr, "  allowed: %s\n", error.allowed.c_str());
  if (!error.next.empty()) std::fprintf(stderr, "  next:    %s\n", error.next.c_str());
}

int finish(const std::string& command, const base::Expected<cli::Reply>& reply, bool json) {
  int exit = 0;
  if (!reply) exit = cli::exit_code(reply.error());
  else if (reply->outcome) exit = model::exit_code(*reply->outcome);
  base::progress_done();
  if (json) std::printf("%s\n", base::dump_json(cli::envelope(command, reply, exit), 2).c_str());
  else if (reply) print_reply(*reply);
  else print_error(cli::whole(reply.error(), command));
  if (std::fflush(stdout) != 0 && exit == 0) return 3; // a result that nobody got is no success
  return exit;
}

int run(int argc, char** argv) {
  cli::add_commands(agent_commands());
  cli::Invocation invocation = cli::parse(argc, argv);
  if (invocation.error)
    return finish(invocation.command_name, tl::unexpected(*invocation.error),
                  invocation.context.json);
  if (!invocation.command) {
    std::fputs(invocation.print.c_str(), stdout);
    return 0;
  }
  base::set_log_level(invocation.verbosity < 0   ? base::LogLevel::quiet
                      : invocation.verbosity > 0 ? base::LogLevel::verbose
                                                 : base::LogLevel::normal);
  loop::install_interrupt_handler();
  return finish(invocation.command->name,
                invocation.command->run(invocation.context, invocation.arguments),
                invocation.context.json);
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    base::Error error{base::ErrorKind::internal,
                      std::string("a bug in ako: ") + problem.what(),
                      {},
                      {},
                      {},
                      "please report it with the command line and this message"};
    bool json = false;
    for (int i = 1; i < argc; ++i) json |= std::string_view(argv[i]) == "--json";
    return finish("", tl::unexpected(error), json);
  }
}
