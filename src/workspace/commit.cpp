#include "workspace/commit.hpp"

#include "workspace/commit_paths.hpp"
#include "workspace/git.hpp"
#include "workspace/git_text.hpp"
#include "workspace/listing.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <future>
#include <map>
#include <set>
#include <sys/stat.h>
#include <time.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

namespace {

constexpr std::int64_t k_largest_committed = 64 << 20;
constexpr const char* k_no_object = "0000000000000000000000000000000000000000";

/// path -> "mode id", for one side of the three that an index entry is compared over.
using Entries = std::map<std::string, std::string>;

/// Rows "mode [type] id [stage] TAB path NUL" of ls-tree -z and ls-files -s -z.
Entries read_entries(const std::string& text, std::size_t id_field) {
  Entries entries;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    const std::string row = text.substr(at, end - at);
    at = end + 1;
    const std::size_t tab = row.find('\t');
    if (tab == std::string::npos) continue;
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < tab;) {
      const std::size_t space = std::min(row.find(' ', i), tab);
      fields.push_back(row.substr(i, space - i));
      i = space + 1;
    }
    if (fields.size() > id_field) entries[row.substr(tab + 1)] = fields[0] + " " + fields[id_field];
  }
  return entries;
}

class Committer {
public:
  Committer(const Workdir& workdir, GitPlace place)
      : m_workdir(workdir), m_place(std::move(place)), m_git(m_place.top) {}

  void hold(const std::optional<CommittedCandidate>& candidate) { m_candidate = candidate; }
  void leave_out(const std::vector<std::string>& files) {
    for (const auto& file : files) m_left_out.insert(in_top(file));
  }

  Expected<std::string> commit(const std::string& message, const std::vector<std::string>& paths) {
    AKO_TRY(m_top_paths, in_repository(paths));
    AKO_TRY(const auto scratch, base::TemporaryDir::make("ako-index-"));
    m_index = scratch.path() / "index";
    if (m_candidate)
      m_kept =
          beside({"ls-tree", "-r", "-z", "--full-tree", m_candidate->sources->snapshot.git_tree});
    AKO_TRY_STATUS(read_head());
    AKO_TRY(const std::string tree, write_tree(paths));
    AKO_TRY(const std::string id, write_commit(tree, message));
    Git::Call move;
    move.args = {"update-ref", "-m", "ako: " + message.substr(0, message.find('\n')),
                 "HEAD",       id,   m_head.empty() ? k_no_object : m_head};
    m_staged = beside(with_paths({"ls-files", "-s", "-z", "--"})); // moving HEAD leaves it alone
    AKO_TRY_STATUS(m_git.run(move));
    update_index();
    return id;
  }

private:
  std::string in_top(const std::string& path) const {
    return m_place.prefix.empty() ? path : m_place.prefix + "/" + path;
  }

  Expected<std::vector<std::string>> in_repository(const std::vector<std::string>& paths) {
    std::vector<std::string> list;
    for (const auto& path : paths) {
      const std::string plain = fs::path(path).lexically_normal().generic_string();
      if (plain.starts_with("..") || plain.starts_with("/") || plain.empty() || plain == ".")
        return fail(ErrorKind::internal, "a path outside the task was to be committed",
                    {.where = path, .found = {}, .allowed = {}, .next = {}});
      list.push_back(in_top(plain));
    }
    return list;
  }

