// An open task: what is on record about it, its lock, and the inputs it is judged on.
#include "../../fakes/killed_writer.hpp"
#include "../workspace/scratch_repo.hpp"
#include "loop/catch_up.hpp"
#include "loop/deciding_files.hpp"
#include "loop/environment.hpp"
#include "loop/recipes.hpp"
#include "loop/session.hpp"
#include "loop/try.hpp"
#include "workspace/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ako::loop {
namespace {

using inputs::Recipe;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* k_contract = R"(format = 1
[kernel]
entry = { file = "solution/k.cpp", symbol = "scale" }
[axes]
N = { var = true }
[[tensor]]
name = "x"
role = "in"
dtype = "float32"
shape = ["N"]
[[tensor]]
name = "y"
role = "out"
dtype = "float32"
shape = ["N"]
[[shape]]
N = 4
[reference]
entry = { file = "input/ref.cpp", symbol = "scale" }
[[baseline]]
name = "first"
entry = { file = "input/ref.cpp", symbol = "scale" }
)";

class SessionTest : public testing::Test {
protected:
  SessionTest() {
    m_repo.add_task();
    test::put(m_repo.task() / "task.toml", k_contract);
  }
  Session open(Need need = Need::contract) {
    auto session = Session::open(m_repo.task(), need);
    EXPECT_TRUE(session) << session.error().text();
    return std::move(*session);
  }
  template <class Payload> void record(const Payload& payload) {
    auto writer = open(Need::record).writer();
    ASSERT_TRUE(writer) << writer.error().text();
    ASSERT_TRUE(writer->append(payload));
  }
  void record_check(const base::Hash& contract, bool passed, std::vector<std::string> recipes) {
    ledger::SelfTest test;
    test.contract = contract;
    test.passed = passed;
    test.recipes = std::move(recipes);
    record(test);
  }
  test::ScratchRepo m_repo;
};

TEST_F(SessionTest, OpensFromAFolderBelowAndReadsTheRecordOfABrokenContract) {
  EXPECT_TRUE(Session::open(m_repo.task() / "solution", Need::contract));
  test::put(m_repo.task() / "task.toml", "not toml at all [");
  EXPECT_TRUE(Session::open(m_repo.task(), Need::record));
  EXPECT_FALSE(Session::open(m_repo.task(), Need::contract));
}

TEST_F(SessionTest, WithoutARecordReadingIsRefusedAndStandingIsEmpty) {
  auto reader = open().reader();
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, base::ErrorKind::refused);
  EXPECT_THAT(reader.error().next, HasSubstr("ako check"));
  EXPECT_EQ(open().standing()->events, 0);
  EXPECT_FALSE(open().facts()->standing.self_test_event);
}

TEST_F(SessionTest, ToLookMakesNothingInTheRepository) {
  for (const Need need : {Need::record, Need::contract}) {
    const auto session = open(need);
    EXPECT_FALSE(session.reader());
    EXPECT_TRUE(session.standing());
    EXPECT_TRUE(session.facts());
    EXPECT_FALSE(session.whose_record());
  }
  EXPECT_FALSE(base::fs::exists(m_repo.top() / ".git/ako"));
  ASSERT_TRUE(open().lock());
  EXPECT_TRUE(base::fs::exists(m_repo.top() / ".git/ako/task/lock"));
}

