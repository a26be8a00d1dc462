// How long `ako status` and `ako log` read on a large ledger, and how much memory they need.
//
//   bench_ledger [ITERATIONS [RUNS [FOLDER]]]       100000 iterations, 21 runs, a temporary folder
//
// The commands themselves are measured by commands.py beside this file, which has the ledger made
// with RUNS 0: FOLDER/ledger.sqlite stays and nothing is asked. Each run is a fresh process that
// opens the ledger, asks and prints, as the commands do. One TSV line per question.
#include "base/fs.hpp"
#include "base/time.hpp"
#include "ledger/rows.hpp"
#include "ledger/verify.hpp"
#include "ledger/writer.hpp"
#include "report/text/tables.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace ako;
using base::Status;

constexpr double k_allowed_ms = 50, k_allowed_mb = 60;

/// As an evaluation of three shapes would record it; one in fifty improves and is kept.
ledger::Iteration iteration(std::int64_t number) {
  ledger::Iteration it;
  it.number = number;
  it.hypothesis =
      fmt::format("attempt {}: unroll by {} so that loads overlap the sums", number, number % 9);
  it.prediction = "2 to 4 % on the large shapes";
  it.change = "1 file changed, 12 insertions(+), 7 deletions(-)";
  it.lane = "cpu";
  it.snapshot = {base::sha256(std::to_string(number)),
                 "0123456789012345678901234567890123456789",
                 {{"solution/rmsnorm.cpp", base::sha256("s"), 2345}}};
  const bool better = number % 50 == 0, wrong = number % 7 == 0;
  const double gain = better ? 0.03 : -0.001 * static_cast<double>(number % 11);
  it.verdict.outcome.kind = better  ? model::OutcomeKind::improved
                            : wrong ? model::OutcomeKind::incorrect
                                    : model::OutcomeKind::equivalent;
  it.verdict.outcome.reason = "the interval stays below the least gain of 2 %";
  it.verdict.gain = gain;
  it.verdict.interval = {gain - 0.004, gain + 0.004};
  for (const char* tag : {"decode", "prefill", "tail"})
    it.verdict.shapes.push_back(
        {tag, 10, 1000, 1000 * (1 - gain), gain, {gain - 0.01, gain + 0.01}, 0, true});
  it.verdict.against = "incumbent";
  it.verdict.clock = "host";
  it.verdict.cache = "cold-clean";
  it.verdict.statistic = "mean of log ratios over placements";
  it.decision = better ? model::Decision::keep : model::Decision::revert;
  it.decision_reason = "as measured";
  return it;
}

/// Whole events with hashes, each iteration with its commit, in one transaction: the same rows as
/// the writer makes, without a hundred thousand syncs.
Status generate(const base::fs::path& path, std::int64_t count) {
  AKO_TRY(const ledger::Writer made, ledger::Writer::open(path, ledger::Open::create));
  AKO_TRY(base::Database db, base::Database::open(path, base::Database::Mode::read_write));
  AKO_TRY(base::Transaction all, base::Transaction::begin(db));
  AKO_TRY(base::Statement insert, db.prepare("INSERT INTO event VALUES(?,?,?,?,?,?)"));
  AKO_TRY(base::Statement sample, db.prepare("INSERT INTO sample VALUES(?,0,?,?,?,0,?,NULL,1,0)"));
  AKO_TRY(base::Statement first, db.prepare("SELECT id FROM origin"));
  AKO_TRY(const bool any, first.step());
  std::string prev = any ? first.text(0) : "";
  first.reset();
  std::string lane;
  std::int64_t seq = 0;
  const auto add = [&](const char* kind, const base::Json& json) -> Status {
    const std::string text = base::dump_json(json);
    ++seq;
    const std::string hash = ledger::event_hash(seq, prev, seq, kind, text);
    insert.bind(1, seq).bind(2, std::string_view(prev)).bind(3, std::string_view(hash));
    insert.bind(4, seq).bind(5, std::string_view(kind)).bind(6, std::string_view(text));
    prev = hash;
    return insert.run();
  };
  for (std::int64_t number = 1; number <= count; ++number) {
    const ledger::Iteration it = iteration(number);
    std::vector<model::Sample> rows(4);
    for (int i = 0; i < 4; ++i) {
      rows[i].placement = i / 2;
      rows[i].pair = i / 2;
      rows[i].side = i % 2 ? model::Side::candidate : model::Side::incumbent;
      rows[i].device_ns = 1000 + i;
      rows[i].call_ns = std::numeric_limits<double>::quiet_NaN();
      sample.bind(1, seq + 1).bind(2, std::int64_t{i / 2}).bind(3, std::int64_t{i / 2});
      sample.bind(4, static_cast<std::int64_t>(rows[i].side)).bind(5, rows[i].device_ns);
      AKO_TRY_STATUS(sample.run());
    }
    base::Json json = to_json(it);
    json["samples"] = {{"rows", rows.size()}, {"hash", ledger::sample_hash(rows)}};
    AKO_TRY_STATUS(add("iteration", json));
    const ledger::IterationRow row = ledger::row_of(it, seq, seq);
    AKO_TRY_STATUS(ledger::insert_row(db, row, ledger::row_start(row, lane)));
    lane = row.lane;
    const ledger::Committed committed{number, base::sha256(prev).substr(0, 40), prev};
    AKO_TRY_STATUS(add("committed", ledger::to_json(committed)));
  }
  return all.commit();
}

