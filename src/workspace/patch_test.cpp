// A patch is tried where it will be used: on a clean checkout of its base, by whoever gets it.
#include "workspace/port_store.hpp"

#include "workspace/listing.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

namespace {

constexpr std::size_t k_largest_tested = 4 << 20;

struct Change {
  std::string mode, path; ///< mode afterwards; 000000 = removed
};

/// ":100644 100644 id id M NUL path NUL" of diff --raw -z.
std::vector<Change> changes_in(const std::string& raw) {
  std::vector<Change> out;
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t head = raw.find('\0', at);
    if (head == std::string::npos) break;
    const std::size_t end = std::min(raw.find('\0', head + 1), raw.size());
    const std::size_t space = raw.find(' ', at);
    out.push_back({raw.substr(space + 1, 6), raw.substr(head + 1, end - head - 1)});
    at = end + 1;
  }
  return out;
}

bool below(const std::string& path, const std::string& place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

/// Names that tools leave behind anywhere on the way, and what version control never holds.
bool is_litter(const std::string& path) {
  for (const auto& part : fs::path(path)) {
    const std::string name = part.string();
    // Dot files are lawful in a repository; what tools cache under such names is not.
    const bool dot = name.starts_with(".");
    if (!dot && is_left_behind(part)) return true;
    if (name == ".git" || name == ".cache" || name == ".pytest_cache" || name == ".mypy_cache" ||
        name == ".triton" || name == ".DS_Store" || name.ends_with(".swp"))
      return true;
  }
  return false;
}

/// Why this file may not be part of a port; empty = it may.
std::string objection(const Change& change, const std::string& content,
                      const std::vector<std::string>& declared) {
  if (std::none_of(declared.begin(), declared.end(),
                   [&](const auto& place) { return below(change.path, place); }))
    return "a path that was not declared";
  if (change.mode == "120000") return "a symbolic link";
  if (change.mode == "160000") return "a submodule";
  if (change.mode == "000000") return {};
  if (is_litter(change.path)) return "a cache or build product";
  if (content.size() > k_largest_tested) return fmt::format("{} bytes", content.size());
  if (content.find('\0') != std::string::npos) return "a binary";
  return {};
}

void count_lines(const std::string& numstat, PatchTest& out) {
  for (std::size_t at = 0; at < numstat.size();) {
    const std::size_t end = std::min(numstat.find('\0', at), numstat.size());
    int added = 0, removed = 0;
    const char* last = numstat.data() + end;
    const auto first = std::from_chars(numstat.data() + at, last, added);
    if (first.ec == std::errc() && first.ptr < last) std::from_chars(first.ptr + 1, last, removed);
    out.added += added;
    out.removed += removed;
    at = end + 1;
  }
}

} // namespace

Expected<PatchTest> PortStore::test_patch(const PatchRules& rules) const {
  AKO_TRY(const std::string raw, run({"diff", "--raw", "-z", "--no-renames", "--no-abbrev",
                                      "--ignore-submodules=none", rules.base, rules.commit}));
  PatchTest out;
  std::vector<std::string> wrong;
  for (const Change& change : changes_in(raw)) {
    out.files.push_back(change.path);
    std::string content;
    if (change.mode.starts_with("100")) {
      AKO_TRY(const auto blob,
              Git(m_home).try_run(call({"cat-file", "blob", rules.commit + ":" + change.path})));
      content = blob.out;
    }
    if (std::string why = objection(change, content, rules.declared); !why.empty())
      wrong.push_back(change.path + ": " + why);
  }
  if (out.files.empty()) wrong.emplace_back("the patch is empty");
  if (!wrong.empty())
    return fail(
        ErrorKind::refused, "the port holds what no port may hold",
        {.where = m_repository.string(),
         .found = fmt::format("{}", fmt::join(wrong, "; ")),
         .allowed = fmt::format("sources at {}", fmt::join(rules.declared, ", ")),
         .next = "take it out of the patches or the branch, or declare it in [port] paths"});
  // Several commands may write diffs in the user's own way; this one does not ask them.
  AKO_TRY(const auto diff,
          Git(m_home).try_run(call(
              {"diff", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff",
               "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", rules.base, rules.commit})));
  out.text = diff.out;
  out.hash = base::sha256(out.text);
  AKO_TRY(const std::string numstat,
          run({"diff", "--numstat", "-z", "--no-renames", rules.base, rules.commit}));
  count_lines(numstat, out);

  AKO_TRY(const auto scratch, base::TemporaryDir::make("ako-port-"));
  const auto on_index = [&](std::vector<std::string> args, std::string input = {}) {
    Git::Call one = call(std::move(args), std::move(input));
    one.index = scratch.path() / "index";
    return Git(m_home).run(one);
  };
  AKO_TRY_STATUS(on_index({"read-tree", rules.base}));
  AKO_TRY_STATUS(on_index({"apply", "--cached", "--whitespace=nowarn", "-"}, out.text));
  AKO_TRY(const std::string reached, on_index({"write-tree", "--missing-ok"}));
  AKO_TRY(const std::string wanted, run({"rev-parse", "--verify", rules.commit + "^{tree}"}));
  AKO_TRY(const std::string kernel, object_at(rules.commit, rules.kernel_path));
  if (reached == wanted && kernel == rules.kernel_tree) return out;
  return fail(ErrorKind::stale,
              reached != wanted ? "the patch does not give the tree it was made from"
                                : "the kernel in the port is not the one that was measured",
              {.where = reached != wanted ? "a clean checkout of " + rules.base.substr(0, 12)
                                          : rules.kernel_path,
               .found = reached != wanted ? reached
                        : kernel.empty()  ? "nothing"
                                          : kernel,
               .allowed = reached != wanted ? wanted : rules.kernel_tree,
               .next = "take back what was changed in " + rules.kernel_path +
                       ", or bring it through the loop: ako try"});
}

} // namespace ako::workspace
