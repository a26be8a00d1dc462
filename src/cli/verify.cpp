#include "ledger/verify.hpp"
#include "cli/command.hpp"
#include "loop/session.hpp"
#include "loop/trailers.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<Reply> run_verify(const Context& context, const Arguments&) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::record));
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(std::vector<ledger::KnownHead> heads, loop::heads_in_commits(session.workdir()));
  AKO_TRY(ledger::Verified verified, ledger::verify(reader, heads));
  if (verified.broken)
    return base::fail(
        base::ErrorKind::stale, verified.broken->what,
        {.where = fmt::format("{} event {}", reader.path().string(), verified.broken->seq),
         .found = verified.broken->found,
         .allowed = verified.broken->expected,
         .next = "restore the ledger from an archive or another clone; nothing here "
                 "was changed"});
  Reply reply;
  reply.text =
      fmt::format("whole: {} events, {} blobs, {} samples; {} heads in commits are on the "
                  "chain\nhead {}\n",
                  verified.events, verified.blobs, verified.samples, verified.heads, verified.head);
  reply.warnings = verified.remarks;
  reply.data = {{"events", verified.events},   {"blobs", verified.blobs},
                {"samples", verified.samples}, {"heads", verified.heads},
                {"head", verified.head},       {"remarks", verified.remarks}};
  return reply;
}

} // namespace

extern const Command k_verify{"verify",
                              "show that nothing on record was changed or cut",
                              "Reads the whole ledger: the chain of hashes, every blob and sample, "
                              "and that each head hash in\n"
                              "the task's commits is on the chain.",
                              {},
                              {},
                              {"ako verify", "ako -C tasks/rmsnorm verify --json"},
                              run_verify};

} // namespace ako::cli
