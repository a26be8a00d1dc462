#include "drive/guard.hpp"

#include "base/json.hpp"
#include "base/sqlite.hpp"
#include "base/time.hpp"
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
constexpr std::uint64_t k_most_kept_ledger = 256u << 20, k_most_guarded = 4ull << 30;

/// Moves it there; copies where that is another file system.
Status move_to(const fs::path& from, const fs::path& to) {
  std::error_code why;
  fs::rename(from, to, why);
  if (!why) return {};
  const auto type = fs::symlink_status(from, why).type();
  const bool empty = type == fs::file_type::fifo || type == fs::file_type::socket;
  if (empty && fs::remove(from, why)) return {};
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, why);
  if (!why) fs::remove_all(from, why);
  if (why)
    return base::fail(base::ErrorKind::io, "what an agent changed could not be moved away",
                      {.where = from.string(), .found = why.message(), .allowed = {}, .next = {}});
  return {};
}

/// Beside the campaigns: not by the name that the records have now, which may be an agent's word.
fs::path ledger_of(const fs::path& store) {
  return store.parent_path().parent_path().parent_path() / "ledger.sqlite";
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
  AKO_TRY(std::string bytes, base::read_file(m_ledger, k_most_guarded));
  struct stat info {};
  if (::stat(m_ledger.c_str(), &info) == 0) m_ledger_mode = info.st_mode & 07777;
  m_ledger_hash = base::sha256(bytes);
  AKO_TRY_STATUS(base::write_file_atomic(m_plan.store / "ledger.sqlite", bytes));
  if (bytes.size() <= k_most_kept_ledger) m_ledger_bytes = std::move(bytes);
  return {};
}

