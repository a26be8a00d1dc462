#include "child.hpp"
#include "sample_events.hpp"

#include <array>
#include <fmt/format.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::ledger::testing {
namespace {

class Writers : public LedgerTest {};

TEST_F(Writers, SixtyFourAtOnceAreAllPresent) {
  // They also race for making the ledger.
  constexpr int k_writers = 64;
  std::vector<pid_t> children;
  std::array<int, 2> gate{};
  ASSERT_EQ(::pipe(gate.data()), 0);
  for (int i = 0; i < k_writers; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(gate[1]);
      char c = 0;
      static_cast<void>(::read(gate[0], &c, 1)); // all start when the gate closes
      auto to = Writer::open(path(), Open::create);
      if (!to) {
        std::fprintf(stderr, "%s\n", to.error().text().c_str());
        ::_exit(1);
      }
      auto done = to->append(Note{"note", fmt::format("writer {}", i), "w"},
                             {{"b", fmt::format("{}", i)}}, samples(5, i));
      if (!done) std::fprintf(stderr, "%s\n", done.error().text().c_str());
      ::_exit(done ? 0 : 2);
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  auto notes = reader().all<Note>();
  ASSERT_TRUE(notes);
  std::set<std::string> names;
  for (const auto& each : *notes) names.insert(each.payload.text);
  EXPECT_EQ(names.size(), static_cast<std::size_t>(k_writers));
  const Verified result = verified();
  EXPECT_FALSE(result.broken) << (result.broken ? result.broken->what : "");
  EXPECT_EQ(result.events, k_writers);
  EXPECT_EQ(result.samples, 5 * k_writers);
}

} // namespace
} // namespace ako::ledger::testing
