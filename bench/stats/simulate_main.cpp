// Prints how often the sequential test is wrong, and how often it finds what is there, on made-up
// measurements; other tools' rules beside it.
#include "simulate.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <getopt.h>
#include <iostream>
#include <sstream>
#include <thread>

using namespace ako::bench;

namespace {

constexpr const char* k_help =
    R"(Simulated verdicts: false wins, wins found, intervals, beside other tools' rules
  --trials N      made-up runs for each cell and gain (100000 for the record)
  --same N        trials of identical programs under drift and spikes
  --cells A,B     only these cells
  --jobs N        threads; the numbers do not depend on it
  --seed N        of the made-up measurements
  --json FILE     write the counts here
  --text FILE     write the tables here too
  --check         exit 1 where a promised bound is broken beyond chance
  --false-wins    the gain that counts as none, alone: many trials, soon
)";

struct Words {
  long trials = 2000, same_trials = 400, seed = 1;
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::string> only;
  std::string json_file, text_file;
  bool check = false, false_wins = false;
};

/// A whole number of at least `least`; ends the program where there is none.
long number(const char* name, const char* text, long least) {
  long out = 0;
  const auto [end, why] = std::from_chars(text, text + std::strlen(text), out);
  if (why == std::errc() && *end == '\0' && out >= least) return out;
  std::cerr << fmt::format("--{}: '{}'; allowed: a whole number from {}\n", name, text, least);
  std::exit(2);
}

Words words_of(int argc, char** argv) {
  const option known[] = {{"trials", required_argument, nullptr, 't'},
                          {"same", required_argument, nullptr, 's'},
                          {"cells", required_argument, nullptr, 'c'},
                          {"jobs", required_argument, nullptr, 'j'},
                          {"seed", required_argument, nullptr, 'r'},
                          {"json", required_argument, nullptr, 'o'},
                          {"text", required_argument, nullptr, 'x'},
                          {"check", no_argument, nullptr, 'k'},
                          {"false-wins", no_argument, nullptr, 'f'},
                          {"help", no_argument, nullptr, 'h'},
                          {}};
  Words out;
  for (int which = 0; (which = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (which) {
    case 't': out.trials = number("trials", optarg, 1); break;
    case 's': out.same_trials = number("same", optarg, 1); break;
    case 'j': out.jobs = static_cast<int>(number("jobs", optarg, 1)); break;
    case 'r': out.seed = number("seed", optarg, 0); break;
    case 'o': out.json_file = optarg; break;
    case 'x': out.text_file = optarg; break;
    case 'k': out.check = true; break;
    case 'f': out.false_wins = true; break;
    case 'c': {
      std::istringstream names(optarg);
      for (std::string name; std::getline(names, name, ',');) out.only.push_back(name);
      break;
    }
    case 'h': std::cout << k_help; std::exit(0);
    default: std::cerr << k_help; std::exit(2);
    }
  }
  if (optind == argc) return out;
  std::cerr << fmt::format("'{}' belongs to no option\n{}", argv[optind], k_help);
  std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
  // Read before the words are looked at: looking may change their order.
  std::string command = "bench_stats_simulate";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  const auto [trials, same_trials, seed, jobs, only, json_file, text_file, check, false_wins] =
      words_of(argc, argv);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<SameResult> same = {simulate_same(0, same_trials, seed),
                                        simulate_same(0.02, same_trials, seed)};
  std::vector<CellResult> results;
  double seconds = 0;
  auto print = [&](std::ostream& out) {
    out << command << "\n" << machine() << fmt::format("; {:.0f} s\n\n", seconds);
    if (false_wins) print_false_wins(out, results);
    else print_table(out, results);
    out << "\n";
    print_same(out, same);
  };
  for (const Cell& cell : cells()) {
    if (!only.empty() && std::find(only.begin(), only.end(), cell.name) == only.end()) continue;
    std::cerr << cell.name << std::endl;
    results.push_back(
        simulate(cell, trials, jobs, seed, false_wins ? Extent::false_wins : Extent::all));
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // Files are written anew after each cell: a long run that is stopped has not been for nothing.
    if (!text_file.empty()) {
      std::ofstream text(text_file);
      print(text);
    }
    if (!json_file.empty() && !false_wins)
      std::ofstream(json_file) << to_json(results, same, command, seconds);
  }
  if (results.empty()) {
    std::cerr << "no such cell; there are:\n";
    for (const Cell& cell : cells()) std::cerr << "  " << cell.name << "\n";
    return 2;
  }
  print(std::cout);
  if (!check) return 0;
  const std::vector<std::string> broken = broken_bounds(results, same);
  for (const std::string& bound : broken) std::cerr << "broken bound: " << bound << "\n";
  return broken.empty() ? 0 : 1;
}
