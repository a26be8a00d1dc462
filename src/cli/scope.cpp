#include "profiles/scope.hpp"
#include "cli/command.hpp"
#include "loop/session.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<profiles::ScopeReport> look(const Context& context, const Arguments& arguments) {
  profiles::ScopeOptions options;
  options.kernel = arguments.text("kernel");
  options.lane = arguments.text("lane");
  AKO_TRY(double hot_from, arguments.number("hot-from", 5));
  options.hot_from = hot_from / 100;
  options.warm_from = std::min(options.warm_from, options.hot_from);
  if (arguments.has("trace") == arguments.has("share"))
    return base::fail(base::ErrorKind::usage, "a trace or a stated share is needed",
                      {.where = "ako scope",
                       .found = arguments.has("trace") ? "both" : "neither",
                       .allowed = "--trace FILE, or --share PERCENT with --source TEXT",
                       .next = "ako scope --trace FILE"});
  if (arguments.has("share")) {
    AKO_TRY(double share, arguments.number("share", 0));
    return profiles::scope_stated(share / 100, arguments.text("source"), options.kernel, options);
  }
  AKO_TRY(std::filesystem::path path, named_file(arguments.text("trace"), context.dir));
  return profiles::scope_file(path, options);
}

/// Inside a task the proof goes on record; elsewhere there is nothing to record it in.
base::Expected<bool> record(const Context& context, const Arguments& arguments,
                            const profiles::ScopeReport& report, const base::Json& data) {
  auto session = loop::Session::open(context.dir, loop::Need::record);
  if (!session || !report.hot) return false;
  AKO_TRY(ledger::Writer writer, session->writer());
  ledger::Profile event;
  event.tool = "scope";
  event.target = report.hot->kernel;
  event.summary = fmt::format(
      "{} is {}: {:.1f} % end to end at most ({})", report.hot->kernel,
      profiles::to_string(report.hot->heat), 100 * report.hot->gains.back().gain,
      report.whole == profiles::Whole::stated ? "stated: " + arguments.text("source")
                                              : report.source + " " + arguments.text("trace"));
  for (const auto& finding : report.findings)
    event.findings.push_back(
        fmt::format("{}: at most {:.0f} %", finding.id, 100 * finding.gain_bound));
  event.data = {{"hot", data["hot"]}, {"timeline", data["timeline"]}, {"source", data["source"]}};
  AKO_TRY_STATUS(writer.append(event, {{"scope", base::dump_json(data)}}).map([](const auto&) {}));
  return true;
}

base::Expected<Reply> run_scope(const Context& context, const Arguments& arguments) {
  AKO_TRY(profiles::ScopeReport report, look(context, arguments));
  AKO_TRY(std::int64_t rows, arguments.integer("rows", 12));
  Reply reply;
  reply.text =
      profiles::to_text(report, static_cast<std::size_t>(std::clamp<std::int64_t>(rows, 1, 10000)));
  reply.data = profiles::to_json(report);
  // The proof stands without a record of it: a task in no repository has none.
  auto recorded = record(context, arguments, report, reply.data);
  reply.data["recorded"] = recorded.value_or(false);
  if (!recorded) reply.warnings.push_back("not recorded: " + recorded.error().text());
  else if (*recorded) reply.text += "\nrecorded in this task's ledger\n";
  return reply;
}

} // namespace

extern const Command k_scope{
    "scope",
    "prove that a kernel is hot, and what it could win end to end",
    "Reads torch-profiler traces (JSON, gzip), nsys sqlite or CSV, ncu CSV; needs no GPU. Kernels\n"
    "by device time with launches, shares of busy and of wall time, gaps, copies and overlap;\n"
    "grouped by operator, phase and family; launchers and shapes with their counts; neighbours\n"
    "that invite fusion; the end-to-end gain that Amdahl's law allows. Inside a task the proof\n"
    "goes on record.",
    {},
    {{"trace", "FILE", "the saved trace or report"},
     {"kernel", "TEXT", "prove it for kernels whose name holds this (default: the longest)"},
     {"share", "PERCENT", "instead of a trace: the kernel's stated share of the whole time"},
     {"source", "TEXT", "with --share: where that figure comes from"},
     {"hot-from", "PERCENT", "end-to-end gain at the limit that counts as hot (default 5)"},
     {"lane", "LANE", "only moves of this lane: cuda, cutlass, triton, cute-dsl"},
     {"rows", "N", "rows of each table (default 12)"}},
    {"ako scope --trace trace.json.gz", "ako scope --trace run.sqlite --kernel rmsnorm --json",
     "ako scope --share 18 --source \"service dashboard, March\" --kernel rmsnorm"},
    run_scope};

} // namespace ako::cli
