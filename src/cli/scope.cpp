#include "profiles/scope.hpp"
#include "base/fs.hpp"
#include "cli/command.hpp"
#include "loop/session.hpp"
#include "loop/unknowns.hpp"
#include "model/contract_toml.hpp"
#include "profiles/calls.hpp"
#include "workspace/call_sites.hpp"

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
    return base::fail(
        base::ErrorKind::usage, "a trace or a stated share is needed",
        {.where = "ako scope",
         .found = arguments.has("trace") ? "both" : "neither",
         .allowed = "--trace FILE, --calls FILE, --sites REPO::SYMBOL, or --share PERCENT with "
                    "--source TEXT",
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

base::Json shapes_json(const profiles::CallShapes& found) {
  base::Json out = base::Json::array();
  for (const auto& shape : found.shapes) {
    base::Json axes = base::Json::object();
    for (const auto& [name, value] : shape.axes) axes[name] = value;
    for (const auto& [name, dtype] : shape.dtypes)
      axes[name] = std::string(model::to_string(dtype));
    out.push_back({{"tag", shape.tag}, {"axes", std::move(axes)}, {"weight", shape.weight}});
  }
  return out;
}

/// [[shape]] tables from what production was seen to call.
base::Expected<Reply> scope_calls(const Context& context, const Arguments& arguments) {
  AKO_TRY(const std::filesystem::path path, named_file(arguments.text("calls"), context.dir));
  AKO_TRY(const std::string text, base::read_file(path, 1u << 30));
  AKO_TRY(const auto calls, profiles::read_calls(text, path.string()));
  AKO_TRY(const std::int64_t rows, arguments.integer("rows", 16));
  const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(rows, 1, 10000));
  const std::string kernel = arguments.text("kernel");
  auto session = loop::Session::open(context.dir, loop::Need::contract);
  Reply reply;
  AKO_TRY(const profiles::CallShapes found,
          session ? profiles::shapes_of_calls(session->contract(), calls, kernel, most)
                  : profiles::draft_shapes(calls, kernel, most));
  reply.text = found.toml;
  if (!session)
    reply.warnings.push_back(
        "no contract that reads is here: sizes are named after their arguments");
  reply.text += fmt::format("# {} of {} recorded calls in {} shapes\n", found.covered, found.calls,
                            found.shapes.size());
  for (const auto& each : found.unknown) reply.text += "# still to be said: " + each + "\n";
  for (const auto& each : found.misfits) reply.text += "# left out: " + each + "\n";
  for (const auto& call : calls)
    for (const auto& argument : call.arguments)
      if (!argument.file.empty() &&
          reply.text.find(argument.name + "\": fill") == std::string::npos)
        reply.text +=
            fmt::format("# tensor \"{}\": fill = {{ kind = \"recorded\", file = \"input/{}\" }}\n",
                        argument.name, argument.file);
  if (auto file = arguments.maybe("into"))
    AKO_TRY_STATUS(base::write_file_atomic(context.dir / *file, found.toml));
  if (session &&
      session->standing().map([](const auto& s) { return s.events > 0; }).value_or(false)) {
    AKO_TRY(ledger::Writer writer, session->writer());
    AKO_TRY_STATUS(
        writer
            .append(ledger::Note{"finding",
                                 fmt::format("{} recorded calls of {}: {} shapes", found.calls,
                                             path.filename().string(), found.shapes.size()),
                                 "ako scope"},
                    {{"calls", text}})
            .map([](const auto&) {}));
  }
  reply.data = {{"shapes", shapes_json(found)},
                {"calls", found.calls},
                {"covered", found.covered},
                {"unknown", found.unknown},
                {"misfits", found.misfits}};
  return reply;
}

/// Definition, launchers and call sites of a symbol in the target.
base::Expected<Reply> scope_sites(const Context& context, const Arguments& arguments) {
  const std::string text = arguments.text("sites");
  const std::size_t mark = text.find("::");
  const std::string repository =
      mark == std::string::npos || mark == 0 ? "." : text.substr(0, mark);
  const std::string symbol = mark == std::string::npos ? text : text.substr(mark + 2);
  AKO_TRY(const auto sites, workspace::find_sites(context.dir / repository, symbol));
  Reply reply;
  base::Json list = base::Json::array();
  for (const auto& site : sites) {
    reply.text +=
        fmt::format("{:<11} {}:{}{}  {}\n", workspace::to_string(site.kind), site.file, site.line,
                    site.function.empty() ? "" : " in " + site.function, site.text);
    list.push_back({{"kind", workspace::to_string(site.kind)},
                    {"file", site.file},
                    {"line", site.line},
                    {"function", site.function},
                    {"text", site.text}});
  }
  reply.data = {{"symbol", symbol}, {"sites", std::move(list)}};
  return reply;
}

/// Why no library does this: on record, and in every report.
base::Expected<Reply> explain_library(const Context& context, const Arguments& arguments) {
  const std::string why = arguments.text("no-library");
  if (why.find_first_not_of(" \t\n") == std::string::npos)
    return base::fail(base::ErrorKind::usage, "the absence of a library needs a reason",
                      {.where = "ako scope --no-library",
                       .found = "nothing",
                       .allowed = "one sentence: what was looked at, and why it does not do this",
                       .next = "ako scope --no-library \"cuBLAS has no such epilogue\""});
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::record));
  AKO_TRY(ledger::Writer writer, session.writer());
  AKO_TRY_STATUS(
      writer.append(ledger::Note{loop::k_no_library, why, "user"}).map([](const auto&) {}));
  Reply reply;
  reply.text = "recorded: no library is a baseline: " + why + "\n";
  reply.data = {{"no_library", why}};
  return reply;
}

