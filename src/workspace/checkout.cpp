// What a checkout says of itself, without the network.
#include "workspace/preflight.hpp"

#include "workspace/git.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace ako::workspace {

using base::Expected;
using base::Status;
namespace fs = base::fs;

const char* to_string(CheckoutState state) {
  switch (state) {
#define AKO_X(name, text)                                                                          \
  case CheckoutState::name: return text;
    AKO_CHECKOUT_STATES(AKO_X)
#undef AKO_X
  }
  return "";
}

bool Checkout::has(CheckoutState state) const {
  return std::any_of(troubles.begin(), troubles.end(),
                     [&](const Trouble& trouble) { return trouble.state == state; });
}

std::string Checkout::text() const {
  std::string out;
  for (const Trouble& trouble : troubles)
    out +=
        fmt::format("{}{}: {}", out.empty() ? "" : "; ", to_string(trouble.state), trouble.found);
  return out;
}

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(at, from), text.size());
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

/// "3 tracked files: a, b, c" with at most three names.
std::string named(const std::vector<std::string>& paths, const char* what) {
  std::string out = fmt::format("{} {}{}: ", paths.size(), what, paths.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min<std::size_t>(paths.size(), 3); ++i)
    out += (i ? ", " : "") + paths[i];
  if (paths.size() > 3) out += ", ...";
  return out;
}

class Look {
public:
  explicit Look(fs::path path) : m_git(path) { m_out.path = std::move(path); }

  Expected<Checkout> run() {
    if (!is_folder()) return std::move(m_out);
    AKO_TRY(const bool readable, read_repository());
    if (!readable) return std::move(m_out);
    look_for_unfinished();
    AKO_TRY_STATUS(read_head());
    AKO_TRY_STATUS(read_status());
    AKO_TRY_STATUS(read_flags());
    AKO_TRY_STATUS(read_stashes());
    return std::move(m_out);
  }

private:
  void trouble(CheckoutState state, std::string found, std::string remedy) {
    // What is damaged fails more than one question.
    if (state == CheckoutState::broken_repository && m_out.has(state)) return;
    m_out.troubles.push_back({state, std::move(found), std::move(remedy)});
  }

  Expected<base::CommandResult> ask(std::vector<std::string> args) {
    Git::Call call;
    call.args = std::move(args);
    return m_git.try_run(call);
  }

  bool is_folder() {
    std::error_code why;
    const auto link = fs::symlink_status(m_out.path, why);
    if (link.type() == fs::file_type::not_found) {
      trouble(CheckoutState::missing, "nothing at " + m_out.path.string(),
              "set AKO4ALL_UPSTREAM_URL and run: ako preflight");
      return false;
    }
    const auto status = fs::status(m_out.path, why);
    if (status.type() == fs::file_type::not_found) {
      trouble(CheckoutState::not_a_repository, "a link that leads nowhere",
              "remove the link " + m_out.path.string() + ", or mend it");
      return false;
    }
    if (!fs::is_directory(status) && !why) {
      trouble(CheckoutState::not_a_repository, "something that is no folder",
              "move " + m_out.path.string() + " away");
      return false;
    }
    const bool opens = ::faccessat(AT_FDCWD, m_out.path.c_str(), R_OK | X_OK, AT_EACCESS) == 0;
    if (opens) return true;
    trouble(CheckoutState::no_permission, "this user may not read " + m_out.path.string(),
            "have its owner give read permission, or use a checkout of your own");
    return false;
  }

  /// False when git cannot or will not read it: the trouble says why.
  Expected<bool> read_repository() {
    AKO_TRY(const auto result, ask({"rev-parse", "--is-bare-repository", "--is-inside-work-tree",
                                    "--absolute-git-dir", "--is-shallow-repository"}));
    if (!result.ok()) return unreadable(result.err);
    const auto lines = split(result.out, '\n');
    if (lines.size() < 4) return unreadable(result.out);
    m_out.git_dir = lines[2];
    m_shallow = lines[3] == "true";
    if (lines[0] == "true") {
      trouble(CheckoutState::bare, "a repository without a work tree",
              "clone it: git clone " + m_out.path.string() + " <folder>");
      return false;
    }
    if (lines[1] != "true") {
      trouble(CheckoutState::not_a_repository, "the inside of a .git folder",
              "name the work tree itself");
      return false;
    }
    AKO_TRY(const auto top, ask({"rev-parse", "--show-toplevel"}));
    std::error_code why;
    const fs::path root = top.out.substr(0, top.out.find('\n'));
    if (!top.ok() || fs::canonical(root, why) != fs::canonical(m_out.path, why)) {
      trouble(CheckoutState::not_a_repository,
              "a plain folder inside the repository " + root.string(),
              "move " + m_out.path.string() + " away and run: ako preflight");
      return false;
    }
    if (m_shallow) m_out.remarks.emplace_back("the checkout is shallow");
    return true;
  }

