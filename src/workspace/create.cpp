#include "workspace/create.hpp"

#include "model/nearest.hpp"
#include "workspace/commit_paths.hpp"
#include "workspace/git.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

namespace {

base::Status check_name(const std::string& name) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  const bool lawful = !name.empty() && name.size() <= 100 && name[0] != '.' && name[0] != '-' &&
                      std::all_of(name.begin(), name.end(), plain) &&
                      name.find("..") == std::string::npos && !name.ends_with(".lock") &&
                      !name.ends_with(".");
  if (lawful) return {};
  return fail(ErrorKind::usage, "this cannot be a task's name",
              {.where = "name",
               .found = name,
               .allowed = "letters, digits, '_', '-' and '.', beginning with a letter or digit",
               .next = "choose another name"});
}

base::Status check_absent(const fs::path& path) {
  std::error_code why;
  if (fs::symlink_status(path, why).type() == fs::file_type::not_found) return {};
  return fail(ErrorKind::refused, "something of that name is there already",
              {.where = path.string(),
               .found = "it was left as it is",
               .allowed = "a name that nothing has yet",
               .next = "choose another name, or move it away"});
}

/// <base>/AKO4ALL when it is a git work tree of its own.
Expected<std::optional<fs::path>> find_ako4all(const fs::path& base_dir) {
  const fs::path dir = base_dir / "AKO4ALL";
  std::error_code why;
  if (!fs::is_directory(dir, why)) return std::nullopt;
  Git::Call call;
  call.args = {"rev-parse", "--show-toplevel"};
  AKO_TRY(const auto result, Git(dir).try_run(call));
  const std::string top = result.out.substr(0, result.out.find('\n'));
  if (!result.ok() || fs::canonical(top, why) != fs::canonical(dir, why)) return std::nullopt;
  return dir;
}

base::Status write_files(const fs::path& task, const std::vector<model::SourceText>& files) {
  for (const auto& file : files) {
    AKO_TRY_STATUS(base::write_file_atomic(task / file.path, file.content));
    if (file.executable) chmod((task / file.path).c_str(), 0755);
  }
  for (const char* folder : {"input", "solution", "bench", "context"})
    AKO_TRY_STATUS(base::make_dirs(task / folder));
  return {};
}

/// Writes the files and commits them; the branch's name comes back in `created`.
base::Status fill(const CreateRequest& request, Created& created) {
  AKO_TRY_STATUS(write_files(created.task, request.files));
  std::set<std::string> tops;
  for (const auto& file : request.files) {
    tops.insert(fs::path(file.path).begin()->string());
    created.files.push_back(file.path);
  }
  std::sort(created.files.begin(), created.files.end());
  AKO_TRY(const Workdir workdir, Workdir::at(created.task));
  AKO_TRY(created.commit, commit_paths(workdir, fmt::format("ako: new task {}\n", request.name),
                                       {tops.begin(), tops.end()}));
  AKO_TRY(const fs::path records, workdir.records());
  AKO_TRY_STATUS(base::make_dirs(records));
  return {};
}

Expected<Created> create_beside_ako4all(const CreateRequest& request, const fs::path& checkout) {
  const fs::path tree = request.base_dir / ("AKO4ALL-" + request.name);
  AKO_TRY_STATUS(check_absent(tree));
  Created created;
  created.in_ako4all = true;
  created.branch = "ako/" + request.name;
  created.task = tree / request.name;
  const Git git(checkout);
  Git::Call known;
  known.args = {"rev-parse", "--verify", "--quiet", "refs/heads/" + created.branch};
  AKO_TRY(const auto taken, git.try_run(known));
  if (taken.ok())
    return fail(ErrorKind::refused, "the branch is there already",
                {.where = checkout.string(),
                 .found = created.branch,
                 .allowed = "a name without a branch ako/NAME",
                 .next = "choose another name"});
  Git::Call add;
  add.args = {"worktree", "add", "--quiet", "-b", created.branch, tree.string(), "HEAD"};
  add.deadline_seconds = 600;
  AKO_TRY_STATUS(git.run(add));
  if (auto filled = fill(request, created); !filled) {
    // The worktree and the branch were made a moment ago by this call and hold nothing of
    // anybody's.
    static_cast<void>(git.run({"worktree", "remove", "--force", tree.string()}));
    static_cast<void>(git.run({"branch", "-q", "-D", created.branch}));
    return tl::unexpected(std::move(filled).error());
  }
  return created;
}