  base::Status read_head() {
    Git::Call call;
    call.args = {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"};
    AKO_TRY(const auto result, m_git.try_run(call));
    if (result.ok()) m_head = result.out.substr(0, result.out.find('\n'));
    return {};
  }

  Expected<std::string> on_private_index(std::vector<std::string> args, std::string stdin_text) {
    Git::Call call;
    call.args = std::move(args);
    call.stdin_text = std::move(stdin_text);
    call.index = m_index;
    return m_git.run(call);
  }

  using Said = std::future<Expected<std::string>>;
  /// A command that only reads, while the next ones run. A git process takes some ten milliseconds.
  Said beside(std::vector<std::string> args, base::fs::path index = {}) const {
    return std::async(std::launch::async, [this, args = std::move(args), index] {
      Git::Call call;
      call.args = args;
      call.index = index;
      return m_git.run(call);
    });
  }

  std::vector<std::string> with_paths(std::vector<std::string> args) const {
    args.insert(args.end(), m_top_paths.begin(), m_top_paths.end());
    return args;
  }

  /// HEAD's tree with the declared paths as they are on disk. Ignore rules do not apply: what is
  /// declared is part of the record.
  Expected<std::string> write_tree(const std::vector<std::string>& paths) {
    if (!m_head.empty()) {
      AKO_TRY_STATUS(on_private_index({"read-tree", m_head}, {}));
    } else {
      AKO_TRY_STATUS(on_private_index({"read-tree", "--empty"}, {}));
    }
    AKO_TRY(const std::string before,
            on_private_index(with_paths({"ls-files", "-s", "-z", "--"}), {}));
    m_before = read_entries(before, 1);
    std::set<std::string> names;
    for (const auto& [path, entry] : m_before) names.insert(path);
    for (const auto& path : paths) {
      AKO_TRY(const auto files, files_of(path));
      for (const auto& file : files) names.insert(in_top(file));
    }
    // What the repository's attributes do to its own files (large files kept elsewhere, say) is
    // done; the candidate's go in byte for byte, whatever attributes stand beside them: as they
    // were judged, or as they stand where nothing was.
    std::set<std::string> candidate, others;
    for (const auto& name : names)
      if (!m_left_out.contains(name)) {
        const bool own = m_candidate ? is_candidates(name) : name.starts_with(in_top("solution/"));
        (own ? candidate : others).insert(name);
      }
    if (!add_with_attributes(others)) AKO_TRY_STATUS(add_as_they_are(others));
    if (m_candidate) AKO_TRY_STATUS(put_candidate());
    else AKO_TRY_STATUS(add_as_they_are(candidate));
    Said after = beside(with_paths({"ls-files", "-s", "-z", "--"}), m_index);
    auto tree = on_private_index({"write-tree"}, {});
    AKO_TRY(const std::string rows, after.get());
    m_after = read_entries(rows, 1);
    return tree;
  }

  /// Whether git took them: it does not where an attribute names what it cannot do.
  bool add_with_attributes(const std::set<std::string>& names) {
    std::string rows;
    for (const auto& name : names) rows += name + '\0';
    return rows.empty() ||
           on_private_index({"update-index", "--add", "--remove", "-z", "--stdin"}, rows);
  }

  base::Status add_as_they_are(const std::set<std::string>& names) {
    std::vector<std::pair<const char*, std::string>> plain; ///< mode, name
    std::string rows, listing;
    for (const auto& name : names) {
      const fs::path path = m_place.top / name;
      struct stat info {};
      const bool there = lstat(path.c_str(), &info) == 0;
      if (there && S_ISLNK(info.st_mode)) {
        AKO_TRY(const std::string id, link_object(path));
        rows += fmt::format("120000 {}\t{}", id, name) + '\0';
      } else if (there && S_ISREG(info.st_mode)) {
        plain.emplace_back((info.st_mode & S_IXUSR) != 0 ? "100755" : "100644", name);
        listing += quoted_path(name) + '\n';
      } else {
        rows += fmt::format("0 {}\t{}", k_no_object, name) + '\0';
      }
    }
    AKO_TRY(const auto ids, objects_of(listing, plain.size()));
    for (std::size_t i = 0; i < ids.size(); ++i)
      rows += fmt::format("{} {}\t{}", plain[i].first, ids[i], plain[i].second) + '\0';
    if (rows.empty()) return {};
    return on_private_index({"update-index", "-z", "--index-info"}, rows).map([](const auto&) {});
  }

  Expected<std::string> link_object(const fs::path& path) {
    std::error_code why;
    Git::Call call;
    call.args = {"hash-object", "-w", "--no-filters", "--stdin"};
    call.stdin_text = fs::read_symlink(path, why).string();
    return m_git.run(call);
  }

  Expected<std::vector<std::string>> objects_of(const std::string& listing, std::size_t count) {
    if (count == 0) return std::vector<std::string>{};
    Git::Call call;
    call.args = {"hash-object", "-w", "--no-filters", "--stdin-paths"};
    call.stdin_text = listing;
    AKO_TRY(const std::string said, m_git.run(call));
    auto ids = lines_of(said);
    if (ids.size() == count) return ids;
    return fail(ErrorKind::io, "git did not take all files of a commit",
                {.where = m_place.top.string(),
                 .found = fmt::format("{} of {}", ids.size(), count),
                 .allowed = "all of them",
                 .next = "run `git fsck` on the repository"});
  }

  /// Whether a snapshot takes this file of the repository.
  bool is_candidates(const std::string& name) const {
    if (!m_candidate) return false;
    const auto& kernel = m_candidate->contract->kernel;
    const auto is = [&](const std::string& file) {
      return in_top(fs::path(file).lexically_normal().generic_string()) == name;
    };
    if (is(kernel.entry.file) || std::any_of(kernel.sources.begin(), kernel.sources.end(), is))
      return true;
    const std::string folder = in_top("solution/");
    if (!name.starts_with(folder)) return false;
    const fs::path below = name.substr(folder.size());
    return std::none_of(below.begin(), below.end(), is_left_behind);
  }

  bool is_committed(const std::string& name) const {
    return std::any_of(m_top_paths.begin(), m_top_paths.end(), [&](const std::string& path) {
      return name == path || name.starts_with(path + "/");
    });
  }

  /// The candidate's entries of the private index: those of its kept tree and no others.
  base::Status put_candidate() {
    AKO_TRY(const std::string text, m_kept.get());
    std::string rows; // what goes first: a folder may stand where a file comes to lie
    for (const auto& [name, entry] : m_before)
      if (is_candidates(name)) rows += fmt::format("0 {}\t", k_no_object) + name + '\0';
    for (const auto& [path, entry] : read_entries(text, 2))
      if (const std::string name = in_top(path); is_committed(name))
        rows += entry + "\t" + name + '\0';
    return on_private_index({"update-index", "-z", "--index-info"}, rows).map([](const auto&) {});
  }

  Expected<std::vector<std::string>> files_of(const std::string& path) {
    const std::string plain = fs::path(path).lexically_normal().generic_string();
    std::error_code why;
    std::vector<std::string> list;
    if (fs::is_directory(fs::symlink_status(m_workdir.task() / plain, why))) {
      AKO_TRY(list, list_below(m_workdir.task(), plain));
    } else {
      list.push_back(plain);
    }
    std::erase_if(list, [&](const std::string& file) {
      struct stat info {};
      if (lstat((m_workdir.task() / file).c_str(), &info) != 0) return true;
      const bool lawful = S_ISREG(info.st_mode) || S_ISLNK(info.st_mode);
      return !lawful || info.st_size > k_largest_committed;
    });
    return list;
  }

  Expected<std::string> write_commit(const std::string& tree, const std::string& message) {
    Git::Call call;
    call.args = {"commit-tree", tree};
    if (!m_head.empty()) call.args.insert(call.args.end(), {"-p", m_head});
    call.args.insert(call.args.end(), {"-F", "-"});
    call.stdin_text = message;
    AKO_TRY(auto made, m_git.try_run(call));
    if (made.ok()) return made.out.substr(0, made.out.find('\n'));
    Git::Call who;
    who.args = {"var", "GIT_COMMITTER_IDENT"};
    AKO_TRY(const auto known, m_git.try_run(who));
    if (!known.ok()) // nobody has told git a name on this machine: the record says who wrote it
      call.environment = {"GIT_AUTHOR_NAME=ako", "GIT_AUTHOR_EMAIL=ako@localhost",
                          "GIT_COMMITTER_NAME=ako", "GIT_COMMITTER_EMAIL=ako@localhost"};
    return m_git.run(call);
  }

  /// Brings the user's index along for entries that were as in the old HEAD. What they had staged
  /// themselves stays as they staged it. The commit stands whatever happens here.
  void update_index() {
    auto rows = index_changes();
    if (rows && !rows->empty()) {
      Git::Call call;
      call.args = {"update-index", "-z", "--index-info"};
      call.stdin_text = *rows;
      for (int attempt = 0; attempt < 20; ++attempt) {
        if (m_git.run(call)) return;
        const timespec pause{0, 100'000'000}; // somebody else's git command holds the index
        nanosleep(&pause, nullptr);
      }
      base::info("the commit was made, but the index could not be updated: `git status` will show "
                 "the task's files as changed until `git add` is run on them");
    }
  }

  Expected<std::string> index_changes() {
    AKO_TRY(const std::string text, m_staged.get());
    const Entries staged = read_entries(text, 1);
    std::set<std::string> names;
    for (const auto* side : {&m_before, &m_after})
      for (const auto& [path, entry] : *side) names.insert(path);
    const auto of = [](const Entries& entries, const std::string& path) {
      const auto found = entries.find(path);
      return found == entries.end() ? std::string() : found->second;
    };
    std::string rows;
    for (const auto& path : names) {
      const std::string now = of(staged, path), wanted = of(m_after, path);
      if (now == wanted || now != of(m_before, path)) continue;
      rows += (wanted.empty() ? fmt::format("0 {}", k_no_object) : wanted) + "\t" + path + '\0';
    }
    return rows;
  }

  const Workdir& m_workdir;
  GitPlace m_place;
  Git m_git;
  fs::path m_index;
  std::string m_head;
  std::vector<std::string> m_top_paths;
  std::optional<CommittedCandidate> m_candidate;
  std::set<std::string> m_left_out;
  Entries m_before, m_after; ///< of the declared paths, in HEAD and in the new commit
  Said m_kept, m_staged;     ///< the candidate's kept tree; the user's index
};

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

} // namespace

