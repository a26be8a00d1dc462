// A harness checkout in every state that people have theirs in: each is told apart, each has its
// remedy, and nothing of the user's changes.
#include "../workspace/scratch_repo.hpp"
#include "fingerprint.hpp"
#include "workspace/preflight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::test {
namespace {

using workspace::Checkout;
using workspace::CheckoutState;
using workspace::PreflightRequest;
using S = CheckoutState;

constexpr const char* k_prelude = R"(
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t
export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t GIT_EDITOR=true
git() { command git -c protocol.file.allow=always "$@"; }
advance() { (cd dev && echo "$RANDOM" >> b.txt && git commit -qam more && git push -q); }
commit() { git commit -qm "$1"; }
)";

/// up.git (default branch main, two commits), dev (who pushes to it), AKO4ALL (a clone): made once.
const fs::path& first_world() {
  static const auto dir = base::TemporaryDir::make("ako-preflight-").value();
  static const std::string made = shell(dir.path(), std::string(k_prelude) + R"(
      git init -q --bare -b main up.git; git clone -q up.git dev 2>/dev/null; cd dev
      git symbolic-ref HEAD refs/heads/main
      printf 'one\n' > a.txt; printf 'b\n' > b.txt; printf 'ignored/\n*.o\n' > .gitignore
      mkdir sub; echo c > sub/c.txt; git add -A; commit base; echo two >> a.txt; git commit -qam two
      git push -q -u origin main; cd ..; git clone -q up.git AKO4ALL
      mkdir AKO4ALL/ignored; echo kept > AKO4ALL/ignored/k; echo o > AKO4ALL/x.o)");
  return dir.path();
}

/// A copy of the first world, whose clones follow the copy of up.git.
class World {
public:
  World() : m_dir(base::TemporaryDir::make("ako-preflight-").value()) {
    ::setenv("no_proxy", "127.0.0.1", 1); // what is not there is not to be asked of a proxy
    const std::string from = first_world().string();
    run("cp -a " + from + "/. .; sed -i \"s|" + from +
        "|$PWD|\" dev/.git/config AKO4ALL/.git/config\n"
        "for clone in dev AKO4ALL; do git -C $clone update-index -q --refresh; done");
  }
  const fs::path& top() const { return m_dir.path(); }
  fs::path checkout() const { return top() / "AKO4ALL"; }
  void run(const std::string& script) const { shell(top(), k_prelude + script); }
  std::string out(const std::string& script) const { return shell(top(), k_prelude + script); }
  Checkout look(PreflightRequest::Mode mode = PreflightRequest::Mode::bring,
                const std::string& url = {}) const {
    auto found = workspace::preflight({checkout(), url, mode, 20});
    EXPECT_TRUE(found) << found.error().text();
    return found ? *found : Checkout{};
  }

private:
  base::TemporaryDir m_dir;
};

const std::vector<std::string> k_may_grow = {".git/objects", ".git/refs/ako"};

struct State {
  const char* name;
  const char* script;    ///< run beside AKO4ALL
  std::vector<S> states; ///< in order; empty = clean and exactly at its upstream
};

void PrintTo(const State& state, std::ostream* out) { *out << state.name; }

