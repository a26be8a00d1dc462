#include "sample_events.hpp"

#include <limits>

namespace ako::ledger::testing {

Iteration iteration(const Step& step) {
  Iteration it;
  it.number = step.number;
  it.hypothesis = "wider loads halve the instructions";
  it.prediction = "3 to 6 % on the large shapes";
  it.predicted_gain = 0.045;
  it.cites = "guide:cpu-memory";
  it.direction = step.direction;
  it.lane = step.lane;
  it.explore = step.explore;
  it.change = "load 32 bytes at a time";
  it.snapshot = {base::sha256("candidate " + std::to_string(step.number)),
                 "0123abcd",
                 {{"solution/k.cpp", base::sha256("k"), 120}}};
  model::Artifact artifact;
  artifact.snapshot = it.snapshot.hash;
  artifact.library_hash = base::sha256("library");
  artifact.compile_line = "g++ -O3 k.cpp";
  artifact.compiler_identity = "g++ 12.2.0";
  it.artifact = artifact;
  it.incumbent = base::sha256("incumbent");
  it.contract = base::sha256("contract");
  it.verdict.outcome = {step.outcome, model::default_fault(step.outcome), "2.1 % against 2 %", {}};
  it.verdict.gain = step.gain;
  it.verdict.interval = {step.gain - 0.01, step.gain + 0.01};
  it.verdict.placements = 8;
  it.verdict.pairs = 80;
  it.verdict.shapes = {{"decode",
                        10,
                        1000,
                        1000 * (1 - step.gain),
                        step.gain,
                        {step.gain - 0.01, step.gain + 0.01},
                        0,
                        true}};
  it.verdict.against = "incumbent";
  it.verdict.clock = "host";
  it.verdict.cache = "cold-clean";
  it.verdict.statistic = "mean of log ratios over placements";
  it.decision = step.decision;
  it.decision_reason = "as measured";
  it.how = {"host", "cold-clean", "median", "test device", 10, 100};
  it.seconds = 3.5;
  return it;
}

std::vector<model::Sample> samples(int count, double seed) {
  std::vector<model::Sample> rows;
  for (int i = 0; i < count; ++i) {
    model::Sample row;
    row.shape = i % 3;
    row.placement = i / 20;
    row.pair = i / 2;
    row.side = i % 2 ? model::Side::candidate : model::Side::incumbent;
    row.order = i % 2;
    row.device_ns = seed + 0.1 * i;
    row.call_ns = i % 4 ? seed + 1 : std::numeric_limits<double>::quiet_NaN();
    row.calls = 7;
    row.flags = static_cast<std::uint32_t>(i % 5);
    rows.push_back(row);
  }
  return rows;
}

void LedgerTest::SetUp() {
  auto dir = base::TemporaryDir::make("ako-ledger");
  ASSERT_TRUE(dir) << dir.error().text();
  m_dir = std::move(*dir);
}

Writer LedgerTest::writer(Open mode) {
  auto opened = Writer::open(path(), mode);
  if (!opened) ADD_FAILURE() << opened.error().text();
  return std::move(*opened);
}

Reader LedgerTest::reader() {
  auto opened = Reader::open(path());
  if (!opened) ADD_FAILURE() << opened.error().text();
  return std::move(*opened);
}

Verified LedgerTest::verified(const std::vector<KnownHead>& known) {
  Reader from = reader();
  auto result = verify(from, known);
  if (!result) ADD_FAILURE() << result.error().text();
  return result.value_or(Verified{});
}

} // namespace ako::ledger::testing
