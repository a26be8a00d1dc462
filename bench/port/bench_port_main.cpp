// bench_port [FILES] [RUNS]: makes a repository of FILES files (50000), its work tree checked out
// and dirty, and ports a kernel into it: store, two commits, patch self-test, branch, sparse work
// tree. Prints JSON: seconds of each run, and of `git worktree add` with all files beside it, which
// is what a port without a sparse tree would begin with.
#include "base/process.hpp"
#include "base/time.hpp"
#include "workspace/port_store.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace {

using namespace ako;

double since(std::int64_t start) { return static_cast<double>(base::monotonic_ns() - start) / 1e9; }

base::Expected<std::string> sh(const base::fs::path& folder, const std::string& script,
                               std::string input = {}) {
  base::CommandOptions options;
  options.argv = {"/bin/sh", "-ec", script};
  options.cwd = folder.string();
  options.stdin_text = std::move(input);
  AKO_TRY(const auto result, base::run_command(options));
  if (result.ok()) return result.out;
  return base::fail(base::ErrorKind::io, "a command failed",
                    {.where = script, .found = result.err, .allowed = {}, .next = {}});
}

/// Files of 2 KiB, a hundred a folder.
std::string stream_of(int files) {
  std::string out = "commit refs/heads/main\ncommitter b <b@localhost> 0 +0000\ndata 0\n\n";
  for (int i = 0; i < files; ++i) {
    std::string text = fmt::format("// file {}\n", i);
    text.resize(2048, '\n');
    out += fmt::format("M 100644 inline src/d{}/f{}.cpp\ndata {}\n{}\n", i / 100, i, text.size(),
                       text);
  }
  out += "M 100644 inline src/call.cpp\ndata 24\nint call() { return 1; }\n";
  return out;
}

base::Expected<double> port_once(const base::fs::path& home, const base::fs::path& repo, int run) {
  const std::int64_t start = base::monotonic_ns();
  const std::vector<workspace::TreeFile> kernel = {{"k.cpp", "int fast();\n", false}};
  AKO_TRY(const auto store, workspace::PortStore::open(home, repo));
  AKO_TRY(const std::string base, store.tip("main"));
  AKO_TRY(const std::string tree, store.tree_of(kernel));
  AKO_TRY(std::string commit,
          store.commit_files(base, "src/ako/k/kernel",
                             {{"src/ako/k/kernel/k.cpp", kernel[0].content, false}}, "kernel\n"));
  AKO_TRY(commit,
          store.commit_files(commit, "", {{"src/call.cpp", "int call() { return 2; }\n", false}},
                             "dispatch\n"));
  AKO_TRY(
      const auto tested,
      store.test_patch({base, commit, {"src/ako/k", "src/call.cpp"}, "src/ako/k/kernel", tree}));
  if (tested.files.size() != 2)
    return base::fail(base::ErrorKind::internal, "the patch is not what it should be", {});
  AKO_TRY_STATUS(store.publish(commit, base, fmt::format("ako/k-{}", run)).map([](const auto&) {}));
  AKO_TRY_STATUS(
      store.work_tree("new", commit, {"src/ako/k", "src/call.cpp"}).map([](const auto&) {}));
  return since(start);
}

base::Status bench(int files, int runs) {
  AKO_TRY(const auto dir, base::TemporaryDir::make("ako-bench-port-"));
  const base::fs::path repo = dir.path() / "repo";
  AKO_TRY_STATUS(sh(dir.path(), "git init -q -b main repo").map([](const auto&) {}));
  std::string stream = stream_of(files);
  AKO_TRY_STATUS(sh(repo, "git fast-import --quiet", std::move(stream)).map([](const auto&) {}));
  AKO_TRY_STATUS(
      sh(repo, "git checkout -q -f main; echo edit >> src/d0/f0.cpp; echo new > mine.txt")
          .map([](const auto&) {}));
  AKO_TRY(const std::string before, sh(repo, "git status --porcelain"));
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    // Each with a store of its own: the first port of a task is the slowest.
    AKO_TRY(const double one, port_once(dir.path() / fmt::format("home{}", run), repo, run));
    seconds.push_back(one);
  }
  AKO_TRY(const std::string after, sh(repo, "git status --porcelain"));
  const std::int64_t start = base::monotonic_ns();
  AKO_TRY_STATUS(sh(repo, "git worktree add -q --detach ../whole main").map([](const auto&) {}));
  const double whole = since(start);
  std::string list;
  for (const double one : seconds) list += fmt::format("{}{:.3f}", list.empty() ? "" : ", ", one);
  std::printf("{\"files\": %d, \"port_seconds\": [%s], \"worst_seconds\": %.3f, "
              "\"whole_worktree_seconds\": %.3f, "
              "\"untouched\": %s}\n",
              files, list.c_str(), *std::max_element(seconds.begin(), seconds.end()), whole,
              before == after ? "true" : "false");
  return {};
}

} // namespace

int main(int argc, char** argv) {
  const int files = argc > 1 ? std::atoi(argv[1]) : 50000, runs = argc > 2 ? std::atoi(argv[2]) : 3;
  if (files < 1 || runs < 1) {
    std::fprintf(stderr, "bench_port [FILES] [RUNS]\n");
    return 2;
  }
  if (auto status = bench(files, runs); !status) {
    std::fprintf(stderr, "bench_port: %s\n", status.error().text().c_str());
    return 1;
  }
  return 0;
}
