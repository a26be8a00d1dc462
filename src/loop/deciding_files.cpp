#include "loop/deciding_files.hpp"

#include <algorithm>

namespace ako::loop {

std::vector<ledger::FileSeen> files_of(const std::string& role, const Built& built) {
  std::vector<ledger::FileSeen> out;
  for (const auto& file : built.sources.snapshot.files) out.push_back({role, file.path, file.hash});
  for (const auto& file : built.headers) out.push_back({role, file.path, file.hash});
  return out;
}

base::Expected<std::vector<ledger::FileSeen>> files_of_fills(const workspace::Workdir& workdir,
                                                             Builder& builder) {
  std::vector<ledger::FileSeen> out;
  AKO_TRY(const auto fills, builder.fills());
  for (const auto& fill : fills)
    for (const auto& file : fill.read) {
      out.push_back({"fill:" + fill.tensor, file.path, file.hash});
      // Recorded inputs may be large: they are hashed where that is asked for.
      if (file.hash.empty()) {
        AKO_TRY(out.back().hash, base::sha256_file(workdir.task() / file.path));
      }
    }
  return out;
}

namespace {

bool is_as_seen(const workspace::Workdir& workdir, const ledger::FileSeen& file) {
  const auto now = base::sha256_file(workdir.task() / file.path);
  return now && *now == file.hash;
}

} // namespace

std::vector<std::string> changed_paths(const workspace::Workdir& workdir,
                                       const std::vector<ledger::FileSeen>& seen) {
  std::vector<std::string> out;
  for (const auto& file : seen)
    if (std::find(out.begin(), out.end(), file.path) == out.end() && !is_as_seen(workdir, file))
      out.push_back(file.path);
  return out;
}

std::vector<std::string> changed_files(const workspace::Workdir& workdir,
                                       const std::vector<ledger::FileSeen>& seen) {
  std::vector<std::string> out;
  for (const auto& file : seen) {
    if (is_as_seen(workdir, file)) continue;
    std::error_code code;
    const bool gone = !base::fs::exists(workdir.task() / file.path, code);
    out.push_back(file.path + " (" + file.role + (gone ? ", gone)" : ")"));
  }
  return out;
}

base::Status built_as_proven(const std::string& role, const Built& built,
                             const std::vector<ledger::FileSeen>& proven) {
  const auto known = [&](const std::string& path) {
    return std::find_if(proven.begin(), proven.end(), [&](const ledger::FileSeen& file) {
      return file.role == role && (path.empty() || file.path == path);
    });
  };
  if (known("") == proven.end()) return {};
  for (const auto& file : files_of(role, built)) {
    const auto before = known(file.path);
    if (before != proven.end() && before->hash == file.hash) continue;
    return base::fail(base::ErrorKind::stale,
                      "a file that decides was changed while it was built from",
                      {.where = file.path,
                       .found = role + " from other bytes than those that were proven",
                       .allowed = "the files that `ako check` and `ako baseline` saw",
                       .next = "put it back and run the same command again, or: ako check"});
  }
  return {};
}

} // namespace ako::loop
