#include "base/fs.hpp"

#include "base/fd.hpp"
#include "base/unfinished.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <span>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::base {

namespace {

tl::unexpected<Error> failed(std::string message, const fs::path& path,
                             const std::error_code& why) {
  return fail_errno(std::move(message), path.string(), why.value());
}

tl::unexpected<Error> too_large(const fs::path& path, std::uint64_t bytes, std::uint64_t most) {
  return fail(ErrorKind::invalid, "a file is too large",
              {.where = path.string(),
               .found = fmt::format("{}{} bytes", bytes > most ? "" : "more than ", bytes),
               .allowed = fmt::format("at most {} bytes", most),
               .next = "put a smaller file there"});
}

/// Reads to the end; the size that the file claims is a hint only (files of the kernel claim 0).
Expected<std::string> read_rest(int fd, const fs::path& path, std::uint64_t hint,
                                std::uint64_t most) {
  std::string content;
  content.resize(std::max<std::uint64_t>(hint + 1, 4096));
  std::size_t have = 0;
  for (;;) {
    if (have == content.size()) content.resize(2 * content.size());
    const ssize_t got = read(fd, content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("a file could not be read", path.string(), errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    if (have > most) return too_large(path, most, most);
  }
  content.resize(have);
  return content;
}

constexpr std::string_view k_unfinished_end = ".tmp";

/// ".NAME.PID-N.tmp".
bool is_unfinished_name(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(k_unfinished_end)) return false;
  name.remove_suffix(k_unfinished_end.size());
  const std::size_t dot = name.rfind('.'), dash = name.rfind('-');
  if (dot == 0 || dash == std::string_view::npos || dash < dot + 2 || dash + 1 == name.size())
    return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
}

/// True when the file is still there and its lock is ours: whoever sweeps lets go of it.
bool take_unfinished(int fd) {
  struct stat info {};
  return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(fd, &info) == 0 &&
         info.st_nlink > 0;
}

/// Opens a new file beside `path` with the rights that `path` has, or a plain new file's. It is
/// locked as long as it is written: one that is not locked was left by a process that was killed.
Expected<UniqueFd> open_beside(const fs::path& path, fs::path& temporary) {
  static std::atomic<unsigned> s_count{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = path.parent_path() / fmt::format(".{}.{}-{}.tmp", path.filename().string(),
                                                 getpid(), s_count.fetch_add(1));
    UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd && errno == EEXIST) continue; // left by a process of the same number that was killed
    if (!fd) return fail_errno("a file could not be made", temporary.string(), errno);
    if (!take_unfinished(fd.get())) continue; // swept before it was locked
    struct stat old {};
    if (stat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode))
      fchmod(fd.get(), old.st_mode & 07777);
    return fd;
  }
  return fail_errno("a file could not be made", temporary.string(), EEXIST);
}

Status write_synced(int fd, const fs::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t wrote = write(fd, content.data(), content.size());
    if (wrote < 0 && errno != EINTR)
      return fail_errno("a file could not be written", path.string(), errno);
    if (wrote > 0) content.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (fsync(fd) != 0) return fail_errno("a file could not be secured", path.string(), errno);
  return {};
}

/// True when `path` is `root` or lies below it; both canonical.
bool is_within(const fs::path& path, const fs::path& root) {
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  static_cast<void>(rest);
  return end == root.end() || (std::next(end) == root.end() && end->empty());
}

} // namespace

Expected<std::string> read_file(const fs::path& path, std::uint64_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno("a file could not be opened", path.string(), errno);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0)
    return fail_errno("a file could not be read", path.string(), errno);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorKind::io, "this is no regular file",
                {.where = path.string(),
                 .found = S_ISDIR(info.st_mode) ? "a folder" : "a special file",
                 .allowed = "a regular file",
                 .next = {}});
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > most) return too_large(path, size, most);
  return read_rest(fd.get(), path, size, most);
}

Status write_file_atomic(const fs::path& path, std::string_view content) {
  if (path.has_parent_path()) AKO_TRY_STATUS(make_dirs(path.parent_path()));
  fs::path temporary;
  AKO_TRY(UniqueFd fd, open_beside(path, temporary));
  auto status = write_synced(fd.get(), path, content);
  if (status && rename(temporary.c_str(), path.c_str()) != 0)
    status = fail_errno("a file could not be put in place", path.string(), errno);
  if (!status) {
    unlink(temporary.c_str());
    return status;
  }
  fd.reset();
  // The name is safe only when its folder is; a file system that cannot sync folders is left be.
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const UniqueFd folder_fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_fd && fsync(folder_fd.get()) != 0 && errno == EIO)
    return fail_errno("a folder could not be secured", folder.string(), errno);
  return {};
}