  bool unreadable(const std::string& said) {
    std::error_code why;
    const std::string words = split(said, '\n').empty() ? said : split(said, '\n')[0];
    if (said.find("dubious ownership") != std::string::npos)
      trouble(CheckoutState::foreign_owner, words,
              "git config --global --add safe.directory " + m_out.path.string());
    else if (said.find("ermission denied") != std::string::npos)
      trouble(CheckoutState::no_permission, words,
              "have its owner give read permission, or use a checkout of your own");
    else if (fs::exists(fs::symlink_status(m_out.path / ".git", why)) ||
             fs::exists(m_out.path / "objects", why))
      trouble(CheckoutState::broken_repository, words,
              "git fsck in " + m_out.path.string() + ", or move it away and run: ako preflight");
    else
      trouble(CheckoutState::not_a_repository, "a plain folder",
              "move " + m_out.path.string() + " away and run: ako preflight");
    return false;
  }

  void look_for_unfinished() {
    struct Unfinished {
      const char* file;
      CheckoutState state;
      const char* found;
      const char* remedy;
    };
    static constexpr Unfinished k_unfinished[] = {
        {"rebase-merge", CheckoutState::rebase, "a rebase is under way",
         "git rebase --continue, or git rebase --abort"},
        {"rebase-apply/applying", CheckoutState::apply_mail, "patches are being applied",
         "git am --continue, or git am --abort"},
        {"rebase-apply", CheckoutState::rebase, "a rebase is under way",
         "git rebase --continue, or git rebase --abort"},
        {"MERGE_HEAD", CheckoutState::merge, "a merge is under way",
         "git merge --continue, or git merge --abort"},
        {"CHERRY_PICK_HEAD", CheckoutState::cherry_pick, "a cherry-pick is under way",
         "git cherry-pick --continue, or git cherry-pick --abort"},
        {"REVERT_HEAD", CheckoutState::revert, "a revert is under way",
         "git revert --continue, or git revert --abort"},
        {"BISECT_LOG", CheckoutState::bisect, "a bisection is under way", "git bisect reset"},
        {"index.lock", CheckoutState::index_locked, "the index is locked",
         "wait for the git command that holds it; when none runs, remove the file index.lock"}};
    std::error_code why;
    for (const auto& each : k_unfinished) {
      if (!fs::exists(m_out.git_dir / each.file, why)) continue;
      const bool said =
          std::string_view(each.file) == "rebase-apply" && m_out.has(CheckoutState::apply_mail);
      if (!said) trouble(each.state, each.found, each.remedy);
    }
  }

