#include "workspace/revert.hpp"

#include "workspace/listing.hpp"
#include "workspace/snapshot.hpp"
#include "workspace/sweep.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::workspace {

using base::Expected;
namespace fs = base::fs;

namespace {

Expected<model::Sources> standing(const Workdir& workdir, const model::Contract& contract) {
  AKO_TRY(const auto paths, candidate_paths(workdir, contract));
  return collect(workdir, paths, {}, Missing::allowed);
}

/// Folders of solution/ that the removal of `path` left empty go too; solution/ itself stays.
void remove_empty_folders(const fs::path& task, const std::string& path) {
  for (fs::path at = fs::path(path).parent_path(); at.has_parent_path(); at = at.parent_path()) {
    std::error_code why;
    if (!fs::is_empty(task / at, why) || why || !fs::remove(task / at, why)) return;
  }
}

base::Status put_back(const fs::path& task, const model::SourceText& text) {
  // The folder is resolved, the file's own name is not: a link at its place is replaced.
  fs::path folder = task;
  if (const fs::path above = fs::path(text.path).parent_path(); !above.empty()) {
    AKO_TRY(folder, base::resolve_inside(task, above));
  }
  const fs::path path = folder / fs::path(text.path).filename();
  AKO_TRY_STATUS(base::write_file_atomic(path, text.content));
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  const mode_t plain = info.st_mode & 07777;
  const mode_t wanted = text.executable ? plain | ((plain & 0444) >> 2) : plain & ~0111u;
  if (wanted != plain && chmod(path.c_str(), wanted) != 0)
    return base::fail_errno("a file's mode could not be set", path.string(), errno);
  return {};
}

} // namespace

Expected<Reverted> restore_sources(const Workdir& workdir, const model::Contract& contract,
                                   const model::Sources& incumbent, const std::string& keep_as,
                                   const model::Sources* judged) {
  sweep_task(workdir);
  Reverted reverted;
  AKO_TRY(const std::string prefix, workdir.ref_prefix());
  auto found = standing(workdir, contract);
  const bool known =
      found && (same_sources(*found, incumbent) || (judged && same_sources(*found, *judged)));
  if (judged != nullptr && !known) {
    reverted.edited = true;
    reverted.kept_ref = prefix + keep_as;
    return reverted;
  }
  AKO_TRY(const model::Sources now, std::move(found));
  if (same_sources(now, incumbent)) return reverted;
  if (judged == nullptr) AKO_TRY_STATUS(keep_snapshot(workdir, now, keep_as));
  reverted.kept_ref = prefix + keep_as;

  for (const auto& text : now.texts) {
    if (incumbent.find(text.path) != nullptr) continue;
    if (unlink((workdir.task() / text.path).c_str()) != 0)
      return base::fail_errno("a file of the candidate could not be removed", text.path, errno);
    remove_empty_folders(workdir.task(), text.path);
    reverted.removed.push_back(text.path);
  }
  for (const auto& text : incumbent.texts) {
    const auto* there = now.find(text.path);
    const bool same =
        there != nullptr && there->content == text.content && there->executable == text.executable;
    if (same) continue;
    AKO_TRY_STATUS(put_back(workdir.task(), text));
    reverted.restored.push_back(text.path);
  }
  return reverted;
}

} // namespace ako::workspace