Expected<Created> create_plain(const CreateRequest& request) {
  Created created;
  created.task = request.base_dir / request.name;
  AKO_TRY_STATUS(check_absent(created.task));
  AKO_TRY_STATUS(base::make_dirs(created.task));
  const Git git(created.task);
  auto status = git.run({"init", "--quiet", "--initial-branch=main"});
  base::Status filled;
  if (status) filled = fill(request, created);
  else filled = tl::unexpected(std::move(status).error());
  if (!filled) {
    static_cast<void>(base::remove_tree(created.task, request.base_dir));
    return tl::unexpected(std::move(filled).error());
  }
  created.branch = "main";
  return created;
}

fs::path program_folder() {
  std::error_code why;
  return fs::read_symlink("/proc/self/exe", why).parent_path();
}

/// Where templates may lie, the first that has one counts.
std::vector<fs::path> template_places() {
  std::vector<fs::path> places;
  if (const char* chosen = std::getenv("AKO_TEMPLATES"); chosen != nullptr && *chosen != '\0')
    places.emplace_back(chosen);
  places.push_back(program_folder() / ".." / "share" / "ako" / "templates");
  for (fs::path at = program_folder(); at != at.root_path() && !at.empty(); at = at.parent_path())
    places.push_back(at / "templates");
  return places;
}

std::vector<std::string> lanes_of(const fs::path& place) {
  std::vector<std::string> lanes;
  std::error_code why;
  for (fs::directory_iterator walk(place, why), end; !why && walk != end; walk.increment(why))
    if (fs::is_regular_file(walk->path() / "task.toml", why))
      lanes.push_back(walk->path().filename().string());
  return lanes;
}

/// "<lane>" or "<lane>/<template>" of this place, and nothing that leads out of it.
bool is_there(const fs::path& place, const std::string& id) {
  const auto lanes = lanes_of(place);
  const fs::path path(id);
  const auto parts = std::distance(path.begin(), path.end());
  if (path.empty() || parts > 2 || *path.begin() == "." || *path.begin() == ".." ||
      *std::prev(path.end()) == ".." || *std::prev(path.end()) == ".")
    return false;
  std::error_code why;
  return std::find(lanes.begin(), lanes.end(), path.begin()->string()) != lanes.end() &&
         fs::is_regular_file(place / path / "task.toml", why);
}

} // namespace

Expected<Created> create_task(const CreateRequest& request) {
  AKO_TRY_STATUS(check_name(request.name));
  AKO_TRY_STATUS(base::make_dirs(request.base_dir));
  AKO_TRY(const auto checkout, find_ako4all(request.base_dir));
  if (checkout) return create_beside_ako4all(request, *checkout);
  return create_plain(request);
}

Expected<std::vector<std::string>> starting_lanes() {
  std::set<std::string> all;
  for (const auto& place : template_places())
    for (auto& lane : lanes_of(place)) all.insert(std::move(lane));
  if (!all.empty()) return std::vector<std::string>(all.begin(), all.end());
  return fail(ErrorKind::environment, "the starting tasks were not found",
              {.where = "templates/",
               .found = fmt::format("looked beside {}", program_folder().string()),
               .allowed = "a folder templates/ with one folder a lane",
               .next = "set AKO_TEMPLATES to the folder, or install ako again"});
}

Expected<std::vector<model::SourceText>> starting_files(const std::string& lane,
                                                        const std::string& name) {
  std::error_code why;
  for (const auto& place : template_places()) {
    if (!is_there(place, lane)) continue;
    AKO_TRY(const auto names, base::list_files(place / lane));
    std::vector<model::SourceText> files;
    for (const auto& file : names) {
      // Below a lane's own starting task lie the templates of its kernels, each a task of its own.
      if (fs::is_regular_file(place / lane / *file.begin() / "task.toml", why)) continue;
      AKO_TRY(std::string text, base::read_file(place / lane / file));
      for (std::size_t at = 0; (at = text.find("{{name}}", at)) != std::string::npos;)
        text.replace(at, 8, name);
      files.push_back({file.generic_string(), std::move(text), false});
    }
    return files;
  }
  AKO_TRY(const auto lanes, starting_lanes());
  return no_such_lane(lane, lanes);
}

tl::unexpected<base::Error> no_such_lane(const std::string& lane,
                                         const std::vector<std::string>& lanes) {
  const std::string nearest = model::did_you_mean(lane, lanes);
  return fail(ErrorKind::usage, "there is no starting task of this lane",
              {.where = "--lane",
               .found = "'" + lane + "'",
               .allowed = model::join(lanes),
               .next = nearest.empty() ? "ako new NAME --lane " + lanes.front() : nearest});
}

} // namespace ako::workspace
