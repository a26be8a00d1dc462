// The world of one evaluation in memory: three sides that follow a script, buffers with real fills
// and real poison, and a machine that is as quiet as the script says. No process is started.
#pragma once

#include "evaluation/evaluate.hpp"

#include <random>

namespace ako::fakes {

using model::Side;

/// Where a call stands: everything that a script may depend on.
struct Moment {
  Side side = Side::candidate;
  int round = 0;         ///< 1 = the first round's processes, 2 = the second opinion's
  int opened = 0;        ///< placements so far, all shapes
  std::int64_t call = 0; ///< of this side in this round, from 0
  int set = 0;
  evaluation::Content content;
  const model::ResolvedShape* shape = nullptr;
  bool swept = false; ///< the caches were emptied from outside before this command
};

/// One call as a script sees it: the first input and the first output as numbers.
class Call {
public:
  Call(Moment now, std::vector<double> input, std::size_t outputs)
      : at(now), x(std::move(input)), m_y(outputs), m_written(outputs) {}
  const Moment at;
  std::vector<double> x; ///< changing it changes the input
  int past_end = 0;      ///< bytes written behind the output
  std::int64_t size() const { return static_cast<std::int64_t>(m_y.size()); }
  void write(std::int64_t i, double value) {
    m_y[static_cast<std::size_t>(i)] = value;
    m_written[static_cast<std::size_t>(i)] = true;
  }
  double written(std::int64_t i) const { return m_y[static_cast<std::size_t>(i)]; }
  bool wrote(std::int64_t i) const { return m_written[static_cast<std::size_t>(i)]; }

private:
  std::vector<double> m_y;
  std::vector<bool> m_written;
};

/// y = x/2 + 1, every element.
double right(double x);
void honest(Call& call);

/// How one side behaves.
struct Script {
  std::function<void(Call&)> run = honest;
  std::function<double(const Moment&)> ns = [](const Moment&) { return 100e3; }; ///< of one call
  std::function<std::optional<client::WorkerFailure>(const Moment&)> fails;      ///< instead of it
  std::optional<client::WorkerFailure> load_fails;
  client::LoadReport loaded;
  std::function<void(client::SampleReport&)> bend; ///< what a tampered worker claims
};

client::WorkerFailure failure(client::FailureKind kind, std::string text);

/// What outlives the stages: scripts, contract, and a log of what was asked for.
class World {
public:
  /// x and y of float32[N], a float64 reference, `shapes` as [[shape]] values of N; `more` is
  /// appended to the contract, `x_keys` to x.
  explicit World(std::vector<int> shapes = {64}, const std::string& more = {},
                 const std::string& y_role = "out", const std::string& x_keys = {});

  Script candidate, incumbent, reference;
  std::function<double(const Moment&)> waiting; ///< share of a block taken by foreign work
  std::function<double(int)> clock;             ///< GHz at the n-th look at the machine
  bool has_reference = true;
  double noise = 0.002; ///< standard deviation of times, relative

  evaluation::Request request() const;
  evaluation::StageFactory factory();
  evaluation::Report evaluate(); ///< fails the test when it is an error
  const model::Contract& contract() const { return m_contract; }
  std::vector<model::ResolvedShape> shapes() const;
  Script& script(Side side);
  double jitter();

  int rounds = 0; ///< stages made so far
  std::vector<std::string>
      log; ///< "load candidate", "open N=64", "fill ...", "call candidate", ...
  /// Contents on which the reference ran before the candidate did: must stay empty.
  std::vector<evaluation::Content> reference_first;

private:
  model::Contract m_contract;
  std::mt19937 m_random{7};
};

/// Another x -> y relation for the candidate: what it would write for element i.
Script writes(std::function<double(double x, std::int64_t i, const Moment& at)> value);

std::unique_ptr<evaluation::Stage> make_fake_stage(World& world);

} // namespace ako::fakes
