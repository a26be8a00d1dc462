// What a guard looks at.
#include "drive/guard.hpp"
#include "workspace/git.hpp"
#include "workspace/git_text.hpp"
#include "workspace/listing.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::drive {

using base::Expected;
using base::Status;
namespace fs = base::fs;

namespace {

constexpr std::uint64_t k_most_memory = 256u << 20, k_most_file = 4ull << 30;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * 1'000'000'000ll + time.tv_nsec; }

bool is_below(const fs::path& path, const fs::path& root) {
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return end == root.end();
}

fs::file_type type_of(const fs::path& path) {
  std::error_code why;
  return fs::symlink_status(path, why).type();
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
}

} // namespace

Guard::Whose Guard::whose(const fs::path& path, Whose above) const {
  Whose here = above;
  if (above == Whose::guarded &&
      std::any_of(m_plan.free.begin(), m_plan.free.end(),
                  [&](const fs::path& free) { return is_below(path, free); }))
    here = Whose::agents;
  const fs::path solution = m_plan.workdir.solution();
  const bool in_solution = path != solution && is_below(path, solution);
  return here == Whose::agents && in_solution && workspace::is_left_behind(path)
             ? Whose::left_behind
             : here;
}

Status Guard::look_at(const fs::path& path, Look& into) const {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {}; // gone meanwhile
  File file;
  file.mode = info.st_mode & 07777;
  file.inode = info.st_ino;
  file.mtime_ns = ns_of(info.st_mtim), file.ctime_ns = ns_of(info.st_ctim);
  if (S_ISLNK(info.st_mode)) {
    std::error_code why;
    file.type = File::Type::link;
    file.content = fs::read_symlink(path, why).string();
    file.in_memory = true;
    file.hash = base::sha256(file.content);
  } else if (S_ISDIR(info.st_mode)) {
    file.type = File::Type::folder;
  } else if (S_ISREG(info.st_mode)) {
    file.size = info.st_size;
    const File* before = nullptr;
    if (into.known != nullptr)
      if (const auto at = into.known->find(path.string()); at != into.known->end())
        before = &at->second;
    const bool same = before != nullptr && before->type == File::Type::file &&
                      before->size == file.size && before->inode == file.inode &&
                      before->mtime_ns == file.mtime_ns && before->ctime_ns == file.ctime_ns;
    if (same) {
      file.hash = before->hash;
      if (into.contents) file.content = before->content, file.in_memory = before->in_memory;
    } else if (into.contents) {
      AKO_TRY(std::string bytes, base::read_file(path, k_most_file));
      file.hash = base::sha256(bytes);
      file.in_memory = into.memory + bytes.size() <= k_most_memory;
      if (file.in_memory) file.content = std::move(bytes);
    } else {
      // Unreadable: its content is as no file's was, so it is put back.
      if (auto hash = base::sha256_file(path)) file.hash = std::move(*hash);
    }
    into.memory += file.content.size();
  } else {
    file.type = File::Type::other;
  }
  into.files[path.string()] = std::move(file);
  return {};
}

Status Guard::look_below(const fs::path& root, const Skip& skip, Whose above, Look& into) const {
  std::error_code why;
  for (fs::directory_iterator walk(root, why), end; !why && walk != end; walk.increment(why)) {
    const fs::path path = walk->path();
    if (skip(path)) continue;
    const Whose here = whose(path, above);
    if (here != Whose::agents) AKO_TRY_STATUS(look_at(path, into));
    if (type_of(path) == fs::file_type::directory)
      AKO_TRY_STATUS(look_below(path, skip, here, into));
  }
  return {};
}

/// What lies below refs/ and is no ref, or keeps git from writing one.
Status Guard::look_at_locks(const fs::path& refs, Look& into) const {
  std::error_code why;
  for (fs::recursive_directory_iterator walk(refs, why), end; !why && walk != end;
       walk.increment(why)) {
    fs::path path = walk->path();
    const auto type = type_of(path);
    const bool lock = path.extension() == ".lock";
    const bool plain = type == fs::file_type::regular || type == fs::file_type::directory ||
                       type == fs::file_type::symlink;
    if (plain && !lock) continue;
    const fs::path name = lock ? fs::path(path).replace_extension() : path;
    if (!is_others(name.lexically_relative(refs.parent_path()).generic_string()))
      AKO_TRY_STATUS(look_at(path, into));
  }
  return {};
}