// clang-format off
const State k_states[] = {
    {"clean", "true", {}},
    {"stash", "cd AKO4ALL; echo s >> a.txt; git stash -q", {}},
    {"a_tasks_worktree", "cd AKO4ALL; git worktree add -q -b ako/rms ../AKO4ALL-rms", {}},
    {"other_branches_and_tags", "cd AKO4ALL; git branch mine; git tag v1", {}},
    {"default_branch_trunk", "cd up.git; git branch trunk; git symbolic-ref HEAD refs/heads/trunk; cd ../AKO4ALL; git fetch -q; git switch -q trunk", {}},
    {"default_branch_with_a_slash", "cd up.git; git branch rel/2.x; git symbolic-ref HEAD refs/heads/rel/2.x; cd ../AKO4ALL; git fetch -q; git switch -q rel/2.x", {}},
    {"local_name_differs", "cd AKO4ALL; git branch -q -m main harness", {}},
    {"remote_of_another_name", "cd AKO4ALL; git remote rename origin upstream 2>/dev/null", {}},
    {"a_fork_beside", "cd AKO4ALL; git remote add fork /nowhere", {}},
    {"shallow_at_upstream", "rm -rf AKO4ALL; git clone -q --depth 1 file://$PWD/up.git AKO4ALL", {}},
    {"linked_worktree", "mv AKO4ALL keep; cd keep; git switch -q -c own; git worktree add -q ../AKO4ALL main", {}},
    {"packed_refs", "cd AKO4ALL; git pack-refs --all; git gc -q", {}},
    {"edited", "cd AKO4ALL; echo e >> a.txt", {S::dirty}},
    {"staged", "cd AKO4ALL; echo e >> a.txt; git add a.txt", {S::dirty}},
    {"staged_and_edited", "cd AKO4ALL; echo e >> a.txt; git add a.txt; echo f >> a.txt", {S::dirty}},
    {"deleted", "cd AKO4ALL; rm a.txt", {S::dirty}},
    {"renamed", "cd AKO4ALL; git mv a.txt z.txt", {S::dirty}},
    {"mode", "cd AKO4ALL; chmod +x a.txt", {S::dirty}},
    {"link_for_a_file", "cd AKO4ALL; rm a.txt; ln -s b.txt a.txt", {S::dirty}},
    {"intent_to_add", "cd AKO4ALL; echo n > n.txt; git add -N n.txt", {S::dirty}},
    {"untracked", "cd AKO4ALL; echo n > 'n ü.txt'", {S::untracked}},
    {"untracked_though_not_shown", "cd AKO4ALL; git config status.showUntrackedFiles no; echo n > n.txt", {S::untracked}},
    {"nested_repository", "cd AKO4ALL; git init -q nested; echo n > nested/f", {S::untracked}},
    {"edited_and_untracked", "cd AKO4ALL; echo e >> a.txt; echo n > n.txt", {S::dirty, S::untracked}},
    {"assume_unchanged", "cd AKO4ALL; git update-index --assume-unchanged a.txt; echo e >> a.txt", {S::hidden}},
    {"skip_worktree", "cd AKO4ALL; git update-index --skip-worktree a.txt; echo e >> a.txt", {S::hidden}},
    {"sparse", "cd AKO4ALL; rm -r ignored x.o; git sparse-checkout set --no-cone '/a.txt'", {S::sparse}},
    {"ahead", "cd AKO4ALL; echo e >> a.txt; git commit -qam mine", {S::ahead}},
    {"ahead_and_dirty", "cd AKO4ALL; echo e >> a.txt; git commit -qam mine; echo f >> a.txt", {S::dirty, S::ahead}},
    {"diverged", "advance; cd AKO4ALL; echo e >> a.txt; git commit -qam mine", {S::diverged}},
    {"unrelated", "cd AKO4ALL; git checkout -q --orphan o; git commit -qm o; git branch -q -M main; git branch -q -u origin/main", {S::diverged}},
    {"upstream_rewritten", "cd dev; git commit -q --amend -m other; git push -qf", {S::diverged}},
    {"behind_and_dirty", "advance; cd AKO4ALL; echo e >> a.txt", {S::dirty, S::behind}},
    {"behind_and_untracked", "advance; cd AKO4ALL; echo e > n.txt", {S::untracked, S::behind}},
    {"behind_and_an_ignored_file_in_the_way", "cd dev; echo tracked > x.o; git add -f x.o; commit x; git push -q", {S::in_the_way}},
    {"detached_at_upstream", "cd AKO4ALL; git checkout -q --detach", {S::detached}},
    {"detached_elsewhere", "cd AKO4ALL; git checkout -q HEAD~1", {S::detached, S::behind}},
    {"another_branch", "cd AKO4ALL; git switch -q -c mine", {S::wrong_branch}},
    {"follows_another_branch", "cd up.git; git branch dev; cd ../AKO4ALL; git fetch -q; git branch -q -u origin/dev", {S::wrong_branch}},
    {"follows_a_local_branch", "cd AKO4ALL; git branch local; git branch -q -u local", {S::wrong_branch}},
    {"default_moved_to_trunk", "cd up.git; git branch trunk; git symbolic-ref HEAD refs/heads/trunk", {S::wrong_branch}},
    {"merge", "cd AKO4ALL; git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git switch -q main; git merge -q o >/dev/null || true", {S::merge, S::conflict}},
    {"merge_resolved", "cd AKO4ALL; git switch -q -c o HEAD~1; echo x > b.txt; git commit -qam o; git switch -q main; git merge -q --no-commit --no-ff o", {S::merge, S::dirty}},
    {"rebase", "cd AKO4ALL; git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git rebase -q main >/dev/null 2>&1 || true", {S::rebase, S::detached, S::conflict}},
    {"am", "cd AKO4ALL; git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git format-patch -q -1 -o ../p; git switch -q main; git am -q ../p/* >/dev/null 2>&1 || true", {S::apply_mail}},
    {"cherry_pick", "cd AKO4ALL; git switch -q -c o HEAD~1; echo x > a.txt; git commit -qam o; git switch -q main; git cherry-pick o >/dev/null 2>&1 || true", {S::cherry_pick, S::conflict}},
    {"revert", "cd AKO4ALL; echo x > a.txt; git commit -qam o; git revert HEAD~1 >/dev/null 2>&1 || true", {S::revert, S::conflict, S::ahead}},
    {"bisect", "cd AKO4ALL; git bisect start -q HEAD HEAD~1 >/dev/null; git checkout -q main", {S::bisect}},
    {"locked_index", "cd AKO4ALL; touch .git/index.lock", {S::index_locked}},
    {"shallow_and_behind", "rm -rf AKO4ALL; git clone -q --depth 1 file://$PWD/up.git AKO4ALL; advance", {S::shallow}},
    {"no_remote", "cd AKO4ALL; git remote remove origin", {S::no_upstream}},
    {"two_remotes_and_none_followed", "cd AKO4ALL; git remote rename origin x 2>/dev/null; git remote add y ../up.git; git branch --unset-upstream", {S::no_upstream}},
    {"no_network", "cd AKO4ALL; git remote set-url origin http://127.0.0.1:1/x.git", {S::no_network}},
    {"upstream_is_gone", "mv up.git gone.git", {S::no_such_upstream}},
    {"wrong_credentials", "printf '#!/bin/sh\\necho \"git@h: Permission denied (publickey).\" >&2; exit 255\\n' > ssh; chmod +x ssh; cd AKO4ALL; git config core.sshCommand $PWD/../ssh; git remote set-url origin git@h:x.git", {S::wrong_credentials}},
    {"asks_for_a_key", "printf '#!/bin/sh\\necho \"Host key verification failed.\" >&2; exit 255\\n' > ssh; chmod +x ssh; cd AKO4ALL; git config core.sshCommand $PWD/../ssh; git remote set-url origin ssh://h/x.git", {S::wrong_credentials}},
    {"empty_upstream", "rm -rf up.git; git init -q --bare -b main up.git", {S::empty_upstream}},
    {"unborn", "rm -rf AKO4ALL; git init -q -b main AKO4ALL", {S::unborn}},
    {"bare", "rm -rf AKO4ALL; git clone -q --bare up.git AKO4ALL", {S::bare}},
    {"plain_folder", "rm -rf AKO4ALL/.git", {S::not_a_repository}},
    {"folder_of_another_repository", "rm -rf AKO4ALL/.git; git init -q .", {S::not_a_repository}},
    {"a_file", "rm -rf AKO4ALL; echo f > AKO4ALL", {S::not_a_repository}},
    {"a_link_to_nothing", "rm -rf AKO4ALL; ln -s nowhere AKO4ALL", {S::not_a_repository}},
    {"head_is_garbage", "echo garbage > AKO4ALL/.git/HEAD", {S::broken_repository}},
    {"index_is_garbage", "echo garbage > AKO4ALL/.git/index", {S::broken_repository}},
    {"branch_leads_nowhere", "cd AKO4ALL; git pack-refs --all; rm .git/packed-refs; echo 1111111111111111111111111111111111111111 > .git/refs/heads/main", {S::broken_repository}},
    {"submodule_not_fetched", "cd dev; git submodule --quiet add ../up.git m; commit m; git push -q; cd ../AKO4ALL; git pull -q", {S::submodules}},
    {"submodule_changed", "cd dev; git submodule --quiet add ../up.git m; commit m; git push -q; cd ../AKO4ALL; git pull -q; git submodule --quiet update --init; echo e >> m/a.txt", {S::submodules}},
    {"missing", "rm -rf AKO4ALL", {S::missing}},
};
// clang-format on