Status status_of(const base::fs::path& path) {
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  AKO_TRY(const ledger::Standing standing, reader.standing());
  AKO_TRY(const auto baseline, reader.last<ledger::Baseline>());
  std::fputs(
      report::status_text(standing, baseline ? std::optional(baseline->payload) : std::nullopt, {})
          .c_str(),
      stdout);
  return {};
}

Status log(const base::fs::path& path) {
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  AKO_TRY(const ledger::Standing standing, reader.standing());
  AKO_TRY(const auto rows, reader.page(20));
  std::fputs(report::log_page(rows, standing.iterations, 120).c_str(), stdout);
  return {};
}

Status log_all(const base::fs::path& path) {
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  return reader.each_row([](const ledger::IterationRow& row) -> Status {
    std::fputs(report::log_line(row, 120).c_str(), stdout);
    return {};
  });
}

Status show(const base::fs::path& path) {
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  AKO_TRY(const auto recorded, reader.iteration(77));
  AKO_TRY(const std::string commit, reader.commit_of(77));
  if (recorded)
    std::fputs(report::show_iteration(*recorded, base::Json::object(), commit, "").c_str(), stdout);
  return {};
}

Status verify_all(const base::fs::path& path) {
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(path));
  AKO_TRY(const ledger::Verified result, ledger::verify(reader, {}));
  if (result.broken) return base::fail(base::ErrorKind::invalid, result.broken->what);
  std::printf("%lld events\n", static_cast<long long>(result.events));
  return {};
}

int ask(const std::string& what, const base::fs::path& path) {
  const Status done = what == "status"    ? status_of(path)
                      : what == "log"     ? log(path)
                      : what == "log-all" ? log_all(path)
                      : what == "show"    ? show(path)
                                          : verify_all(path);
  if (!done) std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return done ? 0 : 1;
}

struct Cost {
  double ms = 0, mb = 0;
};

/// Start of the process to its end; its answer goes to a file and must not be empty.
Cost measure(const char* self, const std::string& what, const base::fs::path& path) {
  const base::fs::path answer = path.parent_path() / "answer";
  const std::int64_t start = base::monotonic_ns();
  const pid_t child = ::fork();
  if (child == 0) {
    const int out = ::open(answer.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out, 1);
    ::execl(self, self, "--ask", what.c_str(), path.c_str(), nullptr);
    ::_exit(127);
  }
  int ended = 0;
  rusage used{};
  ::wait4(child, &ended, 0, &used);
  const Cost cost{static_cast<double>(base::monotonic_ns() - start) / 1e6,
                  static_cast<double>(used.ru_maxrss) / 1024};
  std::error_code error;
  if (ended != 0 || std::filesystem::file_size(answer, error) == 0) {
    std::fprintf(stderr, "%s gave no answer\n", what.c_str());
    std::exit(1);
  }
  return cost;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--ask") return ask(argv[2], argv[3]);
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 100000;
  const int runs = argc > 2 ? std::max(0, std::atoi(argv[2])) : 21;
  auto folder = base::TemporaryDir::make("ako-bench-ledger");
  if (!folder) return 1;
  const base::fs::path path =
      (argc > 3 ? base::fs::path(argv[3]) : folder->path()) / "ledger.sqlite";
  const std::int64_t start = base::monotonic_ns();
  if (const Status made = generate(path, count); !made) {
    std::fprintf(stderr, "%s\n", made.error().text().c_str());
    return 1;
  }
  std::fprintf(stderr, "%lld iterations, %.0f MB, made in %.1f s\n", static_cast<long long>(count),
               static_cast<double>(std::filesystem::file_size(path)) / 1e6,
               static_cast<double>(base::monotonic_ns() - start) / 1e9);
  if (runs == 0) return 0;
  bool met = true;
  std::printf(
      "question\titerations\truns\tmedian_ms\tworst_ms\tpeak_rss_mb\tallowed_ms\tallowed_mb\n");
  for (const std::string what : {"status", "log", "show", "log-all", "verify"}) {
    const bool bounded = what == "status" || what == "log";
    std::vector<double> times;
    double memory = 0;
    for (int run = 0; run < (what == "verify" ? 1 : runs); ++run) {
      const Cost cost = measure("/proc/self/exe", what, path);
      times.push_back(cost.ms);
      memory = std::max(memory, cost.mb);
    }
    std::sort(times.begin(), times.end());
    std::printf("%s\t%lld\t%zu\t%.1f\t%.1f\t%.1f\t%s\n", what.c_str(),
                static_cast<long long>(count), times.size(), times[times.size() / 2], times.back(),
                memory,
                bounded ? fmt::format("{:g}\t{:g}", k_allowed_ms, k_allowed_mb).c_str() : "-\t-");
    if (bounded) met = met && times[times.size() / 2] <= k_allowed_ms && memory <= k_allowed_mb;
  }
  return met ? 0 : 2;
}
