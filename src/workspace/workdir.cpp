#include "workspace/workdir.hpp"

#include "workspace/git.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

namespace {

Expected<fs::path> absolute_folder(const fs::path& path) {
  std::error_code why;
  const fs::path whole = fs::canonical(path.empty() ? fs::path(".") : path, why);
  if (why)
    return fail(ErrorKind::usage, "this folder does not exist",
                {.where = path.string(),
                 .found = why.message(),
                 .allowed = "a folder that exists",
                 .next = "name an existing folder with -C"});
  if (!fs::is_directory(whole, why)) return whole.parent_path();
  return whole;
}

tl::unexpected<base::Error> no_repository(const fs::path& task, const std::string& said) {
  return fail(ErrorKind::environment, "the task lies in no git repository",
              {.where = task.string(),
               .found = said.substr(0, said.find('\n')),
               .allowed = "a folder in a git work tree",
               .next = "run `git init` there, or make the task with `ako new`"});
}

std::string state_of(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "-";
  const auto ns = [](const timespec& at) { return at.tv_sec * 1'000'000'000ll + at.tv_nsec; };
  return fmt::format("{}.{}.{:o}.{}.{}", info.st_dev, info.st_ino, info.st_mode,
                     S_ISDIR(info.st_mode) ? 0 : info.st_size,
                     S_ISDIR(info.st_mode) ? 0 : ns(info.st_ctim));
}

/// Where a folder lies in git, as its files show: the same text, the same answer of git. Empty
/// where there is no repository in sight.
std::string signs_of(const fs::path& task) {
  std::error_code why;
  for (fs::path at = task;; at = at.parent_path()) {
    const fs::path git = at / ".git";
    if (fs::exists(git, why))
      return fmt::format("{} {} {} {}", git.string(), state_of(at), state_of(git),
                         state_of(git / "config"));
    if (at == at.root_path() || at.empty()) return {};
  }
}

/// What git answered before, in this process or the one it was forked from.
struct Known {
  std::mutex guard;
  std::map<std::string, std::pair<std::string, GitPlace>> places; ///< by task: signs, answer
  std::optional<GitPlace> find(const std::string& task, const std::string& signs) {
    const std::lock_guard hold(guard);
    const auto at = places.find(task);
    if (signs.empty() || at == places.end() || at->second.first != signs) return std::nullopt;
    std::error_code why;
    const GitPlace& place = at->second.second;
    return fs::exists(place.git_dir, why) ? std::optional(place) : std::nullopt;
  }
  void add(const std::string& task, const std::string& signs, const GitPlace& place) {
    const std::lock_guard hold(guard);
    places[task] = {signs, place};
  }
};
Known& places_known() {
  static Known s_known;
  return s_known;
}

constexpr const char* k_id_file = "ako-records"; ///< in the git folder of one work tree

bool is_record_name(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '+';
         });
}

/// The records' folder name: the one that was given to this work tree, else by its place. A
/// repository that holds one task keeps its records when its folder is renamed.
std::string record_id(const GitPlace& place, const std::string& name) {
  if (auto given = base::read_file(place.git_dir / k_id_file, 256); given && is_record_name(*given))
    return *given;
  if (!place.prefix.empty()) {
    std::string id = place.prefix;
    for (char& c : id)
      if (c == '/') c = '+';
    return id;
  }
  std::error_code why;
  std::vector<std::string> there;
  for (fs::directory_iterator walk(place.common_dir / "ako", why), end; !why && walk != end;
       walk.increment(why))
    if (walk->is_directory(why)) there.push_back(walk->path().filename().string());
  return there.size() == 1 ? there[0] : name;
}

} // namespace

Expected<Workdir> Workdir::find(const fs::path& start) {
  AKO_TRY(const fs::path from, absolute_folder(start));
  std::error_code why;
  for (fs::path at = from;; at = at.parent_path()) {
    if (fs::exists(at / "task.toml", why)) return Workdir(at);
    if (at == at.root_path()) break;
  }
  return fail(ErrorKind::usage, "no task here",
              {.where = from.string(),
               .found = "no task.toml in this folder or any above it",
               .allowed = "a task's folder, or one below it",
               .next = "make a task with `ako new NAME`, or name its folder with -C DIR"});
}

