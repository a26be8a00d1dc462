#include "workspace/preflight.hpp"

#include "workspace/git.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <unistd.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;
namespace fs = base::fs;

namespace {

constexpr const char* k_private_ref = "refs/ako/preflight/upstream";

std::vector<std::string> filled_lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string first_line(const std::string& text) {
  const auto lines = filled_lines(text);
  return lines.empty() ? std::string() : lines[0];
}

/// Two spellings of one address.
std::string plain_url(std::string url) {
  while (url.size() > 1 && url.back() == '/') url.pop_back();
  if (url.ends_with(".git")) url.resize(url.size() - 4);
  if (url.starts_with("file://")) url.erase(0, 7);
  return url;
}

std::string remedy_for(CheckoutState state, const std::string& url) {
  switch (state) {
  case CheckoutState::no_network:
    return "connect, or name a mirror that can be reached: AKO4ALL_UPSTREAM_URL=<url>";
  case CheckoutState::wrong_credentials:
    return "log in for " + url + " (ssh-add, or git credential), then run it again";
  case CheckoutState::no_such_upstream:
    return "mend the address: git remote set-url, or AKO4ALL_UPSTREAM_URL";
  default: return "look at what git says, then run it again";
  }
}

bool holds_any(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

class Preflight {
public:
  explicit Preflight(const PreflightRequest& request)
      : m_request(request), m_git(request.checkout) {}

  Expected<Checkout> run() {
    AKO_TRY(m_out, look_at_checkout(m_request.checkout));
    if (m_out.has(CheckoutState::missing) && m_request.mode == PreflightRequest::Mode::bring) {
      AKO_TRY(const bool cloned, clone());
      if (!cloned) return std::move(m_out);
      AKO_TRY(m_out, look_at_checkout(m_request.checkout));
      m_out.done = Checkout::Done::cloned;
    }
    // Where git cannot read it, or nothing is there to compare, the upstream tells nothing more.
    if (m_out.head.empty()) return std::move(m_out);
    AKO_TRY(const bool known, find_remote());
    if (!known) return std::move(m_out);
    AKO_TRY(const bool reached, ask_upstream());
    if (!reached) return std::move(m_out);
    AKO_TRY_STATUS(check_branch());
    AKO_TRY_STATUS(compare());
    if (m_out.has(CheckoutState::behind) && m_out.troubles.size() == 1 &&
        m_request.mode == PreflightRequest::Mode::bring)
      AKO_TRY_STATUS(forward());
    return std::move(m_out);
  }

private:
  void trouble(CheckoutState state, std::string found, std::string remedy) {
    m_out.troubles.push_back({state, std::move(found), std::move(remedy)});
  }

  Expected<base::CommandResult> ask(std::vector<std::string> args) {
    Git::Call call;
    call.args = std::move(args);
    return m_git.try_run(call);
  }

  /// A timeout is a network that does not answer.
  Expected<base::CommandResult> ask_network(const Git& git, std::vector<std::string> args,
                                            double seconds) {
    Git::Call call;
    call.args = std::move(args);
    call.network = Git::Network::yes;
    call.deadline_seconds = seconds;
    auto result = git.try_run(call);
    if (result || result.error().kind != ErrorKind::timeout) return result;
    base::CommandResult silent;
    silent.timed_out = true;
    silent.err = fmt::format("Connection timed out after {} s", seconds);
    return silent;
  }

  void refused(const base::CommandResult& result, const std::string& url) {
    const CheckoutState state = network_trouble(result.err);
    // The last line that says what is fatal; hints and banners stand around it.
    std::string said = first_line(result.err);
    for (const auto& line : filled_lines(result.err))
      if (line.starts_with("fatal:") || line.starts_with("ERROR:")) said = line;
    trouble(state, url + ": " + said, remedy_for(state, url));
  }

  /// Whole or not at all: beside its place, then renamed.
  Expected<bool> clone() {
    if (m_request.upstream_url.empty()) {
      m_out.troubles.front().remedy =
          "set AKO4ALL_UPSTREAM_URL to where AKO4ALL is cloned from, then run: ako preflight";
      return false;
    }
    const fs::path base_dir = m_request.checkout.parent_path();
    std::error_code why;
    if (!fs::is_directory(base_dir, why))
      return fail(ErrorKind::usage, "this folder does not exist",
                  {.where = base_dir.string(),
                   .found = why ? why.message() : "no folder",
                   .allowed = "the folder that holds AKO4ALL and the target repository",
                   .next = "name an existing folder: ako preflight DIR"});
    const fs::path scratch = base_dir / fmt::format(".AKO4ALL.{}", ::getpid());
    AKO_TRY(const auto result,
            ask_network(Git(base_dir),
                        {"clone", "--quiet", "--", m_request.upstream_url, scratch.string()},
                        10 * m_request.network_seconds));
    if (!result.ok()) {
      static_cast<void>(base::remove_tree(scratch, base_dir));
      m_out.troubles.clear();
      refused(result, m_request.upstream_url);
      return false;
    }
    fs::rename(scratch, m_request.checkout, why);
    if (!why) return true;
    static_cast<void>(base::remove_tree(scratch, base_dir));
    return fail(ErrorKind::io, "the clone could not be put in its place",
                {.where = m_request.checkout.string(),
                 .found = why.message(),
                 .allowed = {},
                 .next = "look what came there meanwhile"});
  }

  /// The branch's own remote, else origin, else the only one, else the one the environment names.
  Expected<bool> find_remote() {
    AKO_TRY(const auto listed, ask({"remote"}));
    const auto names = filled_lines(listed.out);
    const auto has = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    AKO_TRY(const auto own, ask({"config", "branch." + m_out.branch + ".remote"}));
    const std::string wanted = plain_url(m_request.upstream_url);
    std::string matching;
    for (const auto& name : names) {
      AKO_TRY(const auto url, ask({"remote", "get-url", name}));
      if (url.ok() && !wanted.empty() && plain_url(first_line(url.out)) == wanted) matching = name;
    }
    if (!m_out.branch.empty() && own.ok() && has(first_line(own.out)))
      m_out.remote = first_line(own.out);
    else if (!matching.empty()) m_out.remote = matching;
    else if (has("origin")) m_out.remote = "origin";
    else if (names.size() == 1) m_out.remote = names[0];
    if (m_out.remote.empty()) {
      trouble(CheckoutState::no_upstream,
              names.empty() ? "no remote is set"
                            : fmt::format("{} remotes and none is this branch's", names.size()),
              names.empty() ? "git remote add origin <url>"
                            : "git branch --set-upstream-to <remote>/<branch>, or set "
                              "AKO4ALL_UPSTREAM_URL");
      return false;
    }
    AKO_TRY(const auto url, ask({"remote", "get-url", m_out.remote}));
    m_out.url = first_line(url.out);
    if (!wanted.empty() && plain_url(m_out.url) != wanted)
      trouble(CheckoutState::other_upstream,
              fmt::format("remote {} is {}, AKO4ALL_UPSTREAM_URL says {}", m_out.remote, m_out.url,
                          m_request.upstream_url),
              fmt::format("git remote set-url {} {}, or unset AKO4ALL_UPSTREAM_URL", m_out.remote,
                          m_request.upstream_url));
    return true;
  }

  /// "ref: refs/heads/main TAB HEAD", then "id TAB name" lines.
  Expected<bool> ask_upstream() {
    AKO_TRY(const auto result,
            ask_network(m_git,
                        {"ls-remote", "--quiet", "--symref", m_out.remote, "HEAD", "refs/heads/*"},
                        m_request.network_seconds));
    if (!result.ok()) {
      refused(result, m_out.url);
      return false;
    }
    std::string head;
    std::vector<std::pair<std::string, std::string>> branches;
    for (const auto& line : filled_lines(result.out)) {
      const std::size_t tab = line.find('\t');
      if (tab == std::string::npos) continue;
      const std::string name = line.substr(tab + 1), id = line.substr(0, tab);
      if (line.starts_with("ref: refs/heads/") && name == "HEAD")
        m_out.default_branch = line.substr(16, tab - 16);
      else if (name == "HEAD") head = id;
      else if (name.starts_with("refs/heads/")) branches.emplace_back(name.substr(11), id);
    }
    if (m_out.default_branch.empty()) guess_default(branches, head);
    for (const auto& [name, id] : branches)
      if (name == m_out.default_branch) m_out.upstream = id;
    if (!m_out.upstream.empty()) return true;
    trouble(CheckoutState::empty_upstream,
            branches.empty() ? "the upstream has no branch"
                             : "the upstream does not say which branch is its default",
            branches.empty() ? "push to " + m_out.url + " first"
                             : "set its default branch, or name it: git remote set-head " +
                                   m_out.remote + " <branch>");
    return false;
  }

  /// A server that names no default: what this clone was told once, else the branch at its HEAD.
  void guess_default(const std::vector<std::pair<std::string, std::string>>& branches,
                     const std::string& head) {
    const std::string prefix = "refs/remotes/" + m_out.remote + "/";
    if (auto told = ask({"symbolic-ref", "--quiet", prefix + "HEAD"}); told && told->ok())
      if (const std::string ref = first_line(told->out); ref.starts_with(prefix))
        m_out.default_branch = ref.substr(prefix.size());
    if (!m_out.default_branch.empty() || head.empty()) return;
    int at_head = 0;
    std::string name;
    for (const auto& branch : branches)
      if (branch.second == head) name = branch.first, ++at_head;
    if (at_head == 1) m_out.default_branch = name;
  }

  Status check_branch() {
    if (m_out.branch.empty()) {
      for (auto& each : m_out.troubles)
        if (each.state == CheckoutState::detached)
          each.remedy = "git switch " + m_out.default_branch;
      return {};
    }
    AKO_TRY(const auto merge, ask({"config", "branch." + m_out.branch + ".merge"}));
    std::string tracked = merge.ok() ? first_line(merge.out) : "refs/heads/" + m_out.branch;
    AKO_TRY(const auto remote, ask({"config", "branch." + m_out.branch + ".remote"}));
    if (remote.ok() && first_line(remote.out) == ".") tracked = "a local branch";
    if (tracked == "refs/heads/" + m_out.default_branch) return {};
    trouble(CheckoutState::wrong_branch,
            fmt::format("on {} (follows {}), the upstream's default is {}", m_out.branch,
                        tracked.starts_with("refs/heads/") ? tracked.substr(11) : tracked,
                        m_out.default_branch),
            "git switch " + m_out.default_branch);
    return {};
  }

  Expected<bool> has_commit(const std::string& id) {
    AKO_TRY(const auto result, ask({"cat-file", "-e", id + "^{commit}"}));
    return result.ok();
  }

  Status compare() {
    if (m_out.head == m_out.upstream) return {};
    AKO_TRY(const auto shallow, ask({"rev-parse", "--is-shallow-repository"}));
    if (shallow.out.starts_with("true")) {
      trouble(CheckoutState::shallow,
              fmt::format("at {}, upstream at {}: too little history to tell how they lie",
                          m_out.head.substr(0, 12), m_out.upstream.substr(0, 12)),
              "git fetch --unshallow " + m_out.remote);
      return {};
    }
    AKO_TRY(const bool known, has_commit(m_out.upstream));
    if (!known) {
      AKO_TRY(const auto fetched,
              ask_network(m_git,
                          {"-c", "fetch.writeCommitGraph=false", "fetch", "--quiet", "--no-tags",
                           "--no-write-fetch-head", "--refmap=", "--no-recurse-submodules",
                           m_out.remote,
                           fmt::format("+refs/heads/{}:{}", m_out.default_branch, k_private_ref)},
                          10 * m_request.network_seconds));
      if (!fetched.ok()) {
        if (fetched.err.find("ermission denied") != std::string::npos &&
            fetched.err.find("publickey") == std::string::npos)
          trouble(CheckoutState::no_permission, first_line(fetched.err),
                  "have its owner give write permission, or use a checkout of your own");
        else refused(fetched, m_out.url);
        return {};
      }
    }
    return count();
  }

  Status count() {
    AKO_TRY(const std::string text, m_git.run({"rev-list", "--left-right", "--count",
                                               m_out.head + "..." + m_out.upstream}));
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, m_out.ahead);
    if (first.ec == std::errc() && first.ptr < end)
      std::from_chars(first.ptr + 1, end, m_out.behind);
    const std::string there = fmt::format("{}/{}", m_out.remote, m_out.default_branch);
    if (m_out.ahead > 0 && m_out.behind > 0) {
      AKO_TRY(const auto common, ask({"merge-base", m_out.head, m_out.upstream}));
      trouble(CheckoutState::diverged,
              fmt::format("{} commits that {} has not, {} that it has{}", m_out.ahead, there,
                          m_out.behind, common.ok() ? "" : "; no common history"),
              "move your commits to a branch of your own, then bring the checkout to " + there +
                  ", or move it away and run: ako preflight");
    } else if (m_out.ahead > 0) {
      trouble(
          CheckoutState::ahead, fmt::format("{} local commits on top of {}", m_out.ahead, there),
          "move your commits to a branch of your own (git branch <name>), or push them upstream");
    } else if (m_out.behind > 0) {
      trouble(CheckoutState::behind, fmt::format("{} commits behind {}", m_out.behind, there),
              m_out.troubles.empty() ? "ako preflight" : "mend the rest, then run: ako preflight");
    }
    return {};
  }

  /// Files that the upstream adds where something ignored lies already: git would say so only after
  /// it has begun.
  Expected<std::vector<std::string>> in_the_way() {
    AKO_TRY(const auto added, ask({"diff", "--name-only", "-z", "--no-renames", "--diff-filter=A",
                                   m_out.head, m_out.upstream}));
    std::vector<std::string> out;
    for (std::size_t at = 0; at < added.out.size();) {
      const std::size_t end = std::min(added.out.find('\0', at), added.out.size());
      const std::string path = added.out.substr(at, end - at);
      at = end + 1;
      std::error_code why;
      if (fs::exists(fs::symlink_status(m_request.checkout / path, why))) out.push_back(path);
    }
    return out;
  }

  /// Clean and behind: along the branch, over nothing that lies there, ignored files included.
  Status forward() {
    AKO_TRY(const auto blocked, in_the_way());
    if (!blocked.empty()) {
      m_out.troubles.clear();
      trouble(CheckoutState::in_the_way,
              fmt::format("{} ignored files lie where the upstream adds files: {}", blocked.size(),
                          blocked.front()),
              "move those files out of the checkout, then run: ako preflight");
      return {};
    }
    AKO_TRY(const auto merged, ask({"merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash",
                                    "--no-stat", "--quiet", m_out.upstream}));
    if (!merged.ok()) {
      const bool permission = merged.err.find("ermission denied") != std::string::npos;
      m_out.troubles.clear();
      std::string said;
      for (const auto& line : filled_lines(merged.err)) said += (said.empty() ? "" : " ") + line;
      trouble(permission ? CheckoutState::no_permission : CheckoutState::in_the_way,
              "could not be moved forward: " + said.substr(0, 400),
              permission ? "have its owner give write permission"
                         : "move those files out of the checkout, then run: ako preflight");
      return {};
    }
    const Checkout before = m_out;
    // As a fetch would have told it, where it is told at all and lies behind.
    const std::string told =
        fmt::format("refs/remotes/{}/{}", before.remote, before.default_branch);
    AKO_TRY(const auto older, ask({"merge-base", "--is-ancestor", told, before.upstream}));
    if (older.ok()) AKO_TRY_STATUS(m_git.run({"update-ref", told, before.upstream}));
    AKO_TRY(m_out, look_at_checkout(m_request.checkout));
    m_out.remote = before.remote;
    m_out.url = before.url;
    m_out.default_branch = before.default_branch;
    m_out.upstream = before.upstream;
    m_out.done = Checkout::Done::forwarded;
    return {};
  }

  const PreflightRequest& m_request;
  Git m_git;
  Checkout m_out;
};

} // namespace