Status Guard::look_at_git(Look& into) const {
  std::error_code why;
  const fs::path own = m_place.git_dir, shared = m_place.common_dir;
  // Their owners may be at work: what they all write to is not one turn's to put back.
  const bool others = own != shared || fs::exists(shared / "worktrees", why);
  const Skip skip = [&](const fs::path& path) {
    const std::string name = path.filename().string();
    if (name == "objects" || name == "logs") return true;
    if (path.parent_path() != own && path.parent_path() != shared) return false;
    if (is_one_of(name, {"refs", "ako", "worktrees", "lfs", "annex"})) return true;
    if (is_one_of(name, {"packed-refs", "packed-refs.lock"})) return others;
    return name == "HEAD" && type_of(path) == fs::file_type::regular; // as a ref
  };
  AKO_TRY_STATUS(look_below(own, skip, Whose::guarded, into));
  if (own != shared)
    for (const char* name : {"config", "config.lock", "hooks", "info", "modules", "shallow"}) {
      AKO_TRY_STATUS(look_at(shared / name, into));
      if (type_of(shared / name) == fs::file_type::directory)
        AKO_TRY_STATUS(look_below(shared / name, skip, Whose::guarded, into));
    }
  AKO_TRY_STATUS(look_at_locks(shared / "refs", into));
  // Where nothing names the records of a task, the number of them does.
  const fs::path named = own / "ako-records";
  const bool is_named = m_files.empty() ? fs::exists(named, why) : m_files.count(named.string());
  if (is_named || !m_place.prefix.empty()) return {};
  for (fs::directory_iterator walk(shared / "ako", why), end; !why && walk != end;
       walk.increment(why))
    AKO_TRY_STATUS(look_at(walk->path(), into));
  return {};
}

/// Folders on the way to what is guarded and to the picture itself: their modes count.
std::vector<fs::path> Guard::ways() const {
  const fs::path& store = m_plan.store;
  const fs::path home = store.parent_path(), records = home.parent_path().parent_path();
  return {m_place.top,
          m_plan.workdir.task(),
          m_place.git_dir,
          m_place.common_dir,
          records,
          records.parent_path(),
          home,
          home.parent_path(),
          store,
          store / "blobs"};
}

Expected<Guard::Files> Guard::look(const Files* known, bool contents) const {
  Look into{known, contents, {}, 0};
  for (const fs::path& way : ways()) AKO_TRY_STATUS(look_at(way, into));
  const fs::path git = m_place.top / ".git";
  const Skip skip = [&](const fs::path& path) {
    return path == git && type_of(git) == fs::file_type::directory;
  };
  AKO_TRY_STATUS(look_below(m_place.top, skip, Whose::guarded, into));
  AKO_TRY_STATUS(look_at_git(into));
  return std::move(into.files);
}

// --- refs ---

Expected<std::set<std::string>> Guard::branches_elsewhere() const {
  const workspace::Git git(m_plan.workdir.task());
  AKO_TRY(const std::string text, git.run({"worktree", "list", "--porcelain"}));
  std::set<std::string> out;
  std::string tree;
  for (const std::string& line : workspace::lines_of(text)) {
    if (line.rfind("worktree ", 0) == 0) tree = line.substr(9);
    if (line.rfind("branch ", 0) == 0 && fs::path(tree) != m_place.top) out.insert(line.substr(7));
  }
  return out;
}

bool Guard::is_others(const std::string& ref) const {
  const bool a_task = ref.rfind("refs/ako/", 0) == 0;
  return m_elsewhere.count(ref) != 0 || (a_task && ref.rfind(m_prefix, 0) != 0);
}

Expected<std::map<std::string, std::string>> Guard::look_at_refs() const {
  const workspace::Git git(m_plan.workdir.task());
  std::map<std::string, std::string> out;
  if (auto head = base::read_file(m_place.git_dir / "HEAD", 4096)) out["HEAD"] = *head;
  AKO_TRY(const std::string text,
          git.run({"for-each-ref", "--format=%(objectname) %(refname) %(symref)"}));
  for (const std::string& line : workspace::lines_of(text)) {
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string name = line.substr(first + 1, second - first - 1);
    const std::string leads_to = line.substr(second + 1);
    if (is_others(name)) continue;
    out[name] = leads_to.empty() ? line.substr(0, first) : "ref: " + leads_to;
  }
  return out;
}

} // namespace ako::drive