Expected<Workdir> Workdir::at(const fs::path& task_dir) {
  AKO_TRY(fs::path whole, absolute_folder(task_dir));
  return Workdir(std::move(whole));
}

fs::path Workdir::notes(const std::string& kernel) const {
  return context() / (kernel + "_notes.md");
}

fs::path Workdir::microbench(const std::string& kernel) const {
  return bench() / fmt::format("bench_{}.cpp", kernel);
}

base::Status Workdir::texts_can_be_written() const {
  if (::access(m_task.c_str(), W_OK) != 0)
    return base::fail_errno("the task's folder cannot be written", m_task.string(), errno);
  for (const char* name : {"ITERATIONS.md", "context", "bench"}) {
    auto place = base::resolve_inside(m_task, name);
    if (!place) {
      base::Error error = std::move(place).error();
      error.where = (m_task / name).string();
      error.allowed = "a place inside the task, which ako writes to";
      error.next = "take the link away, or let it lead to a place inside the task";
      return tl::unexpected(std::move(error));
    }
    std::error_code why;
    const bool folder = std::string_view(name) != "ITERATIONS.md";
    if (!fs::exists(*place, why)) continue;
    if (folder ? fs::is_directory(*place, why) : fs::is_regular_file(*place, why)) continue;
    return fail(ErrorKind::invalid, "something stands where ako writes",
                {.where = place->string(),
                 .found = folder ? "something that is no folder" : "something that is no file",
                 .allowed = folder ? "a folder, or nothing" : "a file, or nothing",
                 .next = "move it away, then run the same command again"});
  }
  return {};
}

Expected<GitPlace> Workdir::git() const {
  if (m_git) return *m_git;
  const std::string signs = signs_of(m_task);
  m_git = places_known().find(m_task.string(), signs);
  if (m_git) return *m_git;
  const Git git(m_task);
  Git::Call call;
  call.args = {"rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir",
               "--show-prefix"};
  AKO_TRY(const auto result, git.try_run(call));
  if (!result.ok()) return no_repository(m_task, result.err);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < result.out.size();) {
    const std::size_t end = std::min(result.out.find('\n', at), result.out.size());
    lines.push_back(result.out.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() < 3) return no_repository(m_task, result.out);
  GitPlace place;
  std::error_code why;
  place.top = fs::canonical(lines[0], why);
  place.git_dir = fs::canonical(lines[1], why);
  place.common_dir = fs::canonical(m_task / lines[2], why);
  if (why) return no_repository(m_task, why.message());
  place.prefix = lines.size() > 3 ? lines[3] : "";
  while (!place.prefix.empty() && place.prefix.back() == '/') place.prefix.pop_back();
  places_known().add(m_task.string(), signs, place);
  m_git = place;
  return place;
}

Expected<fs::path> Workdir::records() const {
  AKO_TRY(const GitPlace place, git());
  return place.common_dir / "ako" / record_id(place, name());
}

base::Status Workdir::name_records(const std::string& name) const {
  if (!is_record_name(name))
    return fail(ErrorKind::usage, "this cannot be the name of a record",
                {.where = m_task.string(),
                 .found = name,
                 .allowed = "letters, digits, '-', '_', '.' and '+'",
                 .next = "choose another name"});
  AKO_TRY(const GitPlace place, git());
  return base::write_file_atomic(place.git_dir / k_id_file, name);
}

Expected<fs::path> Workdir::ledger() const {
  AKO_TRY(const fs::path dir, records());
  return dir / "ledger.sqlite";
}

Expected<fs::path> Workdir::lock() const {
  AKO_TRY(const fs::path dir, records());
  return dir / "lock";
}

Expected<std::string> Workdir::ref_prefix() const {
  AKO_TRY(const GitPlace place, git());
  // What a ref may not hold is spelled in hex; dots too, for ".." and ".lock" are not allowed.
  std::string id;
  for (const char c : record_id(place, name())) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '+';
    if (plain) id += c;
    else id += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return fmt::format("refs/ako/{}/", id);
}

fs::path Workdir::cache_root() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "ako";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "ako";
  return fs::temp_directory_path() / "ako-cache";
}

fs::path Workdir::build_cache() { return cache_root() / "build"; }

} // namespace ako::workspace
