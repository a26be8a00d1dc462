// A port is made in private: whatever state the target repository is in, its files, index, stashes,
// branches and configuration are byte for byte what they were, and there is one branch more.
#include "../preflight/fingerprint.hpp"
#include "../workspace/scratch_repo.hpp"
#include "states.hpp"
#include "workspace/port_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ako::test {
namespace {

using testing::HasSubstr;
using workspace::PortStore;
using workspace::TreeFile;

const std::vector<TreeFile> k_kernel = {{"src/ako/k/kernel/k.cpp", "int fast;\n", false},
                                        {"src/ako/k/kernel/more/m.hpp", "#pragma once\n", false}};
const std::vector<TreeFile> k_measured = {{"k.cpp", "int fast;\n", false},
                                          {"more/m.hpp", "#pragma once\n", false}};

class Target {
public:
  Target() : m_dir(base::TemporaryDir::make("ako-port-test-").value()) {
    run(R"(git init -q -b main repo; cd repo; mkdir src; echo 'int call();' > src/call.cpp
      echo '*.o' > .gitignore; echo one > a.txt; git add -A; git commit -qm one
      echo two >> a.txt; git commit -qam two; echo o > x.o)");
  }
  void run(const std::string& script) const { shell(m_dir.path(), k_prelude + script); }
  std::string out(const std::string& script) const {
    return shell(m_dir.path(), k_prelude + script);
  }
  fs::path repo() const { return m_dir.path() / "repo"; }
  PortStore store() const { return PortStore::open(m_dir.path() / "home", repo()).value(); }