  Status read_head() {
    AKO_TRY(const auto name, ask({"symbolic-ref", "--quiet", "--short", "HEAD"}));
    if (name.ok()) m_out.branch = name.out.substr(0, name.out.find('\n'));
    AKO_TRY(const auto commit, ask({"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}));
    if (commit.ok()) m_out.head = commit.out.substr(0, commit.out.find('\n'));
    if (m_out.head.empty() && m_out.branch.empty())
      trouble(CheckoutState::broken_repository, "HEAD leads to no commit", "git fsck");
    else if (m_out.head.empty()) {
      // A branch whose ref is there and does not resolve is damaged; one without is new.
      AKO_TRY(const auto ref,
              ask({"show-ref", "--quiet", "--verify", "refs/heads/" + m_out.branch}));
      if (!ref.ending.exited || ref.ending.code != 1)
        trouble(CheckoutState::broken_repository, "HEAD leads to no commit", "git fsck");
      else
        trouble(CheckoutState::unborn, "no commit on branch " + m_out.branch,
                "move " + m_out.path.string() + " away and run: ako preflight");
    } else if (m_out.branch.empty())
      trouble(CheckoutState::detached, "on commit " + m_out.head.substr(0, 12) + ", on no branch",
              "git switch <default branch>");
    return {};
  }

  /// Records of status --porcelain=v2 -z: "1 XY sub ...", "u XY ...", "? path".
  Status read_status() {
    AKO_TRY(const auto result, ask({"status", "--porcelain=v2", "-z", "--untracked-files=all",
                                    "--ignore-submodules=none", "--no-renames"}));
    if (!result.ok()) {
      unreadable(result.err);
      return {};
    }
    std::vector<std::string> changed, unmerged, untracked, modules;
    for (const std::string& row : split(result.out, '\0')) {
      if (row.starts_with("? ")) untracked.push_back(row.substr(2));
      else if (row.starts_with("u ")) unmerged.push_back(field_after(row, 10));
      else if (row.starts_with("1 "))
        (row.size() > 5 && row[5] == 'S' ? modules : changed).push_back(field_after(row, 8));
    }
    if (!unmerged.empty())
      trouble(CheckoutState::conflict, named(unmerged, "unmerged path"),
              "resolve them, or abort what brought them");
    if (!changed.empty())
      trouble(CheckoutState::dirty, named(changed, "tracked file"),
              "commit them elsewhere, or put them aside yourself (git stash); ako does neither");
    if (!modules.empty())
      trouble(CheckoutState::submodules, named(modules, "changed submodule"),
              "git submodule update --init --recursive, after saving what was changed in them");
    if (!untracked.empty())
      trouble(CheckoutState::untracked, named(untracked, "untracked file"),
              "move them out of the checkout: a task lives in a worktree of its own (ako new)");
    return {};
  }

  /// What stands behind the n-th space.
  static std::string field_after(const std::string& row, int spaces) {
    std::size_t at = 0;
    for (int i = 0; i < spaces && at != std::string::npos; ++i) {
      at = row.find(' ', at);
      if (at != std::string::npos) ++at;
    }
    return at == std::string::npos ? row : row.substr(at);
  }

  /// Entries that git was told not to look at, and submodules that were never fetched.
  Status read_flags() {
    AKO_TRY(const auto result, ask({"ls-files", "-v", "-s", "-z"}));
    if (!result.ok()) return {};
    AKO_TRY(const auto config, ask({"config", "--bool", "core.sparseCheckout"}));
    const bool sparse = config.ok() && config.out.starts_with("true");
    std::vector<std::string> hidden, absent, modules;
    for (const std::string& row : split(result.out, '\0')) {
      const std::size_t tab = row.find('\t');
      if (row.size() < 3 || tab == std::string::npos) continue;
      const std::string path = row.substr(tab + 1);
      if (row[0] >= 'a' && row[0] <= 'z') hidden.push_back(path);
      if (row[0] == 'S') (sparse ? absent : hidden).push_back(path);
      std::error_code why;
      if (row.substr(2).starts_with("160000 ") && row[0] != 'S' &&
          !fs::exists(m_out.path / path / ".git", why))
        modules.push_back(path);
    }
    if (!hidden.empty())
      trouble(CheckoutState::hidden, named(hidden, "file") + " (git was told not to look at them)",
              "git update-index --no-assume-unchanged --no-skip-worktree -- <file>");
    if (!absent.empty())
      trouble(CheckoutState::sparse, named(absent, "file") + " left out by a sparse checkout",
              "git sparse-checkout disable");
    if (!modules.empty())
      trouble(CheckoutState::submodules, named(modules, "submodule") + " not fetched",
              "git submodule update --init --recursive");
    return {};
  }

  Status read_stashes() {
    AKO_TRY(const auto result, ask({"stash", "list", "--format=%gd"}));
    const auto count = split(result.out, '\n').size();
    if (result.ok() && count > 0)
      m_out.remarks.push_back(fmt::format("{} stash{} left alone", count, count == 1 ? "" : "es"));
    return {};
  }

  Checkout m_out;
  Git m_git;
  bool m_shallow = false;
};

} // namespace

Expected<Checkout> look_at_checkout(const fs::path& path) {
  // Git runs in the folder; where there is none there is nothing to run it in.
  return Look(path).run();
}

} // namespace ako::workspace