/// A finished task as it is unpacked: in a repository, or in none.
TEST_F(SessionTest, AFinishedTaskIsReadByTheRecordItCameWithUntilItHasItsOwn) {
  record(ledger::Note{"note", "of another machine", "me"});
  const base::fs::path own = *open().workdir().ledger();
  const base::Hash head = open().standing()->head;
  const base::fs::path shipped = open().workdir().task() / "record/ledger.sqlite";
  base::fs::create_directories(shipped.parent_path());
  base::fs::rename(own, shipped);
  for (const auto& suffix : {"-wal", "-shm"}) base::fs::remove(own.string() + suffix);
  for (const bool repository : {true, false}) {
    SCOPED_TRACE(repository);
    if (!repository) base::fs::rename(m_repo.top() / ".git", m_repo.top() / "no-git");
    const auto session = open(Need::record);
    auto reader = session.reader();
    ASSERT_TRUE(reader) << reader.error().text();
    EXPECT_EQ(*reader->head(), head);
    ASSERT_TRUE(session.whose_record());
    EXPECT_THAT(*session.whose_record(), HasSubstr(shipped.string()));
    // What opens gates is the task's own record alone.
    EXPECT_FALSE(open().reader());
    EXPECT_EQ(open().standing()->events, 0);
    ASSERT_TRUE(open().facts());
    EXPECT_EQ(open().facts()->standing.events, 0);
    EXPECT_EQ(open().shipped_record(), shipped);
    EXPECT_EQ(static_cast<bool>(session.lock()), repository);
    EXPECT_EQ(static_cast<bool>(session.writer()), repository);
    if (repository) base::fs::remove(own); // which the writer began
  }
  base::fs::rename(m_repo.top() / "no-git", m_repo.top() / ".git");
  record(ledger::Note{"note", "of this one", "me"});
  EXPECT_FALSE(open(Need::record).whose_record());
  EXPECT_FALSE(open().shipped_record());
  EXPECT_NE(*open(Need::record).reader()->head(), head);
  base::fs::remove_all(m_repo.top() / ".git");
  base::fs::remove_all(shipped.parent_path());
  const auto neither = open(Need::record).reader();
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.error().kind, base::ErrorKind::environment);
}

TEST_F(SessionTest, OneCommandAtATimeAndTheOtherIsNamed) {
  {
    auto first = open().lock();
    ASSERT_TRUE(first) << first.error().text();
    auto second = open().lock();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, base::ErrorKind::refused);
    EXPECT_THAT(second.error().found, HasSubstr(std::to_string(::getpid())));
    EXPECT_THAT(second.error().next, HasSubstr("wait"));
  }
  EXPECT_TRUE(open().lock());
}

TEST_F(SessionTest, TheNextCommandFindsNoDebrisOfOneThatWasKilled) {
  const auto files = [&] { return base::list_files(m_repo.task()).value(); };
  const auto before = files();
  for (const char* file : {"ITERATIONS.md", "solution/k.cpp", "context/k_notes.md"})
    test::killed_while_writing(1000, [&] {
      static_cast<void>(base::write_file_atomic(m_repo.task() / file, std::string(5000, 'x')));
    });
  EXPECT_EQ(files().size(), before.size() + 3);
  ASSERT_TRUE(open(Need::record).lock());
  EXPECT_EQ(files(), before);
}

TEST_F(SessionTest, FactsComeFromTheLastOfEach) {
  const auto session = open();
  record_check(base::Hash(64, '1'), true, {});
  record_check(session.contract().hash, false, {});
  ledger::Baseline baseline;
  baseline.contract = session.contract().hash;
  baseline.environment = environment_of(host_facts(), loop::Target{}, "").identity;
  record(baseline);
  const auto facts = session.facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->self_test_contract, session.contract().hash);
  EXPECT_FALSE(facts->self_test_passed);
  EXPECT_EQ(facts->baseline_contract, facts->contract);
  EXPECT_EQ(facts->baseline_environment, facts->environment);
}

TEST_F(SessionTest, AFileThatDecidesAndIsNoLongerWhatItWasIsNamed) {
  const auto session = open();
  const auto hash_of = [&](const char* file) { return *base::sha256_file(m_repo.task() / file); };
  test::put(m_repo.task() / "input/sub.hpp", "int one();\n");
  ledger::SelfTest test;
  test.contract = session.contract().hash;
  test.passed = true;
  record(test); // of an older ako: no files
  EXPECT_FALSE(session.facts()->check_names_files);
  test.files = {{"reference", "input/ref.cpp", hash_of("input/ref.cpp")},
                {"reference", "input/sub.hpp", hash_of("input/sub.hpp")}};
  record(test);
  ledger::Baseline baseline;
  baseline.contract = session.contract().hash;
  baseline.files = {{"baseline:first", "input/ref.cpp", hash_of("input/ref.cpp")}};
  record(baseline);
  EXPECT_TRUE(session.facts()->check_names_files);
  EXPECT_TRUE(session.facts()->baseline_names_files);
  EXPECT_THAT(session.facts()->changed_since_check, testing::IsEmpty());
  test::put(m_repo.task() / "solution/k.cpp", "int other();\n"); // the candidate may change
  EXPECT_THAT(session.facts()->changed_since_check, testing::IsEmpty());
  test::put(m_repo.task() / "input/sub.hpp", "int two();\n");
  EXPECT_THAT(session.facts()->changed_since_check, ElementsAre("input/sub.hpp (reference)"));
  EXPECT_THAT(session.facts()->changed_since_baseline, testing::IsEmpty());
  base::fs::remove(m_repo.task() / "input/ref.cpp");
  const auto facts = Session::open(m_repo.task(), Need::record)->facts();
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->changed_since_check,
              ElementsAre("input/ref.cpp (reference, gone)", "input/sub.hpp (reference)"));
  EXPECT_THAT(facts->changed_since_baseline, ElementsAre("input/ref.cpp (baseline:first, gone)"));
}

