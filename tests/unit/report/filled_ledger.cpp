#include "filled_ledger.hpp"

#include "ledger/writer.hpp"

namespace ako::report::testing {

using base::Status;
using ledger::Writer;
using model::Decision;
using model::OutcomeKind;

namespace {

struct Try {
  const char* hypothesis;
  OutcomeKind outcome;
  double gain, total; ///< total: against the baseline; 0 = not measured
  Decision decision;
  const char* reason;
};

constexpr Try k_tries[] = {
    {"Eight accumulators break the dependency chain of the sum of squares", OutcomeKind::improved,
     0.312, 0.312, Decision::keep, "gain of 31.2 % is above the least gain of 2 %"},
    {"Whole vectors to the end spare the scalar tail", OutcomeKind::incorrect, 0, 0,
     Decision::revert, "element 4095 of row 0 is 0 and should be 0.731 (tolerance 0.0078)"},
    {"Prefetching the next row hides its latency", OutcomeKind::equivalent, 0.003, 0,
     Decision::revert, "the interval [-0.4, +1.0] % holds zero and stays below 2 %"},
    {"Non-temporal stores save the read for ownership", OutcomeKind::regressed, -0.084, 0,
     Decision::revert, "8.4 % slower than the incumbent"},
    {"A second pass in blocks of 512 keeps the row in the first-level cache",
     OutcomeKind::undecided, 0.011, 0, Decision::revert,
     "after 20 placements the interval still holds 2 %"},
    {"Rounding to bfloat16 by integer adds takes four instructions less", OutcomeKind::improved,
     0.147, 0.412, Decision::keep, "gain of 14.7 % is above the least gain of 2 %"}};

model::Verdict verdict(const Try& from, double gain, const std::string& against) {
  model::Verdict v;
  v.outcome = {from.outcome, model::default_fault(from.outcome), from.reason, {}};
  v.against = against;
  v.clock = "host";
  v.cache = "cold-clean";
  v.statistic = "mean of log ratios over placements";
  if (from.outcome == OutcomeKind::incorrect) {
    v.outcome.evidence.push_back(
        {"compare", "worst element 4095 of row 0", base::Json::object(), true});
    return v;
  }
  v.gain = gain;
  v.interval = {gain - 0.007, gain + 0.007};
  v.placements = 12;
  v.pairs = 120;
  v.confirmed = from.decision == Decision::keep;
  v.shapes = {
      {"decode", 4000, 1840, 1840 * (1 - gain), gain, {gain - 0.01, gain + 0.01}, 610, true},
      {"prefill",
       12,
       1.42e6,
       1.42e6 * (1 - gain * 0.9),
       gain * 0.9,
       {gain * 0.9 - 0.01, gain * 0.9 + 0.01},
       4.1e5,
       true},
      {"tail",
       300,
       5210,
       5210 * (1 - gain * 0.5),
       gain * 0.5,
       {gain * 0.5 - 0.02, gain * 0.5 + 0.02},
       0,
       gain > -0.02}};
  return v;
}

ledger::Baseline baseline() {
  ledger::Baseline base;
  base.contract = base::sha256("contract");
  base.hash = base::sha256("baseline");
  base.fastest = "first";
  base.how = {"host", "cold-clean", "median", "AMD EPYC 7B13", 20, 400};
  base.entries = {
      {"first",
       {},
       {{"decode", "M=1 H=4096", "bfloat16", 4000, 1840, 1912, 1851, 610, 400},
        {"prefill", "M=2048 H=4096", "bfloat16", 12, 1.42e6, 1.47e6, 1.43e6, 4.1e5, 400},
        {"tail", "M=3 H=4096", "bfloat16", 300, 5210, 5390, 5230, 0, 400}}}};
  return base;
}

template <class T> Status put(Writer& to, const T& payload) {
  return to.append(payload).map([](const ledger::Appended&) {});
}

Status fill_front(Writer& to, const std::string& extra) {
  AKO_TRY_STATUS(put(to, ledger::TaskCreated{"rmsnorm-bf16" + extra, "rmsnorm" + extra, "cpu",
                                             "examples", "0.1.0"}));
  AKO_TRY_STATUS(
      put(to, ledger::ContractSeen{base::sha256("contract"),
                                   "format = 1\n\n[kernel]\nname = \"rmsnorm\"\n" + extra + "\n"}));
  AKO_TRY_STATUS(put(
      to, ledger::SelfTest{base::sha256("contract"), true, {{"a/a", true, "a draw"}}, {}, 4.2}));
  AKO_TRY_STATUS(put(to, ledger::Environment{"AMD EPYC 7B13, 2 cores",
                                             "AMD EPYC 7B13",
                                             "Debian 12, Linux 6.1",
                                             "g++ 12.2.0",
                                             "0.1.0",
                                             base::sha256("machine"),
                                             {}}));
  AKO_TRY_STATUS(put(to, ledger::ReferencesRead{
                             {{"cpu-memory", "Memory on the host" + extra, base::sha256("g")}}}));
  AKO_TRY_STATUS(put(to, ledger::ReferencesRead{{{"loop", "The loop" + extra, base::sha256("l")},
                                                 {"cpu-memory", "Memory on the host" + extra,
                                                  base::sha256("newer")}}}));
  return put(to, baseline());
}

Status fill_iterations(Writer& to, const std::string& extra) {
  std::int64_t number = 0;
  for (const Try& each : k_tries) {
    ledger::Iteration it;
    it.number = ++number;
    it.hypothesis = each.hypothesis + extra;
    it.prediction = "5 to 10 %" + extra;
    it.predicted_gain = 0.07;
    it.cites = "guide:cpu-memory";
    it.lane = "cpu";
    it.change = "1 file changed, 14 insertions(+), 6 deletions(-)" + extra;
    it.snapshot = {base::sha256(each.hypothesis), "", {}};
    it.verdict = verdict(each, each.gain, number == 1 ? "baseline:first" : "iteration 1");
    if (each.total > 0) it.versus_baseline = verdict(each, each.total, "baseline:first");
    it.decision = each.decision;
    it.decision_reason = each.reason + extra;
    if (number == 6) it.direction = "fewer instructions instead of fewer bytes" + extra;
    if (number == 2) it.waived = {"references"};
    AKO_TRY_STATUS(put(to, it));
    AKO_TRY_STATUS(
        put(to, ledger::Committed{number, base::sha256("commit" + std::to_string(number)), ""}));
    if (each.decision == Decision::keep)
      AKO_TRY_STATUS(
          put(to, ledger::SecondOpinion{number, it.snapshot.hash, true, "self-timed", it.verdict}));
    if (number == 5)
      AKO_TRY_STATUS(
          put(to, ledger::Stall{5, 3, {}, {"prefetching: the interval holds zero" + extra}}));
  }
  return {};
}

} // namespace

Status fill(const base::fs::path& ledger, Hostile hostile) {
  const std::string extra = hostile == Hostile::yes ? std::string(" ") + k_hostile : "";
  AKO_TRY(Writer to, Writer::open(ledger, ledger::Open::create));
  AKO_TRY_STATUS(fill_front(to, extra));
  AKO_TRY_STATUS(
      put(to, ledger::Waiver{"references", "the guides do not cover bfloat16 on this core" + extra,
                             "try", "user"}));
  AKO_TRY_STATUS(fill_iterations(to, extra));
  AKO_TRY_STATUS(
      put(to, ledger::Note{"finding", "The loop is bound by loads below 64 rows" + extra, "me"}));
  AKO_TRY_STATUS(
      put(to, ledger::Note{"untested", "Rows that are not a multiple of 8" + extra, "me"}));
  return put(to, ledger::Note{"failed_attempt", "OpenMP over rows below 16 rows" + extra, "me"});
}

base::Expected<Data> filled(Hostile hostile) {
  AKO_TRY(const base::TemporaryDir dir, base::TemporaryDir::make("ako-report"));
  AKO_TRY_STATUS(fill(dir.path() / "ledger.sqlite", hostile));
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(dir.path() / "ledger.sqlite"));
  return collect(reader);
}

} // namespace ako::report::testing
