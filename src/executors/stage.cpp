#include "executors/stage.hpp"

#include "executors/build.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::executors {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

namespace {

bool is_below(const fs::path& path, const fs::path& root) {
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  static_cast<void>(rest);
  return end == root.end();
}

base::Status link_to(const fs::path& from, const fs::path& to) {
  std::error_code why;
  fs::create_symlink(to, from, why);
  if (!why) return {};
  return fail(ErrorKind::io, "the build's folder could not be laid out",
              {.where = from.string(),
               .found = why.message(),
               .allowed = "a temporary folder that takes symbolic links",
               .next = "set TMPDIR to another folder"});
}

/// Links what stands in `real` and has no staged file below it. `staged` holds every staged path
/// and the folders above them, relative to the task.
base::Status link_rest(const fs::path& real, const fs::path& root, const fs::path& relative,
                       const std::set<std::string>& staged) {
  std::error_code why;
  for (fs::directory_iterator walk(real, why), end; !why && walk != end; walk.increment(why)) {
    const fs::path name = relative / walk->path().filename();
    if (name == ".git") continue;
    if (!staged.contains(name.generic_string())) {
      AKO_TRY_STATUS(link_to(root / name, walk->path()));
    } else if (walk->is_directory(why) && !walk->is_symlink(why)) {
      AKO_TRY_STATUS(link_rest(walk->path(), root, name, staged));
    }
  }
  if (!why) return {};
  return fail(ErrorKind::io, "the task's folder could not be read",
              {.where = real.string(),
               .found = why.message(),
               .allowed = "folders that this user may list",
               .next = "make it readable"});
}

/// Not synced: a stage lives no longer than its build.
base::Status put(const fs::path& path, const std::string& content) {
  AKO_TRY_STATUS(base::make_dirs(path.parent_path()));
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  stream.close();
  if (stream) return {};
  return base::fail_errno("a file of the build could not be written", path.string(), errno);
}

} // namespace

Expected<Stage> Stage::make(const model::BuildPlan& plan) {
  AKO_TRY(auto dir, base::TemporaryDir::make("ako-build-"));
  Stage stage(std::move(dir));
  AKO_TRY_STATUS(base::make_dirs(stage.m_root));
  AKO_TRY_STATUS(base::make_dirs(stage.temporary()));
  std::set<std::string> staged;
  for (const auto& file : plan.files) {
    AKO_TRY_STATUS(put(stage.m_root / file.path, file.content));
    for (fs::path at = file.path; !at.empty(); at = at.parent_path())
      staged.insert(at.generic_string());
  }
  // solution/ is the snapshot alone: nothing that appeared there since may slip in.
  staged.insert("solution");
  AKO_TRY_STATUS(base::make_dirs(stage.m_root / "solution"));
  std::error_code why;
  if (plan.task_dir.empty()) return stage;
  for (fs::directory_iterator walk(plan.task_dir, why), end; !why && walk != end;
       walk.increment(why)) {
    const fs::path name = walk->path().filename();
    if (name == ".git" || name == "solution") continue;
    if (!staged.contains(name.string())) {
      AKO_TRY_STATUS(link_to(stage.m_root / name, walk->path()));
    } else if (walk->is_directory(why) && !walk->is_symlink(why)) {
      AKO_TRY_STATUS(link_rest(walk->path(), stage.m_root, name, staged));
    }
  }
  if (why)
    return fail(ErrorKind::io, "the task's folder could not be read",
                {.where = plan.task_dir,
                 .found = why.message(),
                 .allowed = "folders that this user may list",
                 .next = "make it readable"});
  return stage;
}

Expected<Dependencies> sort_dependencies(const model::BuildPlan& plan, const Stage& stage) {
  std::error_code why;
  const fs::path root = fs::canonical(stage.root(), why);
  const fs::path task = plan.task_dir.empty() ? fs::path() : fs::canonical(plan.task_dir, why);
  std::vector<fs::path> tools;
  for (const auto& dir : plan.system_dirs) tools.push_back(fs::weakly_canonical(dir, why));

  const fs::path temporary = fs::weakly_canonical(stage.temporary(), why);
  std::set<std::string> in_task, outside, of_tools;
  std::vector<std::string> rules;
  for (const auto& depfile : plan.depfiles) {
    AKO_TRY(std::string text, base::read_file(stage.root() / depfile));
    rules.push_back(std::move(text));
  }
  for (const auto& depfile : plan.assembler_depfiles)
    if (auto text = base::read_file(stage.root() / depfile)) rules.push_back(std::move(*text));
  for (const auto& text : rules) {
    for (const auto& name : read_depfile(text)) {
      const fs::path path = fs::weakly_canonical(stage.root() / name, why);
      const auto below = [&](const fs::path& dir) { return is_below(path, dir); };
      if (is_below(path, root) || is_below(path, temporary)) continue;
      if (!task.empty() && is_below(path, task)) in_task.insert(path.string());
      else if (std::any_of(tools.begin(), tools.end(), below)) of_tools.insert(path.string());
      else outside.insert(path.string());
    }
  }
  Dependencies sorted;
  for (const auto& path : in_task) {
    AKO_TRY(auto hash, base::sha256_file(path));
    sorted.in_task.push_back({path, std::move(hash)});
  }
  sorted.outside.assign(outside.begin(), outside.end());
  sorted.tools.assign(of_tools.begin(), of_tools.end());
  return sorted;
}

base::Hash state_of(const std::vector<std::string>& files) {
  base::Hasher hasher;
  for (const auto& file : files) {
    struct stat info {};
    const bool there = stat(file.c_str(), &info) == 0;
    hasher.add_field(file);
    hasher.add_field(there ? std::to_string(info.st_size) : "gone");
    hasher.add_field(there ? std::to_string(info.st_mtim.tv_sec) : "");
    hasher.add_field(there ? std::to_string(info.st_mtim.tv_nsec) : "");
  }
  return hasher.finish();
}

} // namespace ako::executors
