// bench_port_into REPO CALL_SITE CALL FOLDER KERNEL_FILE
// Ports a file into a repository as `ako port` does it, but for the measured part: the kernel's
// commit, the rewritten call site, patch self-test, branch, sparse work tree. REPO is a copy of
// yours: it gets a branch. Prints JSON.
#include "base/time.hpp"
#include "loop/port/call_site.hpp"
#include "workspace/port_store.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

using namespace ako;

base::Status run(char** words) {
  const base::fs::path repo = words[1];
  const std::string site = words[2], call = words[3], folder = words[4];
  const base::fs::path file = words[5];
  AKO_TRY(const std::string text, base::read_file(file));
  AKO_TRY(const auto home, base::TemporaryDir::make("ako-port-into-"));
  const std::int64_t start = base::monotonic_ns();
  AKO_TRY(const auto store, workspace::PortStore::open(home.path(), repo));
  AKO_TRY(const std::string branch, store.branch(""));
  AKO_TRY(const std::string base, store.tip(branch));
  const std::string name = file.stem().string();
  const std::vector<workspace::TreeFile> measured = {{file.filename().string(), text, false}};
  AKO_TRY(const std::string tree, store.tree_of(measured));
  const std::string kernel = folder + "/kernel";
  AKO_TRY(std::string commit,
          store.commit_files(base, kernel, {{kernel + "/" + measured[0].path, text, false}},
                             name + ": kernel\n"));
  AKO_TRY(auto called, store.file_at(base, site));
  if (!called) return base::fail(base::ErrorKind::usage, "no such call site", {.where = site});
  const bool python = site.ends_with(".py");
  loop::CallSite change{site, call, (python ? "" : "ako_port::") + name + "_or", {}};
  const auto way = base::fs::path(folder + "/" + name + "_dispatch")
                       .lexically_relative(base::fs::path(site).parent_path())
                       .generic_string();
  change.include = python ? "from ." + folder.substr(folder.rfind('/') + 1) + "." + name +
                                "_dispatch import " + name + "_or"
                          : "#include \"" + way + ".hpp\"";
  AKO_TRY(const auto rewritten, python ? loop::rewrite_python(called->content, change)
                                       : loop::rewrite_native(called->content, change));
  called->content = rewritten.text;
  AKO_TRY(commit, store.commit_files(commit, "", {*called}, name + ": dispatch\n"));
  AKO_TRY(const auto tested, store.test_patch({base, commit, {folder, site}, kernel, tree}));
  AKO_TRY(const std::string published, store.publish(commit, base, "ako/" + name));
  AKO_TRY_STATUS(store.work_tree("new", commit, {folder, site}).map([](const auto&) {}));
  std::printf("{\"repository\": \"%s\", \"branch\": \"%s\", \"base\": \"%s\", \"lines\": [%s], "
              "\"files\": %zu, "
              "\"added\": %d, \"removed\": %d, \"seconds\": %.3f}\n%s",
              repo.filename().c_str(), published.c_str(), base.substr(0, 12).c_str(),
              fmt::format("{}", fmt::join(rewritten.lines, ", ")).c_str(), tested.files.size(),
              tested.added, tested.removed, static_cast<double>(base::monotonic_ns() - start) / 1e9,
              tested.text.c_str());
  return {};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "bench_port_into REPO CALL_SITE CALL FOLDER KERNEL_FILE\n");
    return 2;
  }
  if (auto status = run(argv); !status) {
    std::fprintf(stderr, "bench_port_into: %s\n", status.error().text().c_str());
    return 1;
  }
  return 0;
}