class EveryState : public testing::TestWithParam<State> {};

TEST_P(EveryState, IsToldApartAndChangesNothing) {
  const World world;
  world.run(GetParam().script);
  const auto before = fingerprint(world.checkout(), k_may_grow);
  const Checkout found = world.look();
  std::vector<S> states;
  for (const auto& trouble : found.troubles) {
    states.push_back(trouble.state);
    EXPECT_FALSE(trouble.found.empty());
    EXPECT_FALSE(trouble.remedy.empty());
  }
  EXPECT_EQ(states, GetParam().states) << found.text();
  EXPECT_EQ(found.whole(), GetParam().states.empty());
  EXPECT_EQ(difference(before, fingerprint(world.checkout(), k_may_grow)), "");
}

INSTANTIATE_TEST_SUITE_P(Preflight, EveryState, testing::ValuesIn(k_states),
                         [](const auto& state) { return std::string(state.param.name); });

TEST(Preflight, ThereAreMoreThanThirtyStates) { EXPECT_GE(std::size(k_states), 30u); }

TEST(Preflight, AMissingCheckoutIsClonedFromTheGivenUpstream) {
  const World world;
  world.run("rm -rf AKO4ALL");
  const std::string url = (world.top() / "up.git").string();
  EXPECT_TRUE(world.look(PreflightRequest::Mode::look, url).has(S::missing));
  EXPECT_FALSE(fs::exists(world.checkout()));
  const Checkout found = world.look(PreflightRequest::Mode::bring, url);
  EXPECT_TRUE(found.whole()) << found.text();
  EXPECT_EQ(found.done, Checkout::Done::cloned);
  EXPECT_EQ(found.default_branch, "main");
  EXPECT_EQ(get(world.checkout() / "a.txt"), "one\ntwo\n");
}

