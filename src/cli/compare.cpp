#include "loop/compare.hpp"
#include "cli/command.hpp"
#include "cli/words.hpp"
#include "lanes/registry.hpp"
#include "model/enum_names.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

/// A type that means something, and only where there is a reference to have it.
base::Expected<std::string> precision_of(const Arguments& arguments) {
  const std::string text = arguments.text("precision", "native");
  const auto known = model::enum_list<model::ErrorPrecision>();
  if (!model::enum_from<model::ErrorPrecision>(text))
    return base::fail(base::ErrorKind::usage, "no such precision",
                      {.where = "--precision",
                       .found = text,
                       .allowed = known,
                       .next = "name one of them, or leave it out"});
  if (arguments.has("precision") && !arguments.has("reference"))
    return base::fail(base::ErrorKind::usage,
                      "a precision is the reference's, and none is named: the old file judges in "
                      "its own",
                      {.where = "--precision",
                       .found = "no --reference",
                       .allowed = "--reference FILE --precision TYPE",
                       .next = "name a reference, or leave --precision out"});
  return text;
}

base::Expected<Reply> run_compare(const Context& context, const Arguments& arguments) {
  loop::CompareRequest request;
  AKO_TRY(request.old_file, named_file(arguments.text("old"), context.dir));
  AKO_TRY(request.new_file, named_file(arguments.text("new"), context.dir));
  request.dir = context.dir;
  request.contract_line = arguments.maybe("contract");
  AKO_TRY(request.precision, precision_of(arguments));
  request.device = arguments.maybe("device");
  if (auto lane = arguments.maybe("lane")) {
    request.lane = model::lane_from(*lane);
    if (!request.lane)
      return base::fail(base::ErrorKind::usage, "no such lane",
                        {.where = "--lane",
                         .found = *lane,
                         .allowed = model::enum_list<model::Lane>(),
                         .next = "name one of them, or leave it out: the new file's name says it"});
  }
  if (auto reference = arguments.maybe("reference")) {
    AKO_TRY(request.reference, named_file(*reference, context.dir));
  }
  AKO_TRY(loop::CompareResult result, loop::compare_files(request));
  const model::Verdict& verdict = result.report.verdict;
  Reply reply;
  reply.outcome = verdict.outcome.kind;
  reply.fault = verdict.outcome.fault;
  reply.text = fmt::format("{}", model::to_string(verdict.outcome.kind));
  if (verdict.placements > 0) reply.text += "   gain " + gain_text(verdict);
  reply.text += fmt::format("\n{}\n{}", verdict.outcome.reason, verdict_table(verdict));
  if (verdict.placements > 0)
    reply.text += fmt::format("judged by {}; {}\n", result.judged_by, how_text(verdict));
  if (result.identical)
    reply.warnings.push_back("both files compile to the same binary: this compares it with itself");
  if (result.same_device_code)
    reply.warnings.push_back(
        "both files compile to the same device code: what differs is how it is "
        "launched, if anything");
  reply.text += lanes::resource_text(result.new_resources);
  reply.data = {{"old_resources", result.old_resources},
                {"new_resources", result.new_resources},
                {"same_device_code", result.same_device_code},
                {"verdict", model::to_json(verdict)},
                {"judged_by", result.judged_by},
                {"identical_binaries", result.identical},
                {"build_seconds", result.build_seconds},
                {"total_ns", result.report.phases.total_ns}};
  return reply;
}

} // namespace

extern const Command k_compare{
    "compare",
    "which of two files is faster, judged and measured",
    "Inside a task its contract serves. Elsewhere one line says what the function is called with:\n"
    "  name(tensor: [out|inout|static] dtype[extents], axis, scalar: dtype=value) @ axis=value "
    "...; "
    "...\n"
    "Without --reference the old file judges the new one, and the reply says so.",
    {{"old", "the file as it is"}, {"new", "the file that should be faster"}},
    {{"contract", "LINE", "what the function is called with, and at which shapes"},
     {"reference", "FILE", "a trusted implementation of the same function that judges both"},
     {"lane", "LANE", "cpu, cuda, ...; default: by the new file's name"},
     {"device", "ID", k_device_help},
     {"precision", "TYPE", "type of the reference's floating outputs: native, float32, float64"}},
    {"ako compare old.cu new.cu --contract \"scale(x: float32[N], y: out float32[N], N) @ "
     "N=16777216\"",
     "ako compare old.cpp new.cpp --contract \"scale(x: float32[N], y: out float32[N], N) @ "
     "N=1048576\"",
     "ako -C tasks/rmsnorm compare input/rmsnorm.cpp solution/rmsnorm.cpp"},
    run_compare};

} // namespace ako::cli