CheckoutState network_trouble(const std::string& said) {
  // In this order: "unable to access ...: The requested URL returned error: 403" is of the second.
  if (holds_any(said, {"Permission denied (", "Authentication failed", "could not read Username",
                       "could not read Password", "terminal prompts disabled", "error: 401",
                       "error: 403", "HTTP Basic: Access denied", "Host key verification failed",
                       "Invalid username", "no supported authentication methods"}))
    return CheckoutState::wrong_credentials;
  if (holds_any(said, {"does not appear to be a git repository", "repository not found",
                       "Repository not found", "does not exist", "error: 404", "not found: did",
                       "No such file or directory"}))
    return CheckoutState::no_such_upstream;
  if (holds_any(said, {"Could not resolve host", "Temporary failure in name resolution",
                       "Name or service not known", "Connection refused", "Connection timed out",
                       "Connection reset", "Network is unreachable", "No route to host",
                       "Failed to connect", "Could not connect", "unable to connect",
                       "Operation timed out", "early EOF", "remote end hung up"}))
    return CheckoutState::no_network;
  return CheckoutState::no_network;
}

Expected<Checkout> preflight(const PreflightRequest& request) { return Preflight(request).run(); }

fs::path find_checkout(const fs::path& dir) {
  std::error_code why;
  fs::path at = fs::absolute(dir, why);
  if (at.filename().empty()) at = at.parent_path();
  for (fs::path each = at;; each = each.parent_path()) {
    if (each.filename() == "AKO4ALL") return each;
    if (fs::exists(fs::symlink_status(each / "AKO4ALL", why))) return each / "AKO4ALL";
    if (each == each.root_path()) break;
  }
  return at / "AKO4ALL";
}

} // namespace ako::workspace