  /// Kernel and call site as two commits on the branch's tip.
  std::string made(const PortStore& store, const std::string& branch = "main") const {
    const auto base = store.tip(branch);
    EXPECT_TRUE(base) << base.error().text();
    auto kernel = store.commit_files(*base, "src/ako/k/kernel", k_kernel, "k: kernel\n");
    EXPECT_TRUE(kernel) << kernel.error().text();
    auto all = store.commit_files(*kernel, "", {{"src/call.cpp", "int call(); // fast\n", false}},
                                  "k: dispatch\n");
    EXPECT_TRUE(all) << all.error().text();
    return *all;
  }

private:
  base::TemporaryDir m_dir;
};

workspace::PatchRules rules(const PortStore& store, const std::string& base,
                            const std::string& commit) {
  return {base,
          commit,
          {"src/ako/k", "src/call.cpp"},
          "src/ako/k/kernel",
          store.tree_of(k_measured).value()};
}

class EveryTarget : public testing::TestWithParam<State> {};

TEST_P(EveryTarget, GetsABranchAndNothingElse) {
  const Target target;
  target.run(std::string("cd repo; ") + GetParam().script);
  const std::vector<std::string> may_grow = {".git/objects", ".git/refs/heads/ako",
                                             ".git/logs/refs/heads/ako"};
  const auto before = fingerprint(target.repo(), may_grow);
  const std::string stashes =
      target.out("cd repo; git stash list; git show-ref --heads | grep -v ako || true");
  const PortStore store = target.store();
  const auto base = store.tip("main");
  ASSERT_TRUE(base) << base.error().text();
  const std::string commit = target.made(store);
  const auto tested = store.test_patch(rules(store, *base, commit));
  ASSERT_TRUE(tested) << tested.error().text();
  const auto branch = store.publish(commit, *base, "ako/k");
  ASSERT_TRUE(branch) << branch.error().text();
  const auto tree = store.work_tree("new", commit, {"src/ako/k", "src/call.cpp"});
  ASSERT_TRUE(tree) << tree.error().text();
  EXPECT_EQ(get(*tree / "src/ako/k/kernel/k.cpp"), "int fast;\n");
  EXPECT_FALSE(fs::exists(*tree / "a.txt")) << "the work tree is not sparse";

  EXPECT_EQ(difference(before, fingerprint(target.repo(), may_grow)), "");
  EXPECT_EQ(target.out("cd repo; git stash list; git show-ref --heads | grep -v ako || true"),
            stashes);
  EXPECT_EQ(target.out("cd repo; git log --format=%s " + *branch + " --not main"),
            "k: dispatch\nk: kernel\n");
  EXPECT_EQ(
      target.out("cd repo; git fsck --connectivity-only --no-dangling 2>/dev/null; git show " +
                 *branch + ":src/call.cpp"),
      "int call(); // fast\n");
}

INSTANTIATE_TEST_SUITE_P(Port, EveryTarget, testing::ValuesIn(k_states),
                         [](const auto& state) { return std::string(state.param.name); });

TEST(PortStore, ThereAreMoreThanThirtyStates) { EXPECT_GE(std::size(k_states), 30u); }

TEST(PortStore, ThePatchGoesOntoACleanCloneByHand) {
  const Target target;
  const PortStore store = target.store();
  const std::string base = store.tip("main").value(), commit = target.made(store);
  const auto tested = store.test_patch(rules(store, base, commit));
  ASSERT_TRUE(tested) << tested.error().text();
  EXPECT_THAT(tested->files,
              testing::UnorderedElementsAre("src/ako/k/kernel/k.cpp", "src/ako/k/kernel/more/m.hpp",
                                            "src/call.cpp"));
  put(target.repo().parent_path() / "p.patch", tested->text);
  target.run(
      "git clone -q repo clone; cd clone; git apply ../p.patch; test -f src/ako/k/kernel/k.cpp; "
      "grep -q fast src/call.cpp");
}

struct Bad {
  const char* name;
  std::vector<TreeFile> files;
  const char* says;
};

TEST(PortStore, WhatNoPortMayHoldIsRefusedByName) {
  const Target target;
  const PortStore store = target.store();
  const std::string base = store.tip("main").value(), good = target.made(store);
  const Bad all[] = {
      {"undeclared", {{"README", "x\n", false}}, "README: a path that was not declared"},
      {"binary", {{"src/ako/k/k.bin", std::string("a\0b", 3), false}}, "k.bin: a binary"},
      {"object", {{"src/ako/k/k.o", "x", false}}, "k.o: a cache"},
      {"cache", {{"src/ako/k/__pycache__/k.txt", "x", false}}, "__pycache__/k.txt: a cache"},
      {"triton cache", {{"src/ako/k/.triton/x", "x", false}}, ".triton/x: a cache"},
      {"near the folder",
       {{"src/ako/kk/x.cpp", "x", false}},
       "kk/x.cpp: a path that was not declared"},
      {"too large",
       {{"src/ako/k/table.hpp", std::string(5 << 20, ' '), false}},
       "table.hpp: 5242880 bytes"},
  };
  for (const Bad& each : all) {
    const std::string commit = store.commit_files(good, "", each.files, "bad\n").value();
    const auto tested = store.test_patch(rules(store, base, commit));
    ASSERT_FALSE(tested) << each.name;
    EXPECT_EQ(tested.error().kind, base::ErrorKind::refused) << each.name;
    EXPECT_THAT(tested.error().found, HasSubstr(each.says)) << each.name;
  }
  // The honest twins: a source in the folder, a dot file, one below the limit.
  const std::string twin =
      store
          .commit_files(good, "",
                        {{"src/ako/k/k.hpp", "x\n", false},
                         {"src/ako/k/.clang-format", "x\n", false},
                         {"src/ako/k/t.hpp", std::string(3 << 20, ' '), false}},
                        "good\n")
          .value();
  const auto tested = store.test_patch(rules(store, base, twin));
  EXPECT_TRUE(tested) << tested.error().text();
}

TEST(PortStore, ALinkIsRefusedAndSoIsAnEmptyPatch) {
  const Target target;
  const PortStore store = target.store();
  const std::string base = store.tip("main").value();
  target.run("cd repo; git switch -q -c l; mkdir -p src/ako/k; ln -s /etc/passwd src/ako/k/l; git "
             "add -A src; git commit -qm l; git switch -q main");
  const auto link = store.test_patch(rules(store, base, store.tip("l").value()));
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().found, HasSubstr("src/ako/k/l: a symbolic link"));
  EXPECT_THAT(store.test_patch(rules(store, base, base)).error().found, HasSubstr("empty"));
}

TEST(PortStore, AKernelThatIsNotTheMeasuredOneIsStale) {
  const Target target;
  const PortStore store = target.store();
  const std::string base = store.tip("main").value();
  const std::string commit =
      store
          .commit_files(target.made(store), "",
                        {{"src/ako/k/kernel/k.cpp", "int faster;\n", false}}, "edit\n")
          .value();
  const auto tested = store.test_patch(rules(store, base, commit));
  ASSERT_FALSE(tested);
  EXPECT_EQ(tested.error().kind, base::ErrorKind::stale);
}

