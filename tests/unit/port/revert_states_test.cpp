// A rejected candidate makes way for the incumbent in a repository in any state: what is the user's
// stays byte for byte.
#include "../preflight/fingerprint.hpp"
#include "../workspace/scratch_repo.hpp"
#include "states.hpp"
#include "workspace/revert.hpp"
#include "workspace/snapshot.hpp"

#include <gtest/gtest.h>

namespace ako::test {
namespace {

class EveryRevert : public testing::TestWithParam<State> {};

TEST_P(EveryRevert, PutsTheIncumbentBackAndChangesNothingElse) {
  const auto dir = base::TemporaryDir::make("ako-revert-test-").value();
  const fs::path repo = dir.path() / "repo";
  shell(dir.path(),
        std::string(k_prelude) + R"(git init -q -b main repo; cd repo; mkdir -p src task/solution
    echo 'int call();' > src/call.cpp; echo '*.o' > .gitignore; echo one > a.txt; echo 'format = 1' > task/task.toml
    echo 'int v0;' > task/solution/k.cpp; git add -A; git commit -qm one
    echo two >> a.txt; git commit -qam two; echo o > x.o)");
  shell(dir.path(), std::string(k_prelude) + "cd repo; " + GetParam().script);
  if (!fs::exists(
          repo /
          "task/task.toml")) { // a sparse checkout leaves it out: the user works on it all the same
    put(repo / "task/task.toml", "format = 1\n");
    put(repo / "task/solution/k.cpp", "int v0;\n");
  }
  const auto workdir = workspace::Workdir::at(repo / "task").value();
  model::Contract contract;
  contract.kernel.entry.file = "solution/k.cpp";
  const auto incumbent = workspace::take_snapshot(workdir, contract);
  ASSERT_TRUE(incumbent) << incumbent.error().text();
  const std::vector<std::string> own = {".git/objects", ".git/refs/ako", ".git/ako",
                                        "task/solution"};
  const auto before = fingerprint(repo, own);
  put(repo / "task/solution/k.cpp", "int v1;\n");
  const auto reverted = workspace::restore_sources(workdir, contract, *incumbent, "iter-1");
  ASSERT_TRUE(reverted) << reverted.error().text();
  EXPECT_EQ(difference(before, fingerprint(repo, own)), "");
  EXPECT_EQ(get(repo / "task/solution/k.cpp"), "int v0;\n");
  EXPECT_EQ(workspace::read_snapshot(workdir, "iter-1").value().texts[0].content, "int v1;\n");
}

INSTANTIATE_TEST_SUITE_P(Revert, EveryRevert, testing::ValuesIn(k_states),
                         [](const auto& state) { return std::string(state.param.name); });

} // namespace
} // namespace ako::test