/// Nothing was asked: what is still unknown, by name.
base::Expected<Reply> ask(const loop::Session& session) {
  loop::ScopeFacts facts;
  AKO_TRY(const ledger::Standing standing, session.standing());
  if (standing.events > 0) {
    AKO_TRY(ledger::Reader reader, session.reader());
    AKO_TRY(facts, loop::scope_facts(reader));
  }
  Reply reply;
  base::Json list = base::Json::array();
  for (const auto& each : loop::unknowns(session.contract(), facts)) {
    reply.text += fmt::format("{}\n    {}\n", each.what, each.how);
    list.push_back({{"what", each.what}, {"how", each.how}});
  }
  if (reply.text.empty()) reply.text = "nothing that the scope asks for is unknown\n";
  reply.data = {{"unknown", std::move(list)}};
  return reply;
}

base::Expected<Reply> run_scope(const Context& context, const Arguments& arguments) {
  if (arguments.has("no-library")) return explain_library(context, arguments);
  if (!arguments.has("calls") && !arguments.has("sites") && !arguments.has("trace") &&
      !arguments.has("share"))
    if (const auto session = loop::Session::open(context.dir, loop::Need::contract))
      return ask(*session);
  if (arguments.has("calls")) return scope_calls(context, arguments);
  if (arguments.has("sites")) return scope_sites(context, arguments);
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
    "goes on record. --calls turns recorded calls (python/ako_record, include/ako/record.h) into\n"
    "[[shape]] tables with their weights; --sites finds a symbol's definition, launchers and\n"
    "callers. Without any of these, in a task: what is still unknown, by name.",
    {},
    {{"trace", "FILE", "the saved trace or report"},
     {"calls", "FILE", "recorded calls instead: shapes with weights for task.toml"},
     {"into", "FILE", "with --calls: write the [[shape]] tables there"},
     {"sites", "REPO::SYMBOL", "where a kernel is defined, launched, called and bound"},
     {"no-library", "WHY", "put on record why no library is among the baselines"},
     {"kernel", "TEXT", "prove it for kernels whose name holds this (default: the longest)"},
     {"share", "PERCENT", "instead of a trace: the kernel's stated share of the whole time"},
     {"source", "TEXT", "with --share: where that figure comes from"},
     {"hot-from", "PERCENT", "end-to-end gain at the limit that counts as hot (default 5)"},
     {"lane", "LANE", "only moves of this lane: cuda, cutlass, triton, cute-dsl"},
     {"rows", "N", "rows of each table (default 12)"}},
    {"ako scope", "ako scope --calls calls.jsonl", "ako scope --sites ../engine::rms_norm",
     "ako scope --trace trace.json.gz", "ako scope --trace run.sqlite --kernel rmsnorm --json",
     "ako scope --share 18 --source \"service dashboard, March\" --kernel rmsnorm"},
    run_scope};

} // namespace ako::cli
