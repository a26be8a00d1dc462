#include "drive/guard.hpp"

#include "base/json.hpp"
#include "base/sqlite.hpp"
#include "base/unfinished.hpp"
#include "ledger/verify.hpp"
#include "workspace/git.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::drive {

using base::Expected;
using base::Json;
using base::Status;
namespace fs = base::fs;

namespace {

constexpr const char* k_open = "open";
constexpr std::uint64_t k_most_memory = 256u << 20, k_most_file = 4ull << 30;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * 1'000'000'000ll + time.tv_nsec; }

bool is_below(const fs::path& path, const fs::path& root) {
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return end == root.end();
}

/// Moves it there; copies where that is another file system.
Status move_to(const fs::path& from, const fs::path& to) {
  AKO_TRY_STATUS(base::make_dirs(to.parent_path()));
  std::error_code why;
  fs::remove_all(to, why);
  fs::rename(from, to, why);
  if (!why) return {};
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, why);
  if (!why) fs::remove_all(from, why);
  if (why)
    return base::fail(base::ErrorKind::io, "what an agent changed could not be moved away",
                      {.where = from.string(), .found = why.message(), .allowed = {}, .next = {}});
  return {};
}

tl::unexpected<base::Error> lost(const std::string& what) {
  return base::fail(
      base::ErrorKind::stale, "something guarded is gone, and so are its copies",
      {.where = what,
       .found = {},
       .allowed = {},
       .next = "restore it from another clone or an archive; the campaign has stopped"});
}

} // namespace

std::string to_text(const Change& change) {
  switch (change.kind) {
  case Change::Kind::changed: return change.what + " was changed";
  case Change::Kind::removed: return change.what + " was removed";
  case Change::Kind::added: return change.what + " was added";
  }
  return change.what;
}

bool Guard::is_free(const fs::path& path) const {
  return std::any_of(m_plan.free.begin(), m_plan.free.end(),
                     [&](const fs::path& free) { return is_below(path, free); });
}

// --- looking ---

Status Guard::look_into(const fs::path& path, const Files* known, bool contents, Files& into,
                        std::uint64_t& memory) const {
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
    const auto before = known != nullptr ? known->find(path.string()) : Files::const_iterator();
    const bool same =
        known != nullptr && before != known->end() && before->second.type == File::Type::file &&
        before->second.size == file.size && before->second.inode == file.inode &&
        before->second.mtime_ns == file.mtime_ns && before->second.ctime_ns == file.ctime_ns;
    if (same) {
      file.hash = before->second.hash;
      if (contents)
        file.content = before->second.content, file.in_memory = before->second.in_memory;
    } else if (contents) {
      AKO_TRY(std::string bytes, base::read_file(path, k_most_file));
      file.hash = base::sha256(bytes);
      file.in_memory = memory + bytes.size() <= k_most_memory;
      if (file.in_memory) file.content = std::move(bytes);
    } else {
      AKO_TRY(file.hash, base::sha256_file(path));
    }
    memory += file.content.size();
  } else {
    return {}; // a pipe or socket: nothing to put back
  }
  into[path.string()] = std::move(file);
  return {};
}

Status Guard::look_below(const fs::path& root, const Files* known, bool contents, Files& into,
                         std::uint64_t& memory) const {
  std::error_code why;
  for (fs::directory_iterator walk(root, why), end; !why && walk != end; walk.increment(why)) {
    const fs::path path = walk->path();
    const bool git = path.filename() == ".git" && fs::is_directory(path, why);
    if (git || is_free(path) || is_below(path, m_plan.store.parent_path())) continue;
    AKO_TRY_STATUS(look_into(path, known, contents, into, memory));
    const auto entry = into.find(path.string());
    if (entry != into.end() && entry->second.type == File::Type::folder)
      AKO_TRY_STATUS(look_below(path, known, contents, into, memory));
  }
  return {};
}

Expected<Guard::Files> Guard::look(const Files* known, bool contents) const {
  Files out;
  std::uint64_t memory = 0;
  AKO_TRY_STATUS(look_below(m_place.top, known, contents, out, memory));
  for (const fs::path& path : {m_place.common_dir / "config", m_place.git_dir / "config.worktree"})
    AKO_TRY_STATUS(look_into(path, known, contents, out, memory));
  for (const char* folder : {"hooks", "info"})
    AKO_TRY_STATUS(look_below(m_place.common_dir / folder, known, contents, out, memory));
  return out;
}