Expected<std::vector<std::string>> commit_obstacles(const Workdir& workdir) {
  AKO_TRY(const GitPlace place, workdir.git());
  static constexpr std::pair<const char*, const char*> k_states[] = {
      {"MERGE_HEAD", "a merge is under way (git merge --continue or --abort)"},
      {"rebase-merge", "a rebase is under way (git rebase --continue or --abort)"},
      {"rebase-apply", "a rebase or am is under way (git rebase or am --continue or --abort)"},
      {"CHERRY_PICK_HEAD", "a cherry-pick is under way (git cherry-pick --continue or --abort)"},
      {"REVERT_HEAD", "a revert is under way (git revert --continue or --abort)"},
      {"BISECT_LOG", "a bisection is under way (git bisect reset)"},
      {"index.lock", "the index is locked (wait for the git command that holds it; when none "
                     "runs, remove the file)"}};
  std::vector<std::string> found;
  std::error_code why;
  for (const auto& [file, words] : k_states)
    if (fs::exists(place.git_dir / file, why))
      found.push_back(fmt::format("{}: {}", (place.git_dir / file).string(), words));
  return found;
}

namespace {

base::Status at_rest(const Workdir& workdir) {
  AKO_TRY(const auto obstacles, commit_obstacles(workdir));
  if (!obstacles.empty())
    return fail(ErrorKind::refused, "the repository is in the middle of something else",
                {.where = workdir.task().string(),
                 .found = fmt::format("{}", fmt::join(obstacles, "; ")),
                 .allowed = "a repository at rest",
                 .next = "finish or abort it, then run the command again"});
  return {};
}

} // namespace

Expected<std::string> commit_paths(const Workdir& workdir, const std::string& message,
                                   const std::vector<std::string>& paths) {
  AKO_TRY_STATUS(at_rest(workdir));
  AKO_TRY(GitPlace place, workdir.git());
  return Committer(workdir, std::move(place)).commit(message, paths);
}

Expected<std::string> commit_iteration(const Workdir& workdir, const IterationCommit& iteration) {
  std::string message =
      fmt::format("[iter {}] {}\n", iteration.number, one_line(iteration.hypothesis));
  if (!iteration.body.empty()) message += "\n" + iteration.body + "\n";
  message += fmt::format("\nAko-Ledger-Head: {}\n", iteration.ledger_head);
  AKO_TRY_STATUS(at_rest(workdir));
  AKO_TRY(GitPlace place, workdir.git());
  Committer committer(workdir, std::move(place));
  committer.hold(iteration.candidate);
  committer.leave_out(iteration.left_out);
  return committer.commit(message, iteration.paths);
}

} // namespace ako::workspace
