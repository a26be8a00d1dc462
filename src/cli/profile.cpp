#include "loop/profile.hpp"
#include "cli/command.hpp"
#include "cli/texts.hpp"
#include "executors/runner.hpp"
#include "profiles/diagnose.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<loop::ProfileRequest> profile_request(const Arguments& arguments) {
  loop::ProfileRequest request;
  request.side = arguments.text("side", "solution");
  request.shape = arguments.text("shape");
  request.kernel = arguments.text("kernel");
  request.command = arguments.all("command");
  AKO_TRY(request.skip, arguments.integer("launch", 0));
  AKO_TRY(request.count, arguments.integer("count", request.command.empty() ? 32 : 1));
  AKO_TRY(request.seconds, arguments.number("seconds", 300));
  if (arguments.has("infer")) request.way = loop::ProfileRequest::Way::infer;
  if (request.skip >= 0 && request.count >= 1 && request.seconds > 0) return request;
  return base::fail(
      base::ErrorKind::usage, "launches are counted from 0, and at least one is taken",
      {.where = "--launch, --count, --seconds",
       .found = fmt::format("{}, {}, {:g}", request.skip, request.count, request.seconds),
       .allowed = "0 or more, 1 or more, above 0",
       .next = {}});
}

base::Json reply_data(const loop::Profiled& result) {
  base::Json data = model::to_json(result.report);
  data["side"] = result.side, data["shape"] = result.shape;
  data["basis"] = result.inferred ? "inference" : "counters";
  data["why_inferred"] = result.inferred ? base::Json(result.why_inferred) : base::Json();
  data["event"] = result.event;
  data["delta"] = result.delta ? profiles::to_json(*result.delta) : base::Json();
  data["against"] = result.against;
  if (result.capture)
    data["capture"] = {{"ncu", result.capture->ncu},
                       {"version", result.capture->version},
                       {"command", result.capture->command},
                       {"source_lines", !result.capture->source.empty()}};
  return data;
}

base::Expected<Reply> run_profile(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  AKO_TRY(loop::ProfileRequest request, profile_request(arguments));
  AKO_TRY(loop::Profiled result, loop::profile(session, request, executors::local_runner()));
  Reply reply;
  reply.warnings = result.warnings;
  reply.text =
      fmt::format("{}, shape {}{}\n", result.side, result.shape,
                  result.inferred ? "\nINFERENCE, no counter was read: " + result.why_inferred
                                  : ", ncu " + result.capture->version);
  if (result.delta)
    reply.text += "\nsince " + result.against + "\n" + profiles::to_text(*result.delta) + "\n";
  reply.text += profiles::to_text(result.report);
  reply.text += fmt::format("recorded as event {}\n", result.event);
  reply.data = reply_data(result);
  AKO_TRY_STATUS(write_texts(session));
  return reply;
}

} // namespace

extern const Command k_profile{
    "profile",
    "capture the task's kernel with Nsight Compute, name its limit, put both on record",
    "Launches one call at the hottest shape by itself (fresh inputs, warmed up, no gate, no "
    "clock),\n"
    "lets ncu replay each of its kernels with the data restored, and diagnoses them. What moved\n"
    "since the last capture of that shape is shown and recorded. Where ncu is missing or refused,\n"
    "the answer is inferred from the compiler's report, measured times and ceilings, and says so.",
    {{"command", "a command to profile instead, behind --", Arity::many, false}},
    {{"side", "SIDE", "solution (default), incumbent or baseline:NAME"},
     {"shape", "TAG", "a shape of the contract (default: the one with most production time)"},
     {"kernel", "TEXT", "only kernels whose name holds this"},
     {"launch", "N", "matching launches to let pass first (default 0)"},
     {"count", "N", "launches to profile (default: all of one call, or 1 of a command)"},
     {"seconds", "S", "how long ncu may take (default 300)"},
     {"infer", "", "do not start a profiler: infer", Arity::flag}},
    {"ako profile", "ako profile --side incumbent --shape decode",
     "ako profile --kernel rms_norm --launch 3 -- python serve_once.py",
     "ako profile --infer --json"},
    run_profile};

} // namespace ako::cli
