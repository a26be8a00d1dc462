#include "loop/lane.hpp"
#include "cli/command.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<Reply> suggest(const Context& context) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  AKO_TRY(const loop::LaneFacts facts, loop::lane_facts(session));
  Reply reply;
  base::Json lanes = base::Json::array();
  for (const auto& each : loop::suggest_lanes(facts)) {
    reply.text += fmt::format("{}{}{}\n", model::to_string(each.lane),
                              each.lane == facts.contract->kernel.lane ? " (the task's)" : "",
                              each.usable ? "" : ", not usable here");
    for (const auto& reason : each.reasons_for) reply.text += "  + " + reason + "\n";
    for (const auto& reason : each.reasons_against) reply.text += "  - " + reason + "\n";
    lanes.push_back({{"lane", model::to_string(each.lane)},
                     {"usable", each.usable},
                     {"weight", each.weight},
                     {"for", each.reasons_for},
                     {"against", each.reasons_against}});
  }
  reply.data = {{"lane", model::to_string(facts.contract->kernel.lane)},
                {"lanes", std::move(lanes)}};
  return reply;
}

base::Expected<Reply> change(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  loop::LaneSwitch wanted;
  const auto lane = model::lane_from(arguments.text("lane"));
  const std::string entry = arguments.text("entry");
  const std::size_t mark = entry.find("::");
  if (!lane || mark == std::string::npos || !arguments.has("why"))
    return base::fail(
        base::ErrorKind::usage, "a lane, its entry and a reason are needed",
        {.where = "ako lane switch",
         .found = arguments.text("lane") + " " + entry,
         .allowed = "cuda, cutlass, triton, cute-dsl or cpu, --entry FILE::SYMBOL, --why TEXT",
         .next = "ako lane switch cuda --entry solution/k.cu::k --why \"...\""});
  wanted.lane = *lane;
  wanted.entry = {entry.substr(0, mark), entry.substr(mark + 2)};
  wanted.flags = arguments.all("flag");
  wanted.why = arguments.text("why");
  const std::string before = model::to_string(session.contract().kernel.lane);
  AKO_TRY_STATUS(loop::switch_lane(session, wanted));
  Reply reply;
  reply.text =
      fmt::format("the task goes on in lane {}; record, incumbent and numbers stay, and the "
                  "{} incumbent is what it has to beat\nnext: ako check, then ako baseline\n",
                  model::to_string(*lane), before);
  reply.data = {{"lane", model::to_string(*lane)}, {"before", before}, {"entry", entry}};
  return reply;
}

base::Expected<Reply> run_lane(const Context& context, const Arguments& arguments) {
  const std::string action = arguments.text("action");
  if (action == "suggest") return suggest(context);
  if (action == "switch") return change(context, arguments);
  return base::fail(base::ErrorKind::usage, "lane does one of two things",
                    {.where = "ako lane",
                     .found = action,
                     .allowed = "suggest, switch",
                     .next = "ako lane suggest"});
}

} // namespace

extern const Command k_lane{
    "lane",
    "which lane a kernel belongs in; changing it on purpose",
    "suggest weighs each lane for this contract, this machine, its callers and its record, with\n"
    "reasons for and against. switch changes [kernel] in task.toml and nothing else: the record "
    "goes\n"
    "on, and the old lane's incumbent is built in its own lane and has to be beaten.",
    {{"action", "suggest or switch"}, {"lane", "with switch: where to", Arity::one, false}},
    {{"entry", "FILE::SYMBOL", "with switch: the new lane's entry; the file is there already"},
     {"flag", "FLAG", "with switch: for the new compiler, several times", Arity::many},
     {"why", "TEXT", "with switch: the reason, for the record"}},
    {"ako lane suggest", "ako lane switch cuda --entry solution/k.cu::k --why \"the JIT's launches "
                         "cost more than it wins\""},
    run_lane};

} // namespace ako::cli