TEST_F(SessionTest, OtherBytesThanTheProvenOnesAreStaleWhereARoleIsKnown) {
  Built built;
  built.sources = workspace::make_sources({{"input/ref.cpp", "int v1;\n", false}});
  built.headers = {{"input/sub.hpp", base::sha256("x"), 1}};
  const std::vector<ledger::FileSeen> same = files_of("reference", built);
  ASSERT_EQ(same.size(), 2u);
  EXPECT_TRUE(built_as_proven("reference", built, same));
  EXPECT_TRUE(built_as_proven("baseline:first", built, same)); // never proven: the gates say so
  std::vector<ledger::FileSeen> other = same;
  other[1].hash = base::sha256("y");
  auto found = built_as_proven("reference", built, other);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, base::ErrorKind::stale);
  EXPECT_EQ(found.error().where, "input/sub.hpp");
  other.pop_back(); // a header that was not read before
  EXPECT_FALSE(built_as_proven("reference", built, other));
}

TEST_F(SessionTest, ALedgerThatCommitsNameAndThatIsGoneIsTold) {
  record(ledger::Note{"note", "first", "me"});
  const base::Hash head = open().standing()->head;
  test::put(m_repo.task() / "ITERATIONS.md", "one\n");
  m_repo.git("add -A && git commit -qm '[iter 1] step\n\nAko-Ledger-Head: " + head + "'");
  EXPECT_TRUE(open().record_is_there());
  const base::fs::path ledger = *open().workdir().ledger();
  const base::fs::path away = m_repo.top() / "away.sqlite";
  base::fs::rename(ledger, away);
  for (const auto& suffix : {"-wal", "-shm"}) base::fs::remove(ledger.string() + suffix);
  const auto session = open();
  const auto told = [&](const base::Error& error) {
    EXPECT_EQ(error.kind, base::ErrorKind::stale) << error.text();
    EXPECT_EQ(error.where, ledger.string());
    EXPECT_THAT(error.found, HasSubstr(head.substr(0, 12)));
    EXPECT_THAT(error.found, HasSubstr("[iter 1] step"));
    EXPECT_THAT(error.next, HasSubstr("ako verify"));
  };
  for (const auto& error : {session.reader().error(), session.writer().error(),
                            session.standing().error(), session.facts().error()})
    told(error);
  EXPECT_FALSE(base::fs::exists(ledger)) << "nothing was begun in its place";
  base::fs::rename(away, ledger);
  EXPECT_TRUE(session.reader());
  EXPECT_TRUE(session.writer());
}

/// What a kill between the record and the commit leaves, and a user who went on editing.
class CatchUpTest : public SessionTest {
protected:
  CatchUpTest() {
    ledger::Iteration iteration;
    iteration.number = 1;
    iteration.hypothesis = "eight sums";
    iteration.verdict.outcome.kind = model::OutcomeKind::incorrect;
    record(iteration);
    test::put(m_repo.task() / "solution/k.cpp", "int edited_since();\n");
  }
  std::string made_up() {
    const auto session = open();
    auto writer = session.writer();
    EXPECT_TRUE(writer);
    auto said = catch_up(session, *writer, [](const Session& at) -> base::Status {
      return base::write_file_atomic(at.workdir().iterations(), "# one\n");
    });
    EXPECT_TRUE(said) << said.error().text();
    return said.value_or("");
  }
  std::string commit_on_record() { return *open().reader()->commit_of(1); }
};