Expected<std::map<std::string, std::string>> Guard::look_at_refs() const {
  const workspace::Git git(m_plan.workdir.task());
  AKO_TRY(const std::string prefix, m_plan.workdir.ref_prefix());
  std::map<std::string, std::string> out;
  auto head = base::read_file(m_place.git_dir / "HEAD", 4096);
  if (head) out["HEAD"] = *head;
  std::vector<std::string> words = {"for-each-ref", "--format=%(objectname) %(refname)", prefix};
  if (head && head->rfind("ref: ", 0) == 0)
    words.push_back(head->substr(5, head->find_last_not_of("\r\n ") - 4));
  AKO_TRY(const std::string text, git.run(words));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (const std::size_t blank = line.find(' '); blank != std::string::npos)
      out[line.substr(blank + 1)] = line.substr(0, blank);
    at = end + 1;
  }
  return out;
}

// --- keeping ---

Status Guard::save_ledger() {
  std::error_code why;
  m_has_ledger = fs::exists(m_ledger, why);
  if (!m_has_ledger) return {};
  {
    // One file instead of two: what stands in the log goes into the database.
    AKO_TRY(base::Database db, base::Database::open(m_ledger, base::Database::Mode::read_write));
    AKO_TRY_STATUS(db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  AKO_TRY(ledger::Reader reader, ledger::Reader::open(m_ledger));
  AKO_TRY(m_ledger_head, reader.head());
  AKO_TRY(std::string bytes, base::read_file(m_ledger, k_most_file));
  m_ledger_hash = base::sha256(bytes);
  AKO_TRY_STATUS(base::write_file_atomic(m_plan.store / "ledger.sqlite", bytes));
  if (bytes.size() <= k_most_memory) m_ledger_bytes = std::move(bytes);
  return {};
}

Status Guard::save() const {
  Json files = Json::object();
  std::map<base::Hash, bool> needed;
  for (const auto& [path, file] : m_files) {
    files[path] = {{"type", static_cast<int>(file.type)}, {"mode", file.mode}, {"hash", file.hash}};
    if (file.type != File::Type::folder) needed[file.hash] = true;
    const fs::path blob = m_plan.store / "blobs" / file.hash;
    std::error_code why;
    if (file.type == File::Type::folder || fs::exists(blob, why)) continue;
    AKO_TRY(const std::string bytes, content_of(path, file));
    AKO_TRY_STATUS(base::write_file_atomic(blob, bytes));
  }
  Json refs = Json::object();
  for (const auto& [name, object] : m_refs) refs[name] = object;
  Json free = Json::array();
  for (const fs::path& path : m_plan.free) free.push_back(path.string());
  const Json manifest = {{"token", m_plan.token},
                         {"free", std::move(free)},
                         {"undone", m_plan.undone.string()},
                         {"files", std::move(files)},
                         {"refs", std::move(refs)},
                         {"ledger", m_has_ledger ? Json(m_ledger_hash) : Json()},
                         {"head", m_ledger_head}};
  AKO_TRY_STATUS(
      base::write_file_atomic(m_plan.store / "manifest.json", base::dump_json(manifest)));
  std::error_code why;
  for (fs::directory_iterator walk(m_plan.store / "blobs", why), end; !why && walk != end;
       walk.increment(why))
    if (needed.count(walk->path().filename().string()) == 0) fs::remove(walk->path(), why);
  return {};
}

Expected<Guard> Guard::take(GuardPlan plan, const Guard* before) {
  Guard out(std::move(plan));
  AKO_TRY(out.m_place, out.m_plan.workdir.git());
  AKO_TRY(out.m_ledger, out.m_plan.workdir.ledger());
  AKO_TRY_STATUS(base::make_dirs(out.m_plan.store / "blobs"));
  AKO_TRY(out.m_files, out.look(before != nullptr ? &before->m_files : nullptr, true));
  AKO_TRY(out.m_refs, out.look_at_refs());
  AKO_TRY_STATUS(out.save_ledger());
  AKO_TRY_STATUS(out.save());
  AKO_TRY_STATUS(base::write_file_atomic(out.m_plan.store / k_open, out.m_plan.token));
  return out;
}

Status Guard::close() const {
  std::error_code why;
  fs::remove(m_plan.store / k_open, why);
  if (!why) return {};
  return base::fail(base::ErrorKind::io, "a turn could not be closed",
                    {.where = (m_plan.store / k_open).string(),
                     .found = why.message(),
                     .allowed = "a folder that can be written",
                     .next = "mend that, then run the same command again"});
}

std::string Guard::open_turn(const fs::path& store) {
  return base::read_file(store / k_open, 256).value_or(std::string());
}

Expected<std::vector<Change>> Guard::undo_open(const workspace::Workdir& workdir,
                                               const fs::path& store) {
  AKO_TRY(const std::string text, base::read_file(store / "manifest.json", k_most_file));
  AKO_TRY(const Json manifest, base::parse_json(text, "manifest.json"));
  GuardPlan plan{workdir, {}, store, {}, open_turn(store)};
  for (const Json& path : base::get_or<Json>(manifest, "free", Json::array()))
    if (path.is_string()) plan.free.emplace_back(path.get<std::string>());
  AKO_TRY(plan.undone, base::get<std::string>(manifest, "undone"));
  AKO_TRY(const auto guard, load(std::move(plan)));
  return guard ? guard->undo() : std::vector<Change>{};
}

Expected<std::optional<Guard>> Guard::load(GuardPlan plan) {
  std::error_code why;
  if (!fs::exists(plan.store / "manifest.json", why)) return std::optional<Guard>{};
  Guard out(std::move(plan));
  AKO_TRY(out.m_place, out.m_plan.workdir.git());
  AKO_TRY(out.m_ledger, out.m_plan.workdir.ledger());
  AKO_TRY(const std::string text, base::read_file(out.m_plan.store / "manifest.json", k_most_file));
  AKO_TRY(const Json manifest, base::parse_json(text, "manifest.json"));
  if (base::get_or<std::string>(manifest, "token", "") != out.m_plan.token)
    return std::optional<Guard>{};
  AKO_TRY(const Json files, base::get<Json>(manifest, "files"));
  for (const auto& [path, entry] : files.items()) {
    File file;
    AKO_TRY(const std::int64_t type, base::get<std::int64_t>(entry, "type"));
    AKO_TRY(const std::int64_t mode, base::get<std::int64_t>(entry, "mode"));
    AKO_TRY(file.hash, base::get<std::string>(entry, "hash"));
    file.type = static_cast<File::Type>(std::clamp<std::int64_t>(type, 0, 2));
    file.mode = static_cast<std::uint32_t>(mode);
    out.m_files[path] = std::move(file);
  }
  AKO_TRY(const Json refs, base::get<Json>(manifest, "refs"));
  for (const auto& [name, object] : refs.items())
    if (object.is_string()) out.m_refs[name] = object.get<std::string>();
  out.m_ledger_head = base::get_or<std::string>(manifest, "head", "");
  out.m_ledger_hash = base::get_or<std::string>(manifest, "ledger", "");
  out.m_has_ledger = !out.m_ledger_hash.empty();
  return std::optional<Guard>(std::move(out));
}

// --- putting back ---

Expected<std::string> Guard::content_of(const std::string& path, const File& file) const {
  if (file.in_memory) return file.content;
  for (const fs::path& from : {m_plan.store / "blobs" / file.hash, fs::path(path)})
    if (auto bytes = base::read_file(from, k_most_file); bytes && base::sha256(*bytes) == file.hash)
      return std::move(*bytes);
  return lost(path);
}

Status Guard::keep_undone(const std::string& path) const {
  std::error_code why;
  if (fs::symlink_status(path, why).type() == fs::file_type::not_found) return {};
  return move_to(path, m_plan.undone / fs::path(path).relative_path());
}

Status Guard::keep_copy(const std::string& path) const {
  const fs::path to = m_plan.undone / fs::path(path).relative_path();
  AKO_TRY_STATUS(base::make_dirs(to.parent_path()));
  std::error_code why;
  fs::copy_file(path, to, fs::copy_options::overwrite_existing, why);
  if (!why) return {};
  return base::fail(base::ErrorKind::io, "what an agent changed could not be kept",
                    {.where = path, .found = why.message(), .allowed = {}, .next = {}});
}

Status Guard::put_back(const std::string& path, const File& file) const {
  std::error_code why;
  if (file.type == File::Type::folder) {
    AKO_TRY_STATUS(base::make_dirs(path));
  } else {
    AKO_TRY(const std::string content, content_of(path, file));
    if (file.type == File::Type::link) {
      AKO_TRY_STATUS(base::make_dirs(fs::path(path).parent_path()));
      fs::create_symlink(content, path, why);
      return why ? Status(lost(path)) : Status{};
    }
    AKO_TRY_STATUS(base::write_file_atomic(path, content));
  }
  if (::chmod(path.c_str(), file.mode) != 0)
    return base::fail_errno("a file's mode could not be put back", path, errno);
  return {};
}

Status Guard::undo_refs(std::vector<Change>& changes) const {
  AKO_TRY(const auto now, look_at_refs());
  const workspace::Git git(m_plan.workdir.task());
  for (const auto& [name, object] : now) {
    const auto before = m_refs.find(name);
    if (before != m_refs.end() && before->second == object) continue;
    changes.push_back(
        {before == m_refs.end() ? Change::Kind::added : Change::Kind::changed, "ref " + name});
    if (before == m_refs.end()) AKO_TRY_STATUS(git.run({"update-ref", "-d", name}));
  }
  for (const auto& [name, object] : m_refs) {
    const auto after = now.find(name);
    if (after != now.end() && after->second == object) continue;
    if (after == now.end()) changes.push_back({Change::Kind::removed, "ref " + name});
    if (name == "HEAD") AKO_TRY_STATUS(base::write_file_atomic(m_place.git_dir / "HEAD", object));
    else AKO_TRY_STATUS(git.run({"update-ref", name, object}));
  }
  return {};
}

Status Guard::undo_ledger(std::vector<Change>& changes) const {
  if (!m_has_ledger) return {};
  std::error_code why;
  const bool there = fs::exists(m_ledger, why);
  const fs::path log = m_ledger.string() + "-wal";
  const bool no_log = !fs::exists(log, why) || fs::file_size(log, why) == 0;
  if (there && no_log) {
    auto hash = base::sha256_file(m_ledger);
    if (hash && *hash == m_ledger_hash) return {};
  }
  // Looking at it may move bytes about; what counts is the chain, and that nothing was added.
  if (there) {
    auto reader = ledger::Reader::open(m_ledger);
    if (reader) {
      auto head = reader->head();
      auto whole = ledger::verify(*reader, {{m_ledger_head, "before the turn"}});
      if (head && *head == m_ledger_head && whole && !whole->broken) return {};
    }
  }
  changes.push_back({there ? Change::Kind::changed : Change::Kind::removed, "the ledger"});
  std::string bytes = m_ledger_bytes;
  if (bytes.empty()) {
    auto stored = base::read_file(m_plan.store / "ledger.sqlite", k_most_file);
    if (!stored || base::sha256(*stored) != m_ledger_hash) return lost(m_ledger.string());
    bytes = std::move(*stored);
  }
  for (const char* part : {"", "-wal", "-shm"})
    AKO_TRY_STATUS(keep_undone(m_ledger.string() + part));
  return base::write_file_atomic(m_ledger, bytes);
}

/// What an undoing that was killed left half-written is no edit of the agent's.
void Guard::sweep() const {
  for (const fs::path& folder :
       {m_place.top, m_place.git_dir, m_place.common_dir, m_place.common_dir / "hooks",
        m_place.common_dir / "info", m_ledger.parent_path()})
    base::sweep_unfinished(folder);
  for (const auto& [path, file] : m_files)
    if (file.type == File::Type::folder) base::sweep_unfinished(path);
}

Expected<std::vector<Change>> Guard::undo() const {
  std::vector<Change> changes;
  sweep();
  AKO_TRY_STATUS(undo_ledger(changes)); // first: nothing may be written to a strange one
  AKO_TRY(const Files now, look(&m_files, false));
  // Deepest first: a folder that was added goes after what lies in it.
  for (auto at = now.rbegin(); at != now.rend(); ++at)
    if (m_files.count(at->first) == 0) {
      changes.push_back({Change::Kind::added, at->first});
      AKO_TRY_STATUS(keep_undone(at->first));
    }
  for (const auto& [path, file] : m_files) {
    const auto after = now.find(path);
    const bool there = after != now.end();
    if (there && after->second.type == file.type && after->second.hash == file.hash &&
        after->second.mode == file.mode)
      continue;
    changes.push_back({there ? Change::Kind::changed : Change::Kind::removed, path});
    // A folder stays where it is: the files below it are looked at one by one. A file is replaced
    // in one step, so that a kill here leaves no task without it.
    const bool same_type = there && after->second.type == file.type;
    if (same_type && file.type == File::Type::file) AKO_TRY_STATUS(keep_copy(path));
    else if (there && !(same_type && file.type == File::Type::folder))
      AKO_TRY_STATUS(keep_undone(path));
    AKO_TRY_STATUS(put_back(path, file));
  }
  AKO_TRY_STATUS(undo_refs(changes));
  return changes;
}

} // namespace ako::drive
