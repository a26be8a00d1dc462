#include "workspace/port_store.hpp"

#include "base/time.hpp"
#include "workspace/git_text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;
namespace fs = base::fs;

namespace {

constexpr double k_long_seconds = 600;

/// A path as a line of a sparse checkout's list: itself and what lies below it.
std::string pattern(const std::string& path) {
  std::string text = "/";
  for (const char c : path) {
    if (std::string_view("*?[]\\!# ").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + "\n";
}

} // namespace

Expected<PortStore> PortStore::open(const fs::path& home, const fs::path& repository) {
  std::error_code why;
  const fs::path whole = fs::canonical(repository, why);
  if (why)
    return fail(ErrorKind::usage, "the target repository is not there",
                {.where = "task.toml [port] repository",
                 .found = repository.string() + ": " + why.message(),
                 .allowed = "a git repository, from the task folder or absolute",
                 .next = "mend the path"});
  PortStore store(home, whole);
  AKO_TRY_STATUS(store.prepare());
  return store;
}

Status PortStore::prepare() {
  Git::Call ask;
  ask.args = {"rev-parse", "--git-common-dir", "--show-object-format", "--is-bare-repository"};
  AKO_TRY(const auto result, Git(m_repository).try_run(ask));
  const auto said = lines_of(result.out);
  if (!result.ok() || said.size() < 3)
    return fail(ErrorKind::usage, "the target is no git repository that git will read",
                {.where = m_repository.string(),
                 .found = result.err.substr(0, result.err.find('\n')),
                 .allowed = "a git repository, bare or not",
                 .next = "mend [port] repository in task.toml, or what git says"});
  std::error_code why;
  const fs::path common = fs::canonical(m_repository / said[0], why);
  m_store = m_home / "store.git";
  AKO_TRY_STATUS(base::make_dirs(m_home));
  if (!fs::exists(m_store / "HEAD", why))
    AKO_TRY_STATUS(Git(m_home).run({"init", "--quiet", "--bare", "--template=",
                                    "--object-format=" + said[1], m_store.string()}));
  const std::string borrowed = (common / "objects").string() + "\n";
  const fs::path alternates = m_store / "objects" / "info" / "alternates";
  if (base::read_file(alternates).value_or("") != borrowed)
    AKO_TRY_STATUS(base::write_file_atomic(alternates, borrowed));
  // History that ends where the target's does.
  if (fs::exists(common / "shallow", why)) {
    AKO_TRY(const std::string shallow, base::read_file(common / "shallow"));
    AKO_TRY_STATUS(base::write_file_atomic(m_store / "shallow", shallow));
  } else {
    fs::remove(m_store / "shallow", why);
  }
  return {};
}

Git::Call PortStore::call(std::vector<std::string> args, std::string input) const {
  Git::Call out;
  out.args = std::move(args);
  out.stdin_text = std::move(input);
  out.environment = {"GIT_DIR=" + m_store.string()};
  out.deadline_seconds = k_long_seconds;
  return out;
}

Expected<std::string> PortStore::run(std::vector<std::string> args, std::string input) const {
  return Git(m_home).run(call(std::move(args), std::move(input)));
}

std::vector<std::string> PortStore::identity() const {
  Git::Call who;
  who.args = {"var", "GIT_COMMITTER_IDENT"};
  const auto known = Git(m_repository).try_run(who);
  std::string name = "ako", mail = "ako@localhost";
  if (known && known->ok()) {
    const auto open = known->out.find(" <"), close = known->out.find('>');
    if (open != std::string::npos && close != std::string::npos && close > open) {
      name = known->out.substr(0, open);
      mail = known->out.substr(open + 2, close - open - 2);
    }
  }
  return {"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_COMMITTER_NAME=" + name,
          "GIT_COMMITTER_EMAIL=" + mail};
}

std::string PortStore::committer() const {
  const auto who = identity();
  return fmt::format("{} <{}> {} +0000", who[2].substr(19), who[3].substr(20),
                     base::wall_ns() / 1'000'000'000);
}

Expected<std::string> PortStore::branch(const std::string& wanted) const {
  if (!wanted.empty()) return wanted;
  Git::Call ask;
  ask.args = {"symbolic-ref", "--quiet", "--short", "HEAD"};
  AKO_TRY(const auto result, Git(m_repository).try_run(ask));
  if (result.ok()) return result.out.substr(0, result.out.find('\n'));
  return fail(ErrorKind::refused, "the target repository is on no branch",
              {.where = m_repository.string(),
               .found = "a detached HEAD",
               .allowed = "a branch that the port is made for",
               .next = "name it in task.toml: [port] branch = \"main\""});
}

Expected<std::string> PortStore::tip(const std::string& branch) const {
  for (const std::string& name : {"refs/heads/" + branch, branch}) {
    if (name.starts_with("-")) continue;
    Git::Call ask;
    ask.args = {"rev-parse", "--verify", "--quiet", name + "^{commit}"};
    AKO_TRY(const auto result, Git(m_repository).try_run(ask));
    if (result.ok()) return result.out.substr(0, result.out.find('\n'));
  }
  return fail(ErrorKind::refused, "the target repository has no such branch",
              {.where = m_repository.string(),
               .found = branch,
               .allowed = "a branch with a commit",
               .next = "mend [port] branch in task.toml"});
}

Expected<std::optional<std::string>> PortStore::branch_commit(const std::string& name) const {
  Git::Call ask;
  ask.args = {"rev-parse", "--verify", "--quiet", "refs/heads/" + name + "^{commit}"};
  AKO_TRY(const auto result, Git(m_repository).try_run(ask));
  if (!result.ok()) return std::optional<std::string>{};
  return std::optional<std::string>(result.out.substr(0, result.out.find('\n')));
}

Expected<bool> PortStore::is_ancestor(const std::string& older, const std::string& newer) const {
  AKO_TRY(const auto result,
          Git(m_home).try_run(call({"merge-base", "--is-ancestor", older, newer})));
  return result.ok();
}

Expected<std::optional<TreeFile>> PortStore::file_at(const std::string& commit,
                                                     const std::string& path) const {
  AKO_TRY(const std::string row, run({"ls-tree", "--full-tree", commit, "--", path}));
  if (row.find(" blob ") == std::string::npos) return std::optional<TreeFile>{};
  TreeFile file{path, {}, row.starts_with("100755")};
  if (row.starts_with("120000"))
    return fail(
        ErrorKind::refused, "a file of the target is a symbolic link",
        {.where = path, .found = row, .allowed = "a file", .next = "name what it leads to"});
  AKO_TRY(const auto result, Git(m_home).try_run(call({"cat-file", "blob", commit + ":" + path})));
  if (!result.ok())
    return fail(
        ErrorKind::io, "a file of the target is not to be had",
        {.where = path,
         .found = result.err.substr(0, result.err.find('\n')),
         .allowed = "a repository that has its objects (no partial clone)",
         .next = "fetch them: git -C " + m_repository.string() + " checkout, or clone whole"});
  file.content = result.out;
  return std::optional<TreeFile>(std::move(file));
}

Expected<std::string> PortStore::object_at(const std::string& commit,
                                           const std::string& path) const {
  AKO_TRY(const auto result,
          Git(m_home).try_run(call({"rev-parse", "--verify", "--quiet", commit + ":" + path})));
  return result.ok() ? result.out.substr(0, result.out.find('\n')) : std::string();
}

Expected<std::string> PortStore::import(const std::string& stream, const std::string& ref) const {
  AKO_TRY_STATUS(
      run({"fast-import", "--quiet", "--force", "--done", "--date-format=raw"}, stream + "done\n"));
  return run({"rev-parse", "--verify", ref + "^{commit}"});
}

namespace {

std::string head_of(const std::string& ref, const std::string& who, const std::string& message) {
  return fmt::format("reset {}\ncommit {}\ncommitter {}\ndata {}\n{}\n", ref, ref, who,
                     message.size(), message);
}

std::string changes_of(const std::vector<TreeFile>& files) {
  std::string out;
  for (const auto& file : files) {
    out += fmt::format("M {} inline {}\ndata {}\n", file.executable ? "100755" : "100644",
                       quoted_path(file.path), file.content.size());
    out += file.content + "\n";
  }
  return out;
}

} // namespace

Expected<std::string> PortStore::tree_of(const std::vector<TreeFile>& files) const {
  const std::string ref = "refs/ako/measured";
  AKO_TRY(const std::string commit,
          import(head_of(ref, "ako <ako@localhost> 0 +0000", "measured") + changes_of(files), ref));
  return run({"rev-parse", "--verify", commit + "^{tree}"});
}

Expected<std::string> PortStore::commit_files(const std::string& parent, const std::string& folder,
                                              const std::vector<TreeFile>& files,
                                              const std::string& message) const {
  const std::string ref = "refs/ako/work";
  std::string stream = head_of(ref, committer(), message) + "from " + parent + "\n";
  if (!folder.empty()) {
    AKO_TRY(const std::string there, object_at(parent, folder));
    if (!there.empty()) stream += "D " + quoted_path(folder) + "\n";
  }
  return import(stream + changes_of(files), ref);
}

Expected<std::string> PortStore::commit_patches(const std::string& parent,
                                                const std::vector<TreeFile>& patches,
                                                const std::string& message) const {
  AKO_TRY(const auto scratch, base::TemporaryDir::make("ako-port-"));
  const fs::path index = scratch.path() / "index";
  Git::Call read = call({"read-tree", parent});
  read.index = index;
  AKO_TRY_STATUS(Git(m_home).run(read));
  for (const auto& patch : patches) {
    Git::Call apply =
        call({"apply", "--cached", "--3way", "--whitespace=nowarn", "-"}, patch.content);
    apply.index = index;
    AKO_TRY(const auto result, Git(m_home).try_run(apply));
    if (!result.ok())
      return fail(ErrorKind::refused, "a patch does not apply to the target branch",
                  {.where = patch.path,
                   .found = result.err.substr(0, 600),
                   .allowed = "a git diff against " + parent.substr(0, 12),
                   .next = "make the patch anew against that commit"});
  }
  Git::Call write = call({"write-tree", "--missing-ok"});
  write.index = index;
  AKO_TRY(const std::string tree, Git(m_home).run(write));
  Git::Call commit = call({"commit-tree", tree, "-p", parent, "-F", "-"}, message);
  const auto who = identity();
  commit.environment.insert(commit.environment.end(), who.begin(), who.end());
  return Git(m_home).run(commit);
}

Expected<std::string> PortStore::rebase(const std::string& commit, const std::string& old_base,
                                        const std::string& new_base) const {
  AKO_TRY(const std::string changed,
          run({"diff", "--name-only", "--no-renames", old_base, commit}));
  auto paths = lines_of(changed);
  AKO_TRY(const fs::path tree, work_tree("rebase", commit, paths));
  const Git git(tree);
  Git::Call move;
  move.args = {"rebase", "--quiet", "--no-autostash", "--onto", new_base, old_base};
  move.deadline_seconds = k_long_seconds;
  move.environment = identity();
  AKO_TRY(const auto result, git.try_run(move));
  if (result.ok()) return git.run({"rev-parse", "--verify", "HEAD^{commit}"});
  const auto conflicts = git.run({"diff", "--name-only", "--diff-filter=U"});
  static_cast<void>(git.run({"rebase", "--abort"}));
  std::string names;
  for (const auto& name : lines_of(conflicts.value_or("")))
    names += (names.empty() ? "" : ", ") + name;
  return fail(ErrorKind::refused, "the port does not follow the moved target branch",
              {.where = m_repository.string(),
               .found = names.empty() ? result.err.substr(0, 400) : "conflicts in " + names,
               .allowed = "changes that do not meet",
               .next = fmt::format("rebase the branch yourself onto {}, then run: ako port",
                                   new_base.substr(0, 12))});
}

Expected<std::string> PortStore::publish(const std::string& commit, const std::string& base,
                                         const std::string& name) const {
  AKO_TRY(const auto packed,
          Git(m_home).try_run(call({"pack-objects", "--revs", "--stdout", "--quiet"},
                                   commit + "\n^" + base + "\n")));
  if (!packed.ok())
    return fail(ErrorKind::io, "the port could not be packed",
                {.where = m_store.string(),
                 .found = packed.err.substr(0, 400),
                 .allowed = {},
                 .next = "git fsck in " + m_repository.string()});
  const Git git(m_repository);
  Git::Call unpack;
  unpack.args = {"unpack-objects", "-q"};
  unpack.stdin_text = packed.out;
  AKO_TRY_STATUS(git.run(unpack));
  std::string flat = name;
  std::replace(flat.begin(), flat.end(), '/', '-');
  std::string said;
  for (const std::string& each : {name, flat}) {
    Git::Call make;
    make.args = {"update-ref",         "-m",   "ako: port",
                 "refs/heads/" + each, commit, std::string(commit.size(), '0')};
    AKO_TRY(const auto result, git.try_run(make));
    if (result.ok()) return each;
    said = result.err;
  }
  return fail(ErrorKind::refused, "the target repository does not take the new branch",
              {.where = m_repository.string(),
               .found = said.substr(0, 400),
               .allowed = "a repository in which this user may make a branch " + name,
               .next = "look at what git says"});
}

Expected<fs::path> PortStore::work_tree(const std::string& name, const std::string& commit,
                                        const std::vector<std::string>& paths) const {
  const fs::path path = m_home / name;
  std::error_code why;
  if (!fs::exists(path / ".git", why)) {
    AKO_TRY_STATUS(run({"worktree", "prune"}));
    AKO_TRY_STATUS(run({"worktree", "add", "--quiet", "--force", "--detach", "--no-checkout",
                        path.string(), commit}));
  }
  const Git git(path);
  Git::Call sparse;
  sparse.deadline_seconds = k_long_seconds;
  if (paths.empty()) {
    sparse.args = {"sparse-checkout", "disable"};
  } else {
    sparse.args = {"sparse-checkout", "set", "--no-cone", "--stdin"};
    for (const auto& each : paths) sparse.stdin_text += pattern(each);
  }
  AKO_TRY_STATUS(git.run(sparse));
  Git::Call take;
  take.args = {"checkout", "--quiet", "--force", "--detach", commit};
  take.deadline_seconds = k_long_seconds;
  AKO_TRY_STATUS(git.run(take));
  return path;
}

} // namespace ako::workspace
