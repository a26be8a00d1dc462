// Prints how often the sequential test is wrong, and how often it finds what is there, on made-up
// measurements; other tools' rules beside it.
#include "simulate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <thread>

using namespace ako::bench;

int main(int argc, char** argv) {
  long trials = 2000, same_trials = 400;
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::uint64_t seed = 1;
  std::vector<std::string> only;
  std::string json_file, text_file;
  bool check = false, false_wins = false;
  CLI::App app{"Simulated verdicts: false wins, wins found, intervals, beside other tools' rules"};
  app.add_option("--trials", trials, "made-up runs for each cell and gain (100000 for the record)")
      ->check(CLI::PositiveNumber);
  app.add_option("--same", same_trials, "trials of identical programs under drift and spikes")
      ->check(CLI::PositiveNumber);
  app.add_option("--cells", only, "only these cells")->delimiter(',');
  app.add_option("--jobs", jobs, "threads; the numbers do not depend on it")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "of the made-up measurements");
  app.add_option("--json", json_file, "write the counts here");
  app.add_option("--text", text_file, "write the tables here too");
  app.add_flag("--check", check, "exit 1 where a promised bound is broken beyond chance");
  app.add_flag("--false-wins", false_wins,
               "the gain that counts as none, alone: many trials, soon");
  CLI11_PARSE(app, argc, argv);

  std::string command = "bench_stats_simulate";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
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
