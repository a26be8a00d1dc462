#include "base/json.hpp"
#include "simulate.hpp"
#include "stats/distributions.hpp"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fstream>
#include <thread>

namespace ako::bench {

namespace {

constexpr double k_most_false = 0.001, k_level = 0.99;

/// The share of gains of twice the minimum that a cell must find and the second opinion confirm; 0
/// = printed only.
double least_found(const Cell& cell) {
  static const char* const most[] = {"noise",
                                     "drift",
                                     "spikes",
                                     "sticky-clock",
                                     "period-four",
                                     "offset-0.2",
                                     "offset-0.5-common",
                                     "five-shapes"};
  if (cell.name == "independent-clock") return 0.8;
  for (const char* name : most)
    if (cell.name == name) return 0.98;
  return 0;
}

/// States held for a whole placement break what a few placements can show; see the text below the
/// table.
bool promises_no_false_win(const Cell& cell) {
  return !cell.clock_each_side && cell.name != "cpu-plan-15";
}
/// What is confirmed is promised also where placements spread beyond what the plan assumes.
bool promises_no_false_claim(const Cell& cell) { return !cell.clock_each_side; }

double min_gain_of(const Cell& cell) { return plan_of(cell, evaluation::Round::first).min_gain; }

double share(long part, long whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(long part, long whole, int digits = 2) {
  return fmt::format("{:.{}f}", 100 * share(part, whole), digits);
}

std::string with_limits(long part, long whole) {
  const stats::Proportion p = stats::proportion(part, whole, 0.95);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", 100 * p.value, 100 * p.low, 100 * p.high);
}

base::Json json_of(const Tally& tally, double gain, bool peers) {
  const auto n = static_cast<double>(tally.trials);
  base::Json json;
  json["gain"] = gain;
  json["trials"] = tally.trials;
  json["improved"] = tally.improved;
  json["confirmed"] = tally.confirmed;
  json["equivalent"] = tally.equivalent;
  json["regressed"] = tally.regressed;
  json["undecided"] = tally.undecided;
  json["covered"] = tally.covered;
  json["mean_placements"] = tally.placements / n;
  if (tally.improved > 0)
    json["mean_placements_of_second_opinions"] =
        tally.second_placements / static_cast<double>(tally.improved);
  if (peers) {
    json["interleaved_sign_interval_faster"] = tally.sign_faster;
    json["interleaved_sign_interval_beyond_minimum"] = tally.sign_beyond;
    json["block_u_test_faster"] = tally.u_faster;
  }
  return json;
}

/// What no test can do, so that a missed figure is not taken for a lazy one.
void print_readings(std::ostream& out) {
  // In standard errors, the distance of a gain of 1 % from the minimum over all placements.
  const auto distance = [](double offset_variance) {
    const double pair = 2 * 0.004 * 0.004 / k_pairs;
    return (0.01 - k_min_gain) / std::sqrt((offset_variance + pair) / k_placements);
  };
  // Most powerful for normal values of KNOWN spread: found = P(Z > z_alpha - distance).
  const auto ceiling = [&](double offset_variance) {
    return 100 *
           stats::normal_cdf(distance(offset_variance) + stats::normal_quantile(k_most_false));
  };
  // Of unknown spread: the noncentral t, by its usual normal approximation.
  const auto student = [&](double offset_variance) {
    const double degrees = k_placements - 1;
    const double t = stats::student_upper_quantile(k_most_false, degrees);
    return 100 * stats::normal_cdf((distance(offset_variance) - t * (1 - 0.25 / degrees)) /
                                   std::sqrt(1 + 0.5 * t * t / degrees));
  };
  const double normal = 2 * 0.005 * 0.005, uniform = normal / 3;
  fmt::print(
      out,
      "\nReadings. Offsets of 0.5 % a side that are drawn for each placement AND side leave "
      "the gain of a placement a spread of 0.71 % if normal (offset-0.5), 0.41 % "
      "if uniform within +-0.5 % (offset-0.5-bound). A test that knew the "
      "spread and looked once, at the last of {} placements, would find a gain of 1 % over a "
      "minimum of 0.5 % at alpha 0.1 % in at most {:.1f} % (normal) and {:.1f} % (a normal of the "
      "uniform's spread), one that must learn the spread from the same placements in about {:.1f} "
      "% and {:.1f} %: 98 % is out of reach there of any test that is valid for normal offsets, "
      "before a second opinion is asked. More than that could be had only by trusting the offsets "
      "to be uniform, whose ends can be seen; 20 placements do not show their shape, and a test "
      "that trusted it would be wrong on normal ones. Where both sides "
      "answer a placement alike (shared buffers, offset-0.5-common) it is found.\n"
      "cpu-plan-4, -8, -15: single placements spread by 4 to 15 %, so that gains of 4 % over a "
      "minimum of 2 % are mostly out of reach by the same reckoning (errors of 0.9 to 3.4 % after "
      "20 placements); what they are there for is the false wins. -15 breaks what the plan takes "
      "for granted in its first looks: what one round calls improved is not bounded there, what "
      "both rounds call so is.\n"
      "held-clock: a side that keeps a clock state for a whole placement looks 7 % faster on "
      "all of the first n placements in 4^-n of runs, like a true 7 %. Such clocks must be "
      "watched (blocks repeated, or times normalised by the clock) or declared "
      "(unwatched_step); no bound is promised without.\n"
      "Second opinion: fresh data, by which nothing was chosen, whatever the first round was "
      "chosen "
      "by; so the chance that both are wrong at the minimum gain is at most 0.1 % times 0.7 %, and "
      "with the 0.7 % divided by the number tried at most 0.0007 % times 1 + 1/2 + ... + 1/K over "
      "a "
      "whole campaign of K candidates: below 0.1 % for every K that anybody tries.\n",
      k_placements, ceiling(normal), ceiling(uniform), student(normal), student(uniform));
}

} // namespace

void print_table(std::ostream& out, const std::vector<CellResult>& results) {
  fmt::print(out,
             "Sequential paired test: alpha 0.1 %, minimum gain {} % (cpu-plan and five-shapes: 2 "
             "%), at most {} placements x {} pairs (cpu-plan: 4), {:.0f} % intervals; the second "
             "opinion: as many new placements, alpha 0.7 %. All in % of trials; gains in units of "
             "the minimum gain: 0, 1, 2 and 6.\n\n",
             100 * k_min_gain, k_placements, k_pairs, 100 * k_level);
  fmt::print(out, "{:<18} {:>8} {:>24} {:>8} {:>15} {:>21} {:>23} {:>20} {:>7}\n", "", "",
             "false improved", "found", "confirmed", "undecided", "interval holds",
             "placements used", "second");
  fmt::print(out, "{:<18} {:>8} {:>24} {:>8} {:>15} {:>21} {:>23} {:>20} {:>7}\n", "cell", "trials",
             "gain 1 [95 % limits]", "gain 2", "gain 1 / 2", "gain 0 / 1 / 2", "gain 0 / 2 / 6",
             "gain 0 / 1 / 2 / 6", "gain 2");
  for (const CellResult& r : results) {
    const auto& [none, minimum, two, six] = r.at;
    const long n = none.trials;
    const auto whole = static_cast<double>(n);
    fmt::print(
        out, "{:<18} {:>8} {:>24} {:>8} {:>15} {:>21} {:>23} {:>20} {:>7}\n", r.cell.name, n,
        with_limits(minimum.improved, n), percent(two.improved, n),
        fmt::format("{} / {}", percent(minimum.confirmed, n, 3), percent(two.confirmed, n)),
        fmt::format("{} / {} / {}", percent(none.undecided, n, 1), percent(minimum.undecided, n, 1),
                    percent(two.undecided, n, 1)),
        fmt::format("{} / {} / {}", percent(none.covered, n), percent(two.covered, n),
                    percent(six.covered, n)),
        fmt::format("{:.1f}/{:.1f}/{:.1f}/{:.1f}", none.placements / whole,
                    minimum.placements / whole, two.placements / whole, six.placements / whole),
        two.improved == 0
            ? "-"
            : fmt::format("{:.1f}", two.second_placements / static_cast<double>(two.improved)));
  }
  fmt::print(out, "\nConfirmed: found by the second opinion too: what ako calls improved. second: "
                  "the placements that it used.\n");
  fmt::print(out,
             "\nWhat is called faster on the same data, in % of trials. sign: interleaved rounds "
             "(ABBA BAAB), 95 % sign-test interval of the median log ratio (nanobench's "
             "documented rule), above 0 or above the minimum gain. U: one block after the "
             "other, Mann-Whitney U at 5 % over {} repetitions (google benchmark's).\n\n",
             k_placements);
  fmt::print(out, "{:<18} {:>26} {:>34} {:>26}\n", "", "identical programs", "gain exactly 0.5 %",
             "gain 1 %");
  fmt::print(out, "{:<18} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "cell",
             "ako", "sign>0", "U", "ako", "sign>min", "sign>0", "U", "ako", "sign>min", "U");
  for (const CellResult& r : results) {
    if (r.cell.plan != PlanOf::gpu) continue;
    const auto& [none, minimum, two, six] = r.at;
    const long n = none.trials;
    fmt::print(out, "{:<18} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
               r.cell.name, percent(none.improved, n, 3), percent(none.sign_faster, n),
               percent(none.u_faster, n), percent(minimum.improved, n, 3),
               percent(minimum.sign_beyond, n), percent(minimum.sign_faster, n),
               percent(minimum.u_faster, n), percent(two.improved, n), percent(two.sign_beyond, n),
               percent(two.u_faster, n));
  }
  print_readings(out);
  fmt::print(out, "\nCells:\n");
  for (const CellResult& r : results) fmt::print(out, "  {:<18} {}\n", r.cell.name, r.cell.text);
}

void print_false_wins(std::ostream& out, const std::vector<CellResult>& results) {
  fmt::print(out, "False improved at exactly the minimum gain, in % of trials [95 % limits]\n");
  for (const CellResult& r : results) {
    const Tally& minimum = r.at[at_minimum];
    fmt::print(out, "  {:<18} {:>8} trials {:>24}, confirmed {}\n", r.cell.name, minimum.trials,
               with_limits(minimum.improved, minimum.trials),
               percent(minimum.confirmed, minimum.trials, 3));
  }
}

void print_same(std::ostream& out, const std::vector<SameResult>& results) {
  fmt::print(out, "Identical programs, 100 samples a side, noise 0.4 %, spikes in 3 %: called "
                  "different, in % of trials\n\n");
  for (const SameResult& r : results) {
    fmt::print(out, "drift {:.0f} %, {} trials\n", 100 * r.drift, r.trials);
    auto line = [&](const char* rule, long count) {
      fmt::print(out, "  {:<68} {:>24}\n", rule, with_limits(count, r.trials));
    };
    line("medians differ by 0.5 %, A block then B block", r.medians_blocks);
    line("Mann-Whitney U at 5 %, A block then B block", r.u_blocks);
    line("interleaved rounds, 95 % sign-test interval", r.sign_rounds);
    line("ako: improved or regressed", r.ours);
    line("best of 30, 20 samples each, looks 0.2 % faster", r.best_looked_better);
    line("ako: that best one, measured again with alpha/30: improved", r.best_ours);
  }
}

std::string to_json(const std::vector<CellResult>& results, const std::vector<SameResult>& same,
                    const std::string& command, double seconds) {
  base::Json json;
  json["command"] = command;
  json["machine"] = machine();
  json["seconds"] = seconds;
  json["min_gain"] = k_min_gain;
  json["placements"] = k_placements;
  json["pairs"] = k_pairs;
  json["cells"] = base::Json::array();
  for (const CellResult& r : results) {
    base::Json cell;
    cell["name"] = r.cell.name;
    cell["text"] = r.cell.text;
    for (std::size_t g = 0; g < k_gains.size(); ++g)
      cell["gains"].push_back(json_of(r.at[g], k_gains[g] * min_gain_of(r.cell),
                                      g != at_six && r.cell.plan == PlanOf::gpu));
    json["cells"].push_back(std::move(cell));
  }
  for (const SameResult& r : same)
    json["identical"].push_back({{"drift", r.drift},
                                 {"trials", r.trials},
                                 {"medians_blocks", r.medians_blocks},
                                 {"u_blocks", r.u_blocks},
                                 {"sign_rounds", r.sign_rounds},
                                 {"ako", r.ours},
                                 {"best_looked_better", r.best_looked_better},
                                 {"best_ako", r.best_ours}});
  return base::dump_json(json, 1) + "\n";
}

namespace {

constexpr double k_sure = 0.9998; // two-sided: one in 10000 on the side that counts

bool too_many(long count, long n, double most) {
  return stats::proportion(count, n, k_sure).low > most;
}
bool too_few(long count, long n, double least) {
  return stats::proportion(count, n, k_sure).high < least;
}

void add_broken(const CellResult& r, std::vector<std::string>& broken) {
  const Tally& minimum = r.at[at_minimum];
  const long n = minimum.trials;
  const auto add = [&](const char* what, long count) {
    broken.push_back(fmt::format("{}: {} in {} of {}", r.cell.name, what, count, n));
  };
  const bool bounded = promises_no_false_win(r.cell);
  if (bounded && too_many(minimum.improved, n, k_most_false))
    add("false wins at the minimum gain", minimum.improved);
  if (promises_no_false_claim(r.cell) && too_many(minimum.confirmed, n, k_most_false))
    add("false wins confirmed at the minimum gain", minimum.confirmed);
  // Stated at 5 %: a gain that lies on the limit is no draw.
  if (bounded && too_many(minimum.equivalent, n, 0.05))
    add("called equivalent at the minimum gain", minimum.equivalent);
  const Tally& two = r.at[at_two];
  if (two.trials == 0) return;
  if (too_few(two.improved, n, least_found(r.cell)))
    add("twice the minimum gain is found", two.improved);
  if (too_few(two.confirmed, n, least_found(r.cell)))
    add("twice the minimum gain is confirmed", two.confirmed);
  if (!bounded) return;
  for (std::size_t g : {at_nothing, at_two, at_six})
    if (too_few(r.at[g].covered, n, k_level))
      broken.push_back(fmt::format("{}: the interval holds {} minimum gains in {} of {}",
                                   r.cell.name, k_gains[g], r.at[g].covered, n));
}

} // namespace

std::vector<std::string> broken_bounds(const std::vector<CellResult>& results,
                                       const std::vector<SameResult>& same) {
  std::vector<std::string> broken;
  for (const SameResult& r : same)
    for (const auto& [what, count] : {std::pair{"called different", r.ours},
                                      std::pair{"best of 30, improved when measured", r.best_ours}})
      if (too_many(count, r.trials, k_most_false))
        broken.push_back(fmt::format("identical programs, drift {} %: {} of {} {}", 100 * r.drift,
                                     count, r.trials, what));
  for (const CellResult& r : results) add_broken(r, broken);
  return broken;
}

std::string machine() {
  std::string processor = "unknown processor", line;
  std::ifstream info("/proc/cpuinfo");
  while (std::getline(info, line))
    if (line.starts_with("model name")) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  return fmt::format("{}, {} cores, compiler {}", processor, std::thread::hardware_concurrency(),
                     __VERSION__);
}

} // namespace ako::bench
