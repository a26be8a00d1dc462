#include "sample_events.hpp"

#include <cmath>
#include <limits>

namespace ako::ledger::testing {
namespace {

/// What is written reads back: JSON of the read-back payload equals the first JSON.
template <class T> void round_trip(const T& payload) {
  const base::Json first = to_json(payload);
  ASSERT_TRUE(first.is_object()) << to_string(T::k_kind);
  auto back = payload_from<T>(first);
  ASSERT_TRUE(back) << to_string(T::k_kind) << ": " << back.error().text();
  EXPECT_EQ(base::dump_json(first), base::dump_json(to_json(*back))) << to_string(T::k_kind);
  EXPECT_NE(base::dump_json(first), base::dump_json(to_json(T{})))
      << to_string(T::k_kind) << ": the test sets nothing";
}

const ShapeFigure k_figure{"decode", "M=1 H=4096", "bfloat16", 40, 812.5, 900.25, 820, 100, 400};
const HowTaken k_how{"host", "warm", "median", "cpu", 3, 50};

TEST(LedgerEvents, PlainPayloadsComeBack) {
  round_trip(TaskCreated{"t", "k", "cpu", "repo:a.cpp::f", "0.1"});
  round_trip(ContractSeen{"ab", "format = 1\n\"quoted\" \xc3\xa4"});
  round_trip(SelfTest{"ab",
                      true,
                      {{"probe:zeros", true, "caught"}, {"a/a", false, "x"}},
                      {"large values"},
                      1.5,
                      {{"reference", "input/r.cpp", "cd"}}});
  round_trip(Environment{"m", "d", "os", "g++", "0.1", "ff", base::Json{{"cores", 2}}});
  round_trip(ReferencesRead{{{"id", "title", "hash"}}});
  round_trip(Committed{3, "abc", "def"});
  round_trip(Direction{"try tiling", "cuda", 7});
  round_trip(Waiver{"references", "none apply", "try", "user"});
  round_trip(Profile{"ncu", "ab", "memory bound", {"one", "two"}, base::Json::array({1, 2})});
  round_trip(Port{"integrated", "repo", "branch", "commit", "x"});
  round_trip(Validation{"import", true, "fine"});
  round_trip(Note{"finding", "text", "me"});
  round_trip(Interrupted{"try", "killed", 4});
}

TEST(LedgerEvents, MeasuredPayloadsComeBack) {
  const Iteration it = iteration({.number = 4, .gain = 0.02, .direction = "tiles"});
  round_trip(it);
  Iteration bare = it;
  bare.artifact.reset();
  bare.predicted_gain.reset();
  bare.versus_baseline = it.verdict;
  bare.explore = Explore::yes;
  bare.waived = {"references"};
  round_trip(bare);
  Baseline baseline;
  baseline.entries = {{"found", *it.artifact, {k_figure}}};
  baseline.fastest = "found";
  baseline.how = k_how;
  baseline.files = {{"baseline:found", "input/k.cpp", "ef"}};
  round_trip(baseline);
  ASSERT_EQ(payload_from<Baseline>(to_json(baseline))->files.size(), 1u);
  round_trip(Compare{"a", "b", "1", "2", true, it.verdict, k_how});
  round_trip(Bench{"incumbent", "1", {k_figure}, k_how});
  round_trip(SecondOpinion{4, "c", true, "self-timed", it.verdict});
  round_trip(Stall{9, 3, {k_figure}, {"wider loads: no gain"}});
}

TEST(LedgerEvents, AFieldThatAnOlderAkoDidNotWriteReadsAsItsDefault) {
  base::Json old = to_json(iteration({.number = 2}));
  old.erase("waived");
  old.erase("how");
  old.erase("versus_baseline");
  auto read = payload_from<Iteration>(old);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->number, 2);
  EXPECT_TRUE(read->waived.empty());
  old = to_json(SelfTest{"ab", true, {}, {}, 1, {{"reference", "input/r.cpp", "cd"}}});
  ASSERT_EQ(payload_from<SelfTest>(old)->files.at(0).path, "input/r.cpp");
  old.erase("files");
  ASSERT_TRUE(payload_from<SelfTest>(old));
  EXPECT_TRUE(payload_from<SelfTest>(old)->files.empty());
}

TEST(LedgerEvents, AFieldOfTheWrongTypeIsNamed) {
  base::Json bad = to_json(Waiver{"references", "why", "try", "user"});
  bad["why"] = 3;
  auto read = payload_from<Waiver>(bad);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("why"), std::string::npos) << read.error().text();
  base::Json odd = to_json(iteration({}));
  odd["decision"] = "maybe";
  auto decided = payload_from<Iteration>(odd);
  ASSERT_FALSE(decided);
  EXPECT_NE(decided.error().text().find("maybe"), std::string::npos);
  EXPECT_FALSE(payload_from<Note>(base::Json::array()));
}

TEST(LedgerEvents, NonFiniteNumbersBecomeNull) {
  Iteration it = iteration({});
  it.seconds = std::numeric_limits<double>::quiet_NaN();
  const std::string text = base::dump_json(to_json(it));
  EXPECT_NE(text.find("\"seconds\":null"), std::string::npos);
  auto back = payload_from<Iteration>(*base::parse_json(text, "t"));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(std::isnan(back->seconds));
}

TEST(LedgerEvents, EveryKindHasItsName) {
#define AKO_X(name) EXPECT_EQ(kind_from(to_string(EventKind::name)), EventKind::name);
  AKO_EVENT_KINDS(AKO_X)
#undef AKO_X
  EXPECT_FALSE(kind_from("nothing"));
}

} // namespace
} // namespace ako::ledger::testing
