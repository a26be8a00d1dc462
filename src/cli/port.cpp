#include "loop/port/port.hpp"
#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::cli {
namespace {

base::Expected<Reply> run_port(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  session.use_device(arguments.maybe("device"));
  AKO_TRY(const auto waive, persons_word(arguments, "waive"));
  AKO_TRY(const loop::PortResult result, loop::port_back(session, loop::PortRequest{waive}));
  Reply reply;
  if (result.again)
    reply.text = fmt::format("{} holds the incumbent already, commit {}\n", result.port.branch,
                             result.port.commit.substr(0, 12));
  else
    reply.text =
        fmt::format("branch {} in {}, commit {}\n  {}\npatch: {} files, applies to a clean "
                    "checkout of {}; the kernel in it is the one that was measured\n",
                    result.port.branch, result.port.repository, result.port.commit.substr(0, 12),
                    result.port.detail, result.patch.files.size(), result.base.substr(0, 12));
  if (result.moved)
    reply.text += "the target branch had moved: what was confirmed has to be again\n";
  if (!result.call_lines.empty())
    reply.text +=
        fmt::format("calls led to the dispatch: lines {}\n", fmt::join(result.call_lines, ", "));
  reply.text += "next: ako validate\n";
  if (auto file = arguments.maybe("patch")) {
    if (result.again)
      reply.warnings.emplace_back(
          "no patch was written: the branch stood already; ako show it with git");
    else AKO_TRY_STATUS(base::write_file_atomic(context.dir / *file, result.patch.text));
  }
  reply.warnings.insert(reply.warnings.end(), result.warnings.begin(), result.warnings.end());
  reply.data = {{"state", result.port.state},
                {"repository", result.port.repository},
                {"branch", result.port.branch},
                {"commit", result.port.commit},
                {"base", result.base},
                {"files", result.patch.files},
                {"patch", result.patch.hash},
                {"tree", result.tree.string()},
                {"proven", loop::text_of(result.proven)},
                {"again", result.again},
                {"moved", result.moved},
                {"call_lines", result.call_lines},
                {"seconds", result.seconds}};
  return reply;
}

} // namespace

extern const Command k_port{
    "port",
    "put the incumbent on a branch of the target repository, behind a switch",
    "Needs an incumbent with a second opinion and [port] in task.toml. In a private work tree the\n"
    "kernel and what leads to it become separate commits: a dispatch that takes the new kernel "
    "for\n"
    "the shapes, dtypes and alignments that were proven, and the old path otherwise or when the\n"
    "switch says so. The patch is tested on a clean checkout. Your files, index, stashes and "
    "branches\n"
    "stay as they are; a new branch ako/TASK is all that is added. Run it again when the target "
    "moved.",
    {},
    {{"patch", "FILE", "write the patch there as well"},
     {"device", "ID", k_device_help},
     {"waive", "WHY", "go on through a closed gate; stays visible in every report"}},
    {"ako port", "ako port --patch rmsnorm.patch", "ako port --json"},
    run_port};

} // namespace ako::cli