TEST(PortStore, ABranchThatIsThereIsNeverMoved) {
  const Target target;
  const PortStore store = target.store();
  const std::string base = store.tip("main").value(), commit = target.made(store);
  target.run("cd repo; git branch ako/k; git branch ako-k");
  const auto published = store.publish(commit, base, "ako/k");
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().kind, base::ErrorKind::refused);
  EXPECT_EQ(target.out("cd repo; git rev-parse ako/k"), base + "\n");
}

TEST(PortStore, AMovedBranchIsFollowedInPrivateAndConflictsAreNamed) {
  const Target target;
  const PortStore store = target.store();
  const std::string base = store.tip("main").value(), commit = target.made(store);
  target.run("cd repo; echo three >> a.txt; git commit -qam three");
  const std::string moved = store.tip("main").value();
  const auto before = fingerprint(target.repo(), {".git/objects"});
  const auto followed = store.rebase(commit, base, moved);
  ASSERT_TRUE(followed) << followed.error().text();
  EXPECT_TRUE(store.is_ancestor(moved, *followed).value());
  EXPECT_TRUE(store.test_patch(rules(store, moved, *followed)));
  EXPECT_EQ(fingerprint(target.repo(), {".git/objects"}), before);

  target.run("cd repo; echo other > src/call.cpp; git commit -qam other");
  const auto clash = store.rebase(commit, base, store.tip("main").value());
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().kind, base::ErrorKind::refused);
  EXPECT_THAT(clash.error().found, HasSubstr("src/call.cpp"));
  // The store is at rest again.
  EXPECT_TRUE(store.rebase(commit, base, moved));
}

TEST(PortStore, PatchesOfTheUserApplyOrSayWhy) {
  const Target target;
  const PortStore store = target.store();
  const std::string base = store.tip("main").value();
  const std::string patch = target.out("cd repo; echo x >> a.txt; git diff; git checkout -q a.txt");
  const auto applied = store.commit_patches(base, {{"p.patch", patch, false}}, "integration\n");
  ASSERT_TRUE(applied) << applied.error().text();
  EXPECT_EQ(store.file_at(*applied, "a.txt").value()->content, "one\ntwo\nx\n");
  std::string other = patch;
  other.replace(other.find(" two"), 4, " zwei");
  const auto clash = store.commit_patches(base, {{"p.patch", other, false}}, "m\n");
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().kind, base::ErrorKind::refused);
  EXPECT_EQ(clash.error().where, "p.patch");
}

TEST(PortStore, AnObjectThatTheTargetNeverFetchedIsNotMissed) {
  const Target target;
  target.run("cd repo; echo large > data.bin; git add data.bin; git commit -qm data; "
             "o=$(git rev-parse HEAD:data.bin); rm -f .git/objects/$(echo $o | cut -c1-2)/$(echo "
             "$o | cut -c3-)");
  const PortStore store = target.store();
  const std::string base = store.tip("main").value();
  const std::string patch =
      target.out("cd repo; echo x >> a.txt; git diff a.txt; git checkout -q a.txt");
  const std::string made = target.made(store);
  const auto applied = store.commit_patches(made, {{"p.patch", patch, false}}, "integration\n");
  ASSERT_TRUE(applied) << applied.error().text();
  auto wanted = rules(store, base, *applied);
  wanted.declared.push_back("a.txt");
  const auto tested = store.test_patch(wanted);
  ASSERT_TRUE(tested) << tested.error().text();
  EXPECT_EQ(tested->files.size(), 4u);
  EXPECT_TRUE(store.publish(*applied, base, "ako/k"));
}

TEST(PortStore, WhatIsNoRepositoryIsSaidSo) {
  const Target target;
  const fs::path home = target.repo().parent_path() / "home";
  EXPECT_THAT(PortStore::open(home, target.repo().parent_path() / "none").error().message,
              HasSubstr("not there"));
  target.run("mkdir plain");
  EXPECT_FALSE(PortStore::open(home, target.repo().parent_path() / "plain"));
  target.run("git clone -q --bare repo bare.git");
  const auto bare = PortStore::open(home, target.repo().parent_path() / "bare.git");
  ASSERT_TRUE(bare) << bare.error().text();
  const std::string base = bare->tip("main").value();
  EXPECT_TRUE(bare->publish(target.made(*bare), base, "ako/k"));
  target.run("cd repo; git checkout -q --detach");
  EXPECT_EQ(target.store().branch("").error().kind, base::ErrorKind::refused);
  EXPECT_EQ(target.store().tip("nowhere").error().kind, base::ErrorKind::refused);
}

} // namespace
} // namespace ako::test
