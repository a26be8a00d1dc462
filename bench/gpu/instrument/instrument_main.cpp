// The instrument against a real device; every command prints what it measured and how.
//   ako-bench-gpu check LIBRARIES             keeper and workers: contents, marks, judging, times
//   ako-bench-gpu bias LIBRARIES PAIRS        A/A on shared buffers: mean log ratio and its error
//   ako-bench-gpu decision LIBRARIES N SLOW   N blind verdicts, half A/A, half against library SLOW
//   ako-bench-gpu verdict LIBRARIES SLOW      one evaluation, judged, with second opinion: phases
// LIBRARIES holds rmsnorm.so, reference.so and the delayed twins (kernels.cu says how to build
// them).
#include "base/time.hpp"
#include "evaluation/correctness.hpp"
#include "evaluation/evaluate.hpp"
#include "evaluation/measuring.hpp"
#include "inputs/recipe.hpp"
#include "instrument/task.hpp"
#include "stats/summary.hpp"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <random>

namespace {

using namespace ako;
using model::Side;

double ms_since(std::int64_t begin) {
  return static_cast<double>(base::monotonic_ns() - begin) / 1e6;
}

[[noreturn]] void stop(const std::string& words) {
  fmt::print(stderr, "FAILED {}\n", words);
  std::exit(1);
}
template <class T> T must(base::Expected<T> value) {
  if (!value) stop(value.error().text());
  return std::move(*value);
}
void must(const base::Status& status) {
  if (!status) stop(status.error().text());
}
template <class T> T must(client::Answer<T> value) {
  if (!value) stop(value.error().text + " " + value.error().err);
  return std::move(*value);
}

void must(const client::Answer<void>& value) {
  if (!value) stop(value.error().text + " " + value.error().err);
}

client::SampleJob job_of(int sets, const std::string& cache) {
  client::SampleJob job;
  for (int i = 0; i + 1 < sets; ++i) job.sets.push_back(i);
  job.warmup_sets = {sets - 1};
  job.cache = cache == "cold" ? model::CacheState::cold : model::CacheState::warm;
  return job;
}

/// Contents as the host's generator makes them, marks laid and found, the reference's answer.
void check_shape(const bench::Task& task, evaluation::Stage& stage, std::size_t index) {
  const auto& shape = task.shapes[index];
  const int sets = 3;
  auto t = base::monotonic_ns();
  must(stage.open(shape, sets, 5));
  fmt::print("{}: open {:.2f} ms", shape.tag, ms_since(t));
  const evaluation::Content content{inputs::Recipe::plain, 77, 0};
  t = base::monotonic_ns();
  must(stage.fill(content));
  fmt::print(", fill {:.2f} ms", ms_since(t));
  int wrong = 0;
  for (std::size_t tensor = 0; tensor < 2; ++tensor) {
    const auto got = must(stage.bytes(static_cast<int>(tensor), 1));
    std::vector<std::byte> wanted(got.size());
    const std::uint32_t set = tensor == 1 ? 0 : 1;
    must(inputs::fill(wanted, shape.tensors[tensor], task.contract.tensors[tensor].fill,
                      inputs::Recipe::plain, {77, static_cast<std::uint32_t>(tensor), set, 0}));
    wrong += std::memcmp(wanted.data(), got.data(), got.size()) != 0;
  }
  t = base::monotonic_ns();
  must(stage.poison(inputs::Sentinel::first, {}));
  fmt::print(", contents {}, poison {:.2f} ms", wrong == 0 ? "as the host's" : "DIFFER",
             ms_since(t));
  for (int set = 0; set + 1 < sets; ++set) must(stage.call(Side::candidate, set));
  t = base::monotonic_ns();
  const auto checked = must(stage.check({0, 1}));
  const auto left = must(stage.check({2}));
  fmt::print(", check {:.2f} ms {} ({} unwritten where nothing ran)\n", ms_since(t),
             checked.clean() ? "clean" : "NOT CLEAN",
             left.buffers.empty() ? 0 : left.buffers[0].unwritten);
  evaluation::Request request;
  request.contract = &task.contract;
  evaluation::Grader grader(stage, request, shape);
  grader.renew(content);
  t = base::monotonic_ns();
  must(grader.expect(1));
  const auto graded = must(grader.grade(1, {}));
  fmt::print("  graded in {:.1f} ms: {}\n", ms_since(t), graded.pass ? "pass" : "FAIL");
}

void show_sample(const char* what, const client::SampleReport& report, const std::string& more) {
  const auto summary = stats::median(report.call_ns);
  fmt::print("  {}: median {:.0f} ns, mean {:.0f} ns of {}, {} {} parent {:.2f} ms {}\n", what,
             summary, report.ns_per_call(), report.calls, report.cache_state,
             base::dump_json(report.device), static_cast<double>(report.parent_wall_ns) / 1e6,
             more);
}

void check(const std::filesystem::path& libraries, const std::string& uuid) {
  auto t = base::monotonic_ns();
  const auto task = must(bench::make_task(libraries, uuid, {1, 64, 4096, 32768}, "cold", 0.005));
  auto stage = must(bench::make_stage(task, "rmsnorm", "rmsnorm"));
  fmt::print("stage with three workers: {:.0f} ms\n", ms_since(t));
  t = base::monotonic_ns();
  auto again = must(bench::make_stage(task, "rmsnorm", "rmsnorm"));
  fmt::print("a second one: {:.0f} ms\n", ms_since(t));
  again.reset();
  for (std::size_t i = 0; i < task.shapes.size(); ++i) {
    check_shape(task, *stage, i);
    for (const char* cache : {"cold", "warm"}) {
      auto job = job_of(3, cache);
      const auto rows = task.shapes[i].axes.at("M");
      auto report = must(stage->sample(Side::candidate, job));
      const double bytes = 4.0 * static_cast<double>(rows) * 4096;
      show_sample(cache, report, fmt::format("{:.0f} GB/s", bytes / report.ns_per_call()));
    }
    auto job = job_of(3, "cold");
    for (const auto clock : {model::Clock::graph, model::Clock::call}) {
      job.clock = clock;
      show_sample(model::to_string(clock), must(stage->sample(Side::candidate, job)), "");
    }
  }
  const auto state = must(stage->machine());
  fmt::print("machine {}\n", base::dump_json(state.device));
}

void bias(const std::filesystem::path& libraries, const std::string& uuid, int pairs) {
  std::mt19937_64 coin(3);
  for (const char* cache : {"warm", "cold"})
    for (const int rows : {64, 4096}) {
      const auto task = must(bench::make_task(libraries, uuid, {rows}, cache, 0.005));
      auto stage = must(bench::make_stage(task, "rmsnorm", "rmsnorm"));
      const int sets = rows == 64 ? 33 : 9;
      const auto t = base::monotonic_ns();
      std::vector<double> ratios;
      must(stage->open(task.shapes[0], sets, 1));
      evaluation::Content content{inputs::Recipe::plain, 5, 0};
      must(stage->fill(content));
      const auto job = job_of(sets, cache);
      for (const auto side : {Side::incumbent, Side::candidate}) must(stage->sample(side, job));
      double level = 0;
      for (int pair = 0; pair < pairs; ++pair) {
        ++content.epoch;
        must(stage->fill(content));
        double ns[2] = {};
        const bool first = (coin() & 1) != 0;
        for (int turn = 0; turn < 2; ++turn) {
          const int which = (turn == 0) == first ? 0 : 1;
          const auto report =
              must(stage->sample(which == 0 ? Side::incumbent : Side::candidate, job));
          ns[which] = stats::trimmed_mean(report.call_ns, 0.1);
        }
        ratios.push_back(std::log(ns[1] / ns[0]));
        level += ns[0] / pairs;
      }
      const double mean = stats::mean(ratios);
      double squares = 0;
      for (const double r : ratios) squares += (r - mean) * (r - mean);
      const double error = std::sqrt(squares / (pairs - 1) / pairs);
      fmt::print("rows {} {}: A/A {:+.3f} % (standard error {:.3f} %) over {} pairs of {} calls of "
                 "{:.0f} ns, {:.2f} s\n",
                 rows, cache, 100 * mean, 100 * error, pairs, sets - 1, level, ms_since(t) / 1e3);
    }
}

/// Prints whether what was asked of the verdicts holds; false when something was missed.
bool held(const std::map<std::string, int>& seen, std::vector<double> seconds) {
  const auto count = [&](const std::string& what) {
    const auto at = seen.find(what);
    return at == seen.end() ? 0 : at->second;
  };
  int planted = 0, all = 0;
  for (const auto& [what, times] : seen) {
    all += times;
    if (what.starts_with("planted")) planted += times;
  }
  const int wins = count("A/A improved") + count("planted improved");
  const int told = count("planted regressed");
  const int open = all - wins - told - count("A/A equivalent") - count("A/A regressed") -
                   count("planted equivalent");
  const double median = stats::median(seconds);
  bool good = true;
  const auto say = [&](bool yes, const std::string& words) {
    good = good && yes;
    fmt::print("{}: {}\n", yes ? "held" : "MISSED", words);
  };
  say(wins == 0, fmt::format("false `improved`: {}, none allowed", wins));
  say(told >= 0.95 * planted,
      fmt::format("planted slow-downs told apart: {} of {}, at least 95 %", told, planted));
  say(open <= 0.05 * all, fmt::format("undecided: {} of {}, at most 5 %", open, all));
  say(median <= 1.5, fmt::format("wall a verdict: median {:.2f} s, at most 1.5", median));
  return good;
}

/// Exit code: 1 when a bound was missed.
int decision(const std::filesystem::path& libraries, const std::string& uuid, int count,
             const std::string& slow, int rows) {
  const auto task = must(bench::make_task(libraries, uuid, {rows}, "cold", 0.003));
  std::mt19937_64 coin(static_cast<std::uint64_t>(base::monotonic_ns()));
  auto honest = must(bench::make_stage(task, "rmsnorm", "rmsnorm"));
  auto planted = must(bench::make_stage(task, "rmsnorm", slow));
  std::map<std::string, int> seen;
  std::vector<double> seconds, gains[2];
  for (int i = 0; i < count; ++i) {
    const bool plant = (coin() & 1) != 0;
    auto& stage = plant ? *planted : *honest;
    evaluation::Request request;
    request.contract = &task.contract;
    request.shapes = task.shapes;
    request.against = "incumbent";
    request.judged = false;
    const auto t = base::monotonic_ns();
    const auto measured = must(evaluation::measure_pairs(
        stage, request, evaluation::stats_plan(task.contract, evaluation::Round::first), coin(),
        evaluation::Round::first));
    seconds.push_back(ms_since(t) / 1e3);
    gains[plant].push_back(measured.decision.gain.value);
    const std::string state =
        measured.ended ? measured.ended->reason : stats::to_string(measured.decision.state);
    ++seen[std::string(plant ? "planted " : "A/A ") + state];
    fmt::print("{} {} gain {:+.4f} [{:+.4f} {:+.4f}] placements {} pairs {} inside {:.2f} s wall "
               "{:.2f} s\n",
               plant ? "planted" : "A/A", state, measured.decision.gain.value,
               measured.decision.gain.low, measured.decision.gain.high,
               measured.decision.placements, measured.decision.pairs,
               static_cast<double>(measured.inside_ns) / 1e9, seconds.back());
    std::fflush(stdout);
  }
  for (const auto& [what, times] : seen) fmt::print("{}: {}\n", what, times);
  for (int plant = 0; plant < 2; ++plant)
    if (!gains[plant].empty())
      fmt::print("{}: mean gain {:+.4f} over {}\n", plant ? "planted" : "A/A",
                 stats::mean(gains[plant]), gains[plant].size());
  return held(seen, seconds) ? 0 : 1;
}

void verdict(const std::filesystem::path& libraries, const std::string& uuid,
             const std::string& slow) {
  for (const std::vector<int>& rows :
       {std::vector<int>{4096}, std::vector<int>{1, 64, 1024, 4096, 16384}}) {
    const auto task = must(bench::make_task(libraries, uuid, rows, "cold", 0.005));
    evaluation::Request request;
    request.contract = &task.contract;
    request.shapes = task.shapes;
    request.against = "incumbent";
    const auto options = bench::stage_options(task, slow, "rmsnorm");
    const auto t = base::monotonic_ns();
    const auto report =
        must(evaluation::evaluate(request, evaluation::child_stage_factory(options)));
    fmt::print(
        "{} shapes: {} {} in {:.2f} s: load {:.2f} judge {:.2f} measure {:.2f} second {:.2f}; "
        "gain {:+.4f} clock {} cache {}\n",
        rows.size(), model::to_string(report.verdict.outcome.kind), report.verdict.outcome.reason,
        ms_since(t) / 1e3, static_cast<double>(report.phases.load_ns) / 1e9,
        static_cast<double>(report.phases.judge_ns) / 1e9,
        static_cast<double>(report.phases.measure_ns) / 1e9,
        static_cast<double>(report.phases.second_ns) / 1e9, report.verdict.gain,
        report.verdict.clock, report.cache_state);
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "ako-bench-gpu check|bias|decision|verdict LIBRARIES [...]\n");
    return 2;
  }
  const std::string what = argv[1];
  const std::filesystem::path libraries = std::filesystem::absolute(argv[2]);
  const auto uuid = must(bench::first_device());
  if (what == "check") check(libraries, uuid);
  else if (what == "bias") bias(libraries, uuid, argc > 3 ? std::atoi(argv[3]) : 80);
  else if (what == "decision" && argc > 4)
    return decision(libraries, uuid, std::atoi(argv[3]), argv[4],
                    argc > 5 ? std::atoi(argv[5]) : 4096);
  else if (what == "verdict" && argc > 3) verdict(libraries, uuid, argv[3]);
  else return 2;
  return 0;
}