TEST_F(CatchUpTest, TheMissingCommitIsMadeOfTheTextsAlone) {
  EXPECT_THAT(made_up(), HasSubstr("commit of iteration 1 was missing"));
  EXPECT_THAT(m_repo.git("log -1 --format=%B"),
              testing::AllOf(HasSubstr("[iter 1] eight sums"), HasSubstr("revert: incorrect"),
                             HasSubstr("Ako-Ledger-Head: ")));
  EXPECT_EQ(m_repo.git("show --name-only --format="), "task/ITERATIONS.md\n");
  EXPECT_EQ(test::get(m_repo.task() / "solution/k.cpp"), "int edited_since();\n");
  EXPECT_EQ(commit_on_record() + "\n", m_repo.git("rev-parse HEAD"));
  EXPECT_EQ(made_up(), "") << "nothing is missing now";
}

TEST_F(CatchUpTest, ACommitThatWasMadeAndNotNotedIsNotMadeAgain) {
  test::put(m_repo.task() / "ITERATIONS.md", "# one\n");
  m_repo.git("add task/ITERATIONS.md && git commit -qm '[iter 1] eight sums\n\nAko-Ledger-Head: " +
             open().standing()->head + "'");
  EXPECT_EQ(made_up(), "");
  EXPECT_EQ(commit_on_record() + "\n", m_repo.git("rev-parse HEAD"));
  EXPECT_EQ(m_repo.git("rev-list --count HEAD"), "2\n");
}

TEST_F(SessionTest, SurroundingsAreNotedOnceUntilTheyChange) {
  const auto session = open();
  auto writer = session.writer();
  ASSERT_TRUE(writer);
  ASSERT_TRUE(session.note_surroundings(*writer, "g++ 12"));
  const auto after_first = session.standing()->events;
  EXPECT_EQ(after_first, 2); // contract and environment
  ASSERT_TRUE(session.note_surroundings(*writer, "g++ 12"));
  EXPECT_EQ(session.standing()->events, after_first);
  ASSERT_TRUE(session.note_surroundings(*writer, "g++ 13"));
  EXPECT_EQ(session.standing()->events, after_first + 1);
}

TEST_F(SessionTest, JudgedRecipesArePlainAndWhatTheLastCheckOfThisContractFound) {
  EXPECT_THAT(*judged_recipes(open()), ElementsAre(Recipe::plain));
  record_check(open().contract().hash, true,
               {"plain", "tail_mass", "no_such", "tail_mass", "ties"});
  EXPECT_THAT(*judged_recipes(open()), ElementsAre(Recipe::plain, Recipe::tail_mass, Recipe::ties));
  record_check(base::Hash(64, '2'), true, {"large"});
  EXPECT_THAT(*judged_recipes(open()), ElementsAre(Recipe::plain));
}

TEST_F(SessionTest, TheIncumbentIsTheFastestBaselineUntilSomethingIsKept) {
  record(ledger::TaskCreated{"t", "k", "cpu", "here", "0"});
  EXPECT_EQ(incumbent_of(open())->label, "baseline:first");
  ledger::Baseline baseline;
  baseline.fastest = "library";
  record(baseline);
  EXPECT_EQ(incumbent_of(open())->label, "baseline:library");
}

TEST_F(SessionTest, AKeptIncumbentWhoseSourcesWereExchangedIsStale) {
  const auto session = open();
  model::Sources sources = workspace::make_sources({{"solution/k.cpp", "int v1;\n", false}});
  ASSERT_TRUE(workspace::keep_snapshot(session.workdir(), sources, "iter-1"));
  ledger::Iteration iteration;
  iteration.number = 1;
  iteration.snapshot = sources.snapshot;
  iteration.decision = model::Decision::keep;
  iteration.verdict.outcome.kind = model::OutcomeKind::improved;
  record(iteration);
  auto incumbent = incumbent_of(session);
  ASSERT_TRUE(incumbent) << incumbent.error().text();
  EXPECT_EQ(incumbent->iteration, 1);
  EXPECT_EQ(incumbent->sources.texts.at(0).content, "int v1;\n");
  sources = workspace::make_sources({{"solution/k.cpp", "int other;\n", false}});
  ASSERT_TRUE(workspace::keep_snapshot(session.workdir(), sources, "iter-1"));
  incumbent = incumbent_of(session);
  ASSERT_FALSE(incumbent);
  EXPECT_EQ(incumbent.error().kind, base::ErrorKind::stale);
}

} // namespace
} // namespace ako::loop
