#include "cli/command.hpp"
#include "cli/words.hpp"
#include "loop/session.hpp"
#include "report/text/tables.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ako::cli {
namespace {

std::size_t terminal_width() {
  winsize size = {};
  if (::isatty(1) && ::ioctl(1, TIOCGWINSZ, &size) == 0) return size.ws_col;
  return 0;
}

base::Json row_of_log(const ledger::IterationRow& row) {
  auto number = [](const std::optional<double>& value) {
    return value ? base::number_or_null(*value) : base::Json();
  };
  return {{"number", row.number},
          {"outcome", model::to_string(row.outcome)},
          {"decision", model::to_string(row.decision)},
          {"gain", number(row.gain)},
          {"low", number(row.low)},
          {"high", number(row.high)},
          {"baseline_gain", number(row.base_gain)},
          {"confirmed", row.confirmed},
          {"explore", row.explore == ledger::Explore::yes},
          {"hypothesis", row.hypothesis},
          {"lane", row.lane}};
}

base::Expected<Reply> run_log(const Context& context, const Arguments& arguments) {
  AKO_TRY(std::int64_t count, arguments.integer("count", 20));
  AKO_TRY(std::int64_t before, arguments.integer("before", 0));
  if (count < 1 || before < 0)
    return base::fail(base::ErrorKind::usage, "a page has at least one line",
                      {.where = "--count, --before",
                       .found = fmt::format("{}, {}", count, before),
                       .allowed = "1 or more; an iteration's number"});
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::record));
  AKO_TRY(ledger::Reader reader, session.reader());
  Reply reply;
  say_whose_record(session, reply);
  if (arguments.has("all") && !context.json) {
    // Streamed: the whole log never stands in memory.
    std::fputs(report::log_head(terminal_width()).c_str(), stdout);
    AKO_TRY_STATUS(reader.each_row([&](const ledger::IterationRow& row) -> base::Status {
      if (std::fputs(report::log_line(row, terminal_width()).c_str(), stdout) < 0)
        return base::fail_errno("could not write the log", "stdout", errno);
      return {};
    }));
    return reply;
  }
  AKO_TRY(ledger::Standing standing, reader.standing());
  if (arguments.has("all")) count = std::max<std::int64_t>(standing.iterations, 1);
  AKO_TRY(std::vector<ledger::IterationRow> rows, reader.page(count, before));
  reply.text = report::log_page(rows, standing.iterations, terminal_width());
  base::Json list = base::Json::array();
  for (const auto& row : rows) list.push_back(row_of_log(row));
  reply.data = {{"iterations", standing.iterations}, {"rows", std::move(list)}};
  return reply;
}

} // namespace

extern const Command k_log{"log",
                           "what was tried and how it ended",
                           "The last page of iterations; --all streams every one.",
                           {},
                           {{"count", "N", "lines of a page (default 20)"},
                            {"before", "NUMBER", "the page that ends before this iteration"},
                            {"all", "", "every iteration", Arity::flag}},
                           {"ako log", "ako log --before 40 --count 10", "ako log --all --json"},
                           run_log};

} // namespace ako::cli
