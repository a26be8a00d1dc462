#include "base/unfinished.hpp"
#include "cli/command.hpp"
#include "cli/words.hpp"
#include "loop/archive.hpp"
#include "loop/session.hpp"
#include "report/html/page.hpp"
#include "report/markdown.hpp"
#include "report/trajectory.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {
namespace {

/// --into, or the task's own folder. One new folder may be made; a whole path of them is a slip.
base::Expected<std::filesystem::path> report_folder(const Arguments& arguments,
                                                    const loop::Session& session) {
  if (!arguments.has("into")) return session.workdir().task();
  std::error_code why;
  const std::filesystem::path named =
      std::filesystem::absolute(arguments.text("into"), why).lexically_normal();
  // "dir/" has an empty last part.
  const std::filesystem::path into = named.has_filename() ? named : named.parent_path();
  const auto kind = std::filesystem::status(into, why).type();
  using Type = std::filesystem::file_type;
  if (kind == Type::directory) return into;
  const bool parent = std::filesystem::is_directory(into.parent_path(), why);
  if (kind == Type::not_found && parent) return into;
  return base::fail(base::ErrorKind::usage, "there is no such folder to write the report into",
                    {.where = "--into",
                     .found = kind == Type::not_found ? "no " + into.parent_path().string()
                                                      : into.string() + " is no folder",
                     .allowed = "a folder, or a new one inside a folder that exists",
                     .next = "mkdir -p " + into.parent_path().string() + ", or name another"});
}

/// trajectory.jsonl and trajectory.svg instead of the report.
base::Expected<Reply> run_trajectory(ledger::Reader& reader, const std::filesystem::path& into) {
  AKO_TRY(const auto rows, report::trajectory(reader));
  const std::filesystem::path lines = into / "trajectory.jsonl", plot = into / "trajectory.svg";
  AKO_TRY_STATUS(base::write_file_atomic(lines, report::to_json_lines(rows)));
  Reply reply;
  reply.text = report::trajectory_table(rows);
  if (!rows.empty()) AKO_TRY_STATUS(base::write_file_atomic(plot, report::trajectory_svg(rows)));
  reply.text += fmt::format("{}\n{}\n", lines.string(), rows.empty() ? "" : plot.string());
  const auto iterations = std::count_if(
      rows.begin(), rows.end(), [](const report::TrajectoryRow& row) { return !row.closing; });
  reply.data = {{"iterations", iterations},
                {"turns", rows.empty() ? 0 : rows.back().turns},
                {"speedup", rows.empty() ? base::Json() : base::Json(rows.back().speedup)},
                {"wall_seconds", rows.empty() ? 0 : rows.back().wall_seconds},
                {"device_seconds", rows.empty() ? 0 : rows.back().device_seconds},
                {"money", rows.empty() ? 0 : rows.back().money},
                {"lines", lines.string()},
                {"plot", rows.empty() ? base::Json() : base::Json(plot.string())}};
  return reply;
}

base::Expected<Reply> run_report(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::record));
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const std::filesystem::path into, report_folder(arguments, session));
  base::sweep_unfinished(into);
  if (arguments.has("trajectory")) return run_trajectory(reader, into);
  AKO_TRY(report::Data data, report::collect(reader));
  AKO_TRY_STATUS(base::write_file_atomic(into / "report.md", report::report_md(data)));
  AKO_TRY_STATUS(base::write_file_atomic(into / "report.html", report::report_html(data)));
  Reply reply;
  say_whose_record(session, reply);
  base::Json claim;
  if (auto found = report::claim(data)) {
    reply.text += fmt::format("{:+.1f} % against the baseline {}, {}\n", 100 * found->verdict.gain,
                              interval_text(found->verdict.interval), found->label);
    claim = {{"gain", base::number_or_null(found->verdict.gain)},
             {"tried", found->tried},
             {"fresh", found->fresh},
             {"low", base::number_or_null(found->verdict.interval.low)},
             {"high", base::number_or_null(found->verdict.interval.high)},
             {"confirmed", found->confirmed}};
  } else {
    reply.text += "no win is on record\n";
  }
  for (const auto& line : report::untested(data)) reply.text += "not shown: " + line + "\n";
  reply.text +=
      fmt::format("{}\n{}\n", (into / "report.md").string(), (into / "report.html").string());
  base::Json archive;
  if (auto file = arguments.maybe("archive")) {
    const std::filesystem::path path = std::filesystem::absolute(*file);
    AKO_TRY(const base::Json manifest,
            loop::write_task_archive(session, path,
                                     {{"report.md", report::report_md(data)},
                                      {"report.html", report::report_html(data)}}));
    reply.text += path.string() + "\n";
    archive = {
        {"path", path.string()}, {"files", manifest["files"].size()}, {"head", manifest["head"]}};
  }
  reply.data = {{"claim", std::move(claim)},
                {"archive", std::move(archive)},
                {"untested", report::untested(data)},
                {"markdown", (into / "report.md").string()},
                {"html", (into / "report.html").string()}};
  return reply;
}

} // namespace

extern const Command k_report{
    "report",
    "report.md and a self-contained report.html from the record",
    "The hand-off: what was read, what was touched, how it was judged, the table against the\n"
    "baseline, what each iteration tried, why it is faster, and what is not shown. With --archive\n"
    "the whole record in one file that `ako verify --archive` checks on any machine. With\n"
    "--trajectory instead: best speed-up against iterations, wall time, device time and money, as\n"
    "JSON lines, a table and a plot.",
    {},
    {{"into", "DIR", "where the files go (default: the task folder)"},
     {"archive", "FILE", "write ledger, contract, sources and reports into this .tar.gz"},
     {"trajectory", "", "trajectory.jsonl, trajectory.svg and a table", Arity::flag}},
    {"ako report", "ako report --archive rmsnorm.tar.gz", "ako report --trajectory"},
    run_report};

} // namespace ako::cli