int sweep_unfinished(const fs::path& folder) {
  int removed = 0;
  std::error_code why;
  for (fs::directory_iterator walk(folder, why), end; !why && walk != end; walk.increment(why)) {
    if (!is_unfinished_name(walk->path().filename().native())) continue;
    const UniqueFd fd(open(walk->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (!fd || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && unlink(walk->path().c_str()) == 0) ++removed;
  }
  return removed;
}

Status make_dirs(const fs::path& path) {
  std::error_code why;
  fs::create_directories(path, why);
  if (!why && fs::is_directory(path, why)) return {};
  if (!why) why = std::make_error_code(std::errc::not_a_directory);
  return failed("a folder could not be made", path, why);
}

Status remove_tree(const fs::path& path, const fs::path& inside) {
  std::error_code why;
  const fs::path root = fs::canonical(inside, why);
  if (why) return failed("the folder to remove from does not exist", inside, why);
  const fs::path whole = fs::absolute(path, why);
  const fs::path name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  const fs::path above =
      whole.has_filename() ? whole.parent_path() : whole.parent_path().parent_path();
  if (!fs::exists(fs::symlink_status(above, why))) return {};
  // The last part is not resolved: of a symbolic link the link goes, never what it points at.
  const fs::path target = fs::canonical(above, why) / name;
  const char* home = std::getenv("HOME");
  const fs::path home_path = home != nullptr ? fs::weakly_canonical(home, why) : fs::path();
  const bool covers_home = !home_path.empty() && is_within(home_path, target);
  const bool lawful = !name.empty() && name != "." && name != ".." && target != root &&
                      is_within(target, root) && !covers_home;
  if (!lawful)
    return fail(ErrorKind::internal, "a folder that must not be removed",
                {.where = path.string(),
                 .found = target.string(),
                 .allowed = fmt::format("a path below {}", root.string()),
                 .next = {}});
  fs::remove_all(target, why);
  if (why) return failed("a folder could not be removed", path, why);
  return {};
}

Expected<std::vector<fs::path>> list_files(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code why;
  fs::recursive_directory_iterator walk(root, why);
  for (; !why && walk != fs::recursive_directory_iterator(); walk.increment(why)) {
    std::error_code gone; // a file that vanishes meanwhile is not listed
    if (walk->symlink_status(gone).type() == fs::file_type::regular)
      files.push_back(walk->path().lexically_relative(root));
  }
  if (why) return failed("a folder could not be listed", root, why);
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

tl::unexpected<Error> outside(const fs::path& root, const fs::path& relative, std::string found) {
  return fail(ErrorKind::invalid, "a path must stay inside its folder",
              {.where = relative.string(),
               .found = std::move(found),
               .allowed = fmt::format("a relative path below {}", root.string()),
               .next = {}});
}

/// Resolves one more part of a path. A link that leads nowhere is refused as well: it could be made
/// to lead out at any moment.
Status descend(fs::path& at, const fs::path& part, const fs::path& base, const fs::path& relative) {
  std::error_code why;
  const fs::path next = at / part;
  const auto type = fs::symlink_status(next, why).type();
  if (type == fs::file_type::none) return failed("a path could not be resolved", next, why);
  if (type != fs::file_type::symlink) {
    at = next;
    return {};
  }
  at = fs::canonical(next, why);
  if (why) return outside(base, relative, fmt::format("a symbolic link: {}", why.message()));
  if (!is_within(at, base))
    return outside(base, relative, fmt::format("a symbolic link to {}", at.string()));
  return {};
}

} // namespace

Expected<fs::path> resolve_inside(const fs::path& root, const fs::path& relative) {
  if (relative.empty()) return outside(root, relative, "an empty path");
  if (relative.is_absolute()) return outside(root, relative, "an absolute path");
  if (relative.native().find('\0') != std::string::npos)
    return outside(root, relative, "a zero byte");
  for (const auto& part : relative)
    if (part == "..") return outside(root, relative, "'..'");
  std::error_code why;
  const fs::path base = fs::canonical(root, why);
  if (why) return failed("a folder does not exist", root, why);
  fs::path at = base;
  for (const auto& part : relative)
    if (!part.empty() && part != ".") AKO_TRY_STATUS(descend(at, part, base, relative));
  return at;
}

} // namespace ako::base