TEST(Preflight, ACloneThatFailsLeavesNothingBehind) {
  const World world;
  world.run("rm -rf AKO4ALL");
  const auto listed = world.out("ls -A");
  EXPECT_TRUE(world.look(PreflightRequest::Mode::bring, (world.top() / "none.git").string())
                  .has(S::no_such_upstream));
  EXPECT_EQ(world.out("ls -A"), listed);
}

TEST(Preflight, ACleanCheckoutThatIsBehindIsMovedForward) {
  const World world;
  world.run("cd AKO4ALL; echo s >> a.txt; git stash -q; cd ..; advance; advance");
  const std::vector<std::string> moves = {".git/objects",
                                          ".git/refs/ako",
                                          ".git/index",
                                          ".git/logs/HEAD",
                                          ".git/logs/refs/heads/main",
                                          ".git/refs/heads/main",
                                          ".git/refs/remotes/origin/main",
                                          ".git/logs/refs/remotes/origin/main",
                                          ".git/ORIG_HEAD",
                                          "b.txt"};
  const auto before = fingerprint(world.checkout(), moves);
  const Checkout looked = world.look(PreflightRequest::Mode::look);
  EXPECT_TRUE(looked.has(S::behind));
  EXPECT_EQ(looked.behind, 2);
  const Checkout found = world.look();
  EXPECT_TRUE(found.whole()) << found.text();
  EXPECT_EQ(found.done, Checkout::Done::forwarded);
  EXPECT_EQ(world.out("cd AKO4ALL; git rev-parse HEAD; git rev-parse origin/main"),
            world.out("cd up.git; git rev-parse main main"));
  EXPECT_EQ(fingerprint(world.checkout(), moves), before);
}

