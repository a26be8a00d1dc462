#include "ledger/verify.hpp"
#include "cli/command.hpp"
#include "cli/words.hpp"
#include "loop/archive.hpp"
#include "loop/session.hpp"
#include "loop/trailers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {
namespace {

using Result = loop::Recomputed::Result;

base::Json json_of(const std::vector<loop::Recomputed>& verdicts) {
  base::Json out = base::Json::array();
  for (const auto& each : verdicts)
    out.push_back({{"what", each.what},
                   {"event", each.event},
                   {"result", each.result == Result::same        ? "same"
                              : each.result == Result::different ? "different"
                                                                 : "untimed"},
                   {"recorded", each.recorded},
                   {"found", each.found}});
  return out;
}

std::size_t count(const std::vector<loop::Recomputed>& verdicts, Result result) {
  return static_cast<std::size_t>(std::count_if(
      verdicts.begin(), verdicts.end(), [&](const auto& each) { return each.result == result; }));
}

base::Status rerun(const Arguments& arguments, const std::filesystem::path& archive, Reply& reply) {
  AKO_TRY(const loop::Rerun ran, loop::rerun_archive(archive, arguments.maybe("device")));
  reply.text += fmt::format("stated: {} against {} on {}\nnow:    {}\n{}\n", gain_text(ran.stated),
                            ran.stated.against, ran.device, gain_text(ran.now),
                            ran.landed ? "it lands in the stated interval"
                                       : "it does not land in the stated interval: " +
                                             ran.now.outcome.reason);
  reply.data["rerun"] = {{"iteration", ran.iteration},
                         {"device", ran.device},
                         {"stated", model::to_json(ran.stated)},
                         {"measured", model::to_json(ran.now)},
                         {"landed", ran.landed}};
  if (!ran.landed)
    reply.outcome = ran.now.outcome.fault == model::Fault::machine ? ran.now.outcome.kind
                                                                   : model::OutcomeKind::undecided;
  return {};
}

base::Expected<Reply> run_archive(const Context& context, const Arguments& arguments) {
  AKO_TRY(const std::filesystem::path archive, named_file(arguments.text("archive"), context.dir));
  AKO_TRY(const loop::ArchiveVerified found, loop::verify_archive(archive));
  if (!found.whole()) {
    std::string all;
    for (const auto& each : found.wrong) all += (all.empty() ? "" : "; ") + each;
    return base::fail(base::ErrorKind::stale, found.wrong.front(),
                      {.where = archive.string(),
                       .found = all,
                       .allowed = "what was written: each file, event, source and verdict",
                       .next = "fetch the archive again from where it came"});
  }
  Reply reply;
  reply.text =
      fmt::format("whole: {} files, {} events, {} samples; sources of {} iterations as recorded\n"
                  "{} verdicts worked out again from their raw samples: all the same; {} were not "
                  "timed\nhead {}\n",
                  found.files, found.ledger.events, found.ledger.samples, found.sources,
                  count(found.verdicts, Result::same), count(found.verdicts, Result::untimed),
                  found.ledger.head);
  reply.data = {{"task", base::get_or<std::string>(found.manifest, "task", "")},
                {"files", found.files},
                {"events", found.ledger.events},
                {"samples", found.ledger.samples},
                {"sources", found.sources},
                {"head", found.ledger.head},
                {"verdicts", json_of(found.verdicts)}};
  if (arguments.has("rerun")) AKO_TRY_STATUS(rerun(arguments, archive, reply));
  return reply;
}

base::Expected<Reply> run_verify(const Context& context, const Arguments& arguments) {
  if (arguments.has("archive")) return run_archive(context, arguments);
  if (arguments.has("rerun"))
    return base::fail(
        base::ErrorKind::usage, "only an archive can be run again",
        {.where = "--rerun",
         .found = "no --archive",
         .allowed = "--archive FILE --rerun",
         .next = "ako verify --archive FILE --rerun; in a task: ako show N --replay"});
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
  say_whose_record(session, reply);
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
                              "the task's commits is on the chain. With --archive, of a file that "
                              "`ako report --archive`\n"
                              "wrote: every file's hash, the sources of each iteration, and every "
                              "verdict worked out again\n"
                              "from its raw samples; --rerun also builds and measures the claim "
                              "here.",
                              {},
                              {{"archive", "FILE", "an archive instead of the task here"},
                               {"rerun", "", "measure its claim again on this device", Arity::flag},
                               {"device", "ID", k_device_help}},
                              {"ako verify", "ako -C tasks/rmsnorm verify --json",
                               "ako verify --archive rmsnorm.tar.gz --rerun"},
                              run_verify};

} // namespace ako::cli