Status Guard::save() const {
  Json files = Json::object();
  std::map<base::Hash, bool> needed;
  for (const auto& [path, file] : m_files) {
    files[path] = {{"type", static_cast<int>(file.type)}, {"mode", file.mode}, {"hash", file.hash}};
    if (file.hash.empty()) continue; // a folder, or something without content
    needed[file.hash] = true;
    const fs::path blob = m_plan.store / "blobs" / file.hash;
    std::error_code why;
    if (fs::exists(blob, why)) continue;
    AKO_TRY(const std::string bytes, content_of(path, file));
    AKO_TRY_STATUS(base::write_file_atomic(blob, bytes));
  }
  Json refs = Json::object();
  for (const auto& [name, object] : m_refs) refs[name] = object;
  Json free = Json::array();
  for (const fs::path& path : m_plan.free) free.push_back(path.string());
  const Json manifest = {{"token", m_plan.token},
                         {"task", m_plan.workdir.task().string()},
                         {"free", std::move(free)},
                         {"undone", m_plan.undone.string()},
                         {"files", std::move(files)},
                         {"refs", std::move(refs)},
                         {"elsewhere", m_elsewhere},
                         {"ledger", m_has_ledger ? Json(m_ledger_hash) : Json()},
                         {"ledger_mode", m_ledger_mode},
                         {"head", m_ledger_head},
                         {"prefix", m_prefix}};
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
  out.m_ledger = ledger_of(out.m_plan.store);
  AKO_TRY(out.m_prefix, out.m_plan.workdir.ref_prefix());
  AKO_TRY_STATUS(base::make_dirs(out.m_plan.store / "blobs"));
  AKO_TRY(out.m_elsewhere, out.branches_elsewhere());
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

std::string Guard::task_of(const fs::path& store) {
  auto text = base::read_file(store / "manifest.json", k_most_guarded);
  if (!text) return {};
  auto manifest = base::parse_json(*text, "manifest.json");
  return manifest ? base::get_or<std::string>(*manifest, "task", "") : std::string();
}

void Guard::unlock_folders(const fs::path& path) {
  std::vector<fs::path> ways;
  for (fs::path at = path; at.has_relative_path(); at = at.parent_path()) {
    ways.push_back(at);
    if (at.filename() == "ako") break; // below it everything is ako's
  }
  for (auto way = ways.rbegin(); way != ways.rend(); ++way) {
    struct stat info {};
    if (::lstat(way->c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if ((info.st_mode & 0700) != 0700) ::chmod(way->c_str(), (info.st_mode & 07777) | 0700);
  }
}

Expected<std::vector<Change>> Guard::undo_open(const workspace::Workdir& workdir,
                                               const fs::path& store) {
  AKO_TRY(const std::string text, base::read_file(store / "manifest.json", k_most_guarded));
  AKO_TRY(const Json manifest, base::parse_json(text, "manifest.json"));
  GuardPlan plan{workdir, {}, store, {}, open_turn(store)};
  AKO_TRY(plan.undone, base::get<std::string>(manifest, "undone"));
  AKO_TRY(const auto guard, load(std::move(plan)));
  return guard ? guard->undo() : std::vector<Change>{};
}

Expected<std::optional<Guard>> Guard::load(GuardPlan plan) {
  std::error_code why;
  if (!fs::exists(plan.store / "manifest.json", why)) return std::optional<Guard>{};
  Guard out(std::move(plan));
  AKO_TRY(out.m_place, out.m_plan.workdir.git());
  out.m_ledger = ledger_of(out.m_plan.store);
  AKO_TRY(const std::string text,
          base::read_file(out.m_plan.store / "manifest.json", k_most_guarded));
  AKO_TRY(const Json manifest, base::parse_json(text, "manifest.json"));
  if (base::get_or<std::string>(manifest, "token", "") != out.m_plan.token)
    return std::optional<Guard>{};
  // What was the agent's in that turn, whatever is its now.
  out.m_plan.free.clear();
  for (const Json& path : base::get_or<Json>(manifest, "free", Json::array()))
    if (path.is_string()) out.m_plan.free.emplace_back(path.get<std::string>());
  AKO_TRY(const Json files, base::get<Json>(manifest, "files"));
  for (const auto& [path, entry] : files.items()) {
    File file;
    AKO_TRY(const std::int64_t type, base::get<std::int64_t>(entry, "type"));
    AKO_TRY(const std::int64_t mode, base::get<std::int64_t>(entry, "mode"));
    AKO_TRY(file.hash, base::get<std::string>(entry, "hash"));
    file.type = static_cast<File::Type>(std::clamp<std::int64_t>(type, 0, 3));
    file.mode = static_cast<std::uint32_t>(mode);
    out.m_files[path] = std::move(file);
  }
  AKO_TRY(const Json refs, base::get<Json>(manifest, "refs"));
  for (const auto& [name, object] : refs.items())
    if (object.is_string()) out.m_refs[name] = object.get<std::string>();
  AKO_TRY(const std::string prefix, out.m_plan.workdir.ref_prefix());
  out.m_prefix = base::get_or<std::string>(manifest, "prefix", prefix);
  for (const Json& branch : base::get_or<Json>(manifest, "elsewhere", Json::array()))
    if (branch.is_string()) out.m_elsewhere.insert(branch.get<std::string>());
  out.m_ledger_mode =
      static_cast<std::uint32_t>(base::get_or<std::int64_t>(manifest, "ledger_mode", 0));
  out.m_ledger_head = base::get_or<std::string>(manifest, "head", "");
  out.m_ledger_hash = base::get_or<std::string>(manifest, "ledger", "");
  out.m_has_ledger = !out.m_ledger_hash.empty();
  return std::optional<Guard>(std::move(out));
}

// --- putting back ---

Expected<std::string> Guard::content_of(const std::string& path, const File& file) const {
  if (file.in_memory) return file.content;
  for (const fs::path& from : {m_plan.store / "blobs" / file.hash, fs::path(path)})
    if (auto bytes = base::read_file(from, k_most_guarded);
        bytes && base::sha256(*bytes) == file.hash)
      return std::move(*bytes);
  return lost(path);
}

Status Guard::keep_undone(const std::string& path) const {
  std::error_code why;
  const auto type = fs::symlink_status(path, why).type();
  if (type == fs::file_type::not_found) return {};
  // What lay in it was moved before it: the empty folder alone is left.
  const fs::path kept = m_plan.undone / fs::path(path).relative_path();
  if (type == fs::file_type::directory && fs::is_directory(fs::symlink_status(kept, why)) &&
      fs::remove(path, why))
    return {};
  AKO_TRY(const fs::path to, place_for(path));
  return move_to(path, to);
}

/// Below plan.undone as it lay; beside that where something is kept there already, of a turn that
/// was lost, or what is no folder stands in the way.
Expected<fs::path> Guard::place_for(const fs::path& path) const {
  const fs::path to = m_plan.undone / path.relative_path();
  std::error_code why;
  if (base::make_dirs(to.parent_path()) &&
      fs::symlink_status(to, why).type() == fs::file_type::not_found)
    return to;
  AKO_TRY_STATUS(base::make_dirs(m_plan.undone));
  return m_plan.undone / fmt::format("{}-{}", path.filename().string(), base::wall_ns());
}

Status Guard::keep_copy(const std::string& path) const {
  AKO_TRY(const fs::path to, place_for(path));
  std::error_code why;
  fs::copy_file(path, to, why);
  if (!why) return {};
  if (::access(path.c_str(), R_OK) != 0) return keep_undone(path); // moving needs no reading
  return base::fail(base::ErrorKind::io, "what an agent changed could not be kept",
                    {.where = path, .found = why.message(), .allowed = {}, .next = {}});
}

Status Guard::put_back(const std::string& path, const File& file) const {
  std::error_code why;
  if (file.type == File::Type::other)
    return {}; // a pipe or socket: whoever made it can do so again
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
    if (before == m_refs.end()) AKO_TRY_STATUS(git.run({"update-ref", "--no-deref", "-d", name}));
  }
  return put_refs_back(now, changes);
}

Status Guard::put_refs_back(const std::map<std::string, std::string>& now,
                            std::vector<Change>& changes) const {
  const workspace::Git git(m_plan.workdir.task());
  for (const auto& [name, object] : m_refs) {
    const auto after = now.find(name);
    if (after != now.end() && after->second == object) continue;
    if (after == now.end()) changes.push_back({Change::Kind::removed, "ref " + name});
    if (name == "HEAD") {
      AKO_TRY_STATUS(base::write_file_atomic(m_place.git_dir / "HEAD", object));
      continue;
    }
    const bool leads = object.rfind("ref: ", 0) == 0;
    const std::vector<std::string> words =
        leads ? std::vector<std::string>{"symbolic-ref", name, object.substr(5)}
              : std::vector<std::string>{"update-ref", "--no-deref", name, object};
    if (git.run(words)) continue;
    // What stands there is no ref that git could read.
    std::error_code why;
    fs::remove(m_place.common_dir / name, why);
    AKO_TRY_STATUS(git.run(words));
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
    auto stored = base::read_file(m_plan.store / "ledger.sqlite", k_most_guarded);
    if (!stored || base::sha256(*stored) != m_ledger_hash) return lost(m_ledger.string());
    bytes = std::move(*stored);
  }
  for (const char* part : {"", "-wal", "-shm"})
    AKO_TRY_STATUS(keep_undone(m_ledger.string() + part));
  AKO_TRY_STATUS(base::write_file_atomic(m_ledger, bytes));
  if (m_ledger_mode != 0) ::chmod(m_ledger.c_str(), m_ledger_mode);
  return {};
}

/// Before anything else is looked at or written: a folder without its mode hides what lies in it.
Status Guard::put_modes_back(std::vector<Change>& changes) const {
  const auto differs = [](const fs::path& path, std::uint32_t mode, std::uint32_t type) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == type &&
           (info.st_mode & 07777) != mode;
  };
  const auto put = [&](const fs::path& path, std::uint32_t mode) -> Status {
    changes.push_back({Change::Kind::changed, path.string()});
    if (::chmod(path.c_str(), mode) == 0) return {};
    return base::fail_errno("a mode could not be put back", path, errno);
  };
  for (const auto& [path, file] : m_files) // those above come first
    if (file.type == File::Type::folder && differs(path, file.mode, S_IFDIR))
      AKO_TRY_STATUS(put(path, file.mode));
  if (m_ledger_mode != 0 && differs(m_ledger, m_ledger_mode, S_IFREG))
    AKO_TRY_STATUS(put(m_ledger, m_ledger_mode));
  return {};
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
  AKO_TRY_STATUS(put_modes_back(changes));
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
    if (same_type && file.type == File::Type::other) continue;
    if (same_type && file.type == File::Type::file) AKO_TRY_STATUS(keep_copy(path));
    else if (there && !(same_type && file.type == File::Type::folder))
      AKO_TRY_STATUS(keep_undone(path));
    AKO_TRY_STATUS(put_back(path, file));
  }
  AKO_TRY_STATUS(undo_refs(changes));
  return changes;
}

} // namespace ako::drive