TEST(Preflight, TheUpstreamThatTheEnvironmentNamesIsHeldAgainstTheRemote) {
  const World world;
  EXPECT_TRUE(
      world.look(PreflightRequest::Mode::bring, "https://h/fork.git").has(S::other_upstream));
  EXPECT_TRUE(
      world.look(PreflightRequest::Mode::bring, (world.top() / "up").string() + ".git/").whole());
  world.run("cd AKO4ALL; git remote rename origin x 2>/dev/null; git remote add y ../dev; git "
            "branch --unset-upstream");
  EXPECT_TRUE(world.look(PreflightRequest::Mode::bring, (world.top() / "up.git").string()).whole());
}

TEST(Preflight, AHungUpstreamIsANetworkThatDoesNotAnswer) {
  const World world;
  world.run("printf '#!/bin/sh\\nsleep 600\\n' > ssh; chmod +x ssh; cd AKO4ALL; git config "
            "core.sshCommand $PWD/../ssh; git remote set-url origin ssh://h/x.git");
  auto found = workspace::preflight({world.checkout(), {}, PreflightRequest::Mode::bring, 0.5});
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->has(S::no_network)) << found->text();
}

/// As a user who owns nothing here. Without the right to become one the states cannot be made.
std::string seen_by_nobody(const fs::path& checkout) {
  int ends[2];
  if (::pipe(ends) != 0) return "";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "cannot become another user";
    if (::setgid(65534) == 0 && ::setuid(65534) == 0) {
      auto found = workspace::look_at_checkout(checkout);
      text = !found                    ? found.error().text()
             : found->troubles.empty() ? "clean"
                                       : to_string(found->troubles.front().state);
    }
    const auto written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string out(200, '\0');
  const auto got = ::read(ends[0], out.data(), out.size());
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return out;
}

TEST(Preflight, SomebodyElsesCheckoutAndOneThatMayNotBeRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const World world;
  world.run("chmod 755 .");
  EXPECT_EQ(seen_by_nobody(world.checkout()), "foreign-owner");
  world.run("chmod 700 AKO4ALL");
  EXPECT_EQ(seen_by_nobody(world.checkout()), "no-permission");
  world.run("chmod 755 AKO4ALL; chown -R 65534:65534 AKO4ALL");
  EXPECT_EQ(seen_by_nobody(world.checkout()), "clean");
}

TEST(Preflight, GitsWordsOnTheNetwork) {
  using workspace::network_trouble;
  EXPECT_EQ(network_trouble("fatal: unable to access 'https://h/': Could not resolve host: h"),
            S::no_network);
  EXPECT_EQ(network_trouble(
                "fatal: unable to access 'https://h/': The requested URL returned error: 403"),
            S::wrong_credentials);
  EXPECT_EQ(
      network_trouble("fatal: could not read Username for 'https://h': terminal prompts disabled"),
      S::wrong_credentials);
  EXPECT_EQ(
      network_trouble("remote: Repository not found.\nfatal: repository 'https://h/x/' not found"),
      S::no_such_upstream);
  EXPECT_EQ(
      network_trouble("ssh: connect to host h port 22: Connection timed out\nfatal: Could not "
                      "read from remote repository."),
      S::no_network);
}

TEST(Preflight, TheCheckoutIsFoundFromBelowAndFromBeside) {
  const World world;
  world.run("mkdir -p engine/src");
  EXPECT_EQ(workspace::find_checkout(world.top() / "engine/src"), world.checkout());
  EXPECT_EQ(workspace::find_checkout(world.checkout() / "sub"), world.checkout());
  EXPECT_EQ(workspace::find_checkout(world.top()), world.checkout());
}

} // namespace
} // namespace ako::test
