// A finished task as one file: record, contract, sources and reports; and what another machine can
// make of it.
#pragma once

#include "base/archive.hpp"
#include "ledger/verify.hpp"
#include "loop/recompute.hpp"
#include "loop/session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

/// Everything the task's claims rest on, with `further` files (reports), into a tar.gz:
///   MANIFEST.json           format, task, head of the ledger, hash of every file
///   ledger.sqlite           a whole copy
///   task/                   task.toml, input/, solution/, context/, bench/, ITERATIONS.md
///   sources/iter-N/         what each iteration tried; iter-0 is where it began
/// Returns the manifest.
base::Expected<base::Json> write_task_archive(const Session& session, const base::fs::path& into,
                                              std::vector<base::ArchiveFile> further);

struct ArchiveVerified {
  base::Json manifest;
  std::size_t files = 0;
  ledger::Verified ledger;
  std::vector<Recomputed> verdicts;
  std::size_t sources = 0;        ///< iterations whose sources have the hash on record
  std::vector<std::string> wrong; ///< what does not hold, one sentence each; empty = whole
  std::vector<std::string> remarks;
  bool whole() const { return wrong.empty(); }
};

/// Reads all of it: every file against the manifest, the ledger's chain and its head, every
/// iteration's sources against the hash on record, every verdict against its raw samples. An Error
/// only where it is no archive of ako.
base::Expected<ArchiveVerified> verify_archive(const base::fs::path& archive);

struct Rerun {
  model::Verdict stated, now;
  std::string device;
  std::int64_t iteration = 0;
  bool landed = false; ///< the gain measured now lies in the stated interval
};

/// Builds the archive's incumbent and its baseline from their sources and measures them here. Kind
/// refused: no claim in it; environment: this is no device of the same kind.
base::Expected<Rerun> rerun_archive(const base::fs::path& archive,
                                    const std::optional<std::string>& device);

} // namespace ako::loop
