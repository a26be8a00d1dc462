// What an evaluation is asked, and what it answers.
#pragma once

#include "base/json.hpp"
#include "evaluation/stage.hpp"
#include "inputs/recipe.hpp"
#include "judge/guards.hpp"
#include "model/samples.hpp"
#include "model/verdict.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ako::evaluation {

struct Request {
  const model::Contract* contract = nullptr;
  std::vector<model::ResolvedShape> shapes; ///< measured and judged
  std::vector<model::ResolvedShape> edges;  ///< judged only
  std::vector<model::ResolvedShape> hidden; ///< judged in the second opinion only
  std::vector<std::string> unproven;        ///< what is left out from the start, for the record
  std::vector<inputs::Recipe> recipes = {inputs::Recipe::plain}; ///< judged inputs, plain first
  std::string candidate_hash, incumbent_hash, reference_hash; ///< of the libraries; empty = unknown
  judge::Ceilings ceilings;
  std::string against; ///< "incumbent 1a2b..", "baseline:first"
  bool judged = true;  ///< a reference is there
  /// Of the first round and of the second opinion, to see evidence again; what is missing is drawn
  /// after loading.
  std::vector<std::uint64_t> seeds;
  int most_placements = 0;    ///< below the contract's limit; 0 = the contract's
  bool second_opinion = true; ///< wanted before a win counts
  /// Candidates so far, this one included. Who tries often wins once by luck: the second opinion,
  /// taken on fresh samples, divides its alpha by it.
  int tried = 1;
  std::function<bool()> stop; ///< polled; true = end as interrupted
  std::function<void(const std::string& phase, double fraction)> progress;
};

/// How long each part took, ns on the parent's clock.
struct Phases {
  std::int64_t load_ns = 0, judge_ns = 0, measure_ns = 0, second_ns = 0, total_ns = 0;
  std::int64_t inside_ns = 0; ///< spent waiting for candidate, incumbent and reference to run
};

struct Report {
  model::Verdict verdict;
  std::optional<model::Verdict> second; ///< of the second opinion, where one was taken
  model::Samples samples;               ///< all, the second opinion's flagged
  base::Json correctness;               ///< per judged case: comparison, stability, precision
  base::Json loaded;                    ///< per side: hash, libraries, sandbox
  base::Json machine;                   ///< clocks, load, cache
  std::string seed;                     ///< of the first and of the second round
  std::int64_t calls = 0;               ///< timed calls of the candidate
  std::string cache_state;              ///< what was reached: "cold-clean", "warm"
  Phases phases;
};

} // namespace ako::evaluation
