// The candidate at one moment: read once, hashed, kept in git.
#pragma once

#include "model/contract.hpp"
#include "model/sources.hpp"
#include "workspace/workdir.hpp"

namespace ako::workspace {

struct SnapshotLimits {
  std::int64_t file_bytes = 16 << 20;  ///< one source file
  std::int64_t total_bytes = 64 << 20; ///< all of them
  int files = 4096;
};

/// Everything below solution/ plus kernel.sources, without what tools leave behind (object files,
/// libraries, __pycache__, editor back-ups, dot files). Kind invalid, naming the path, for: a
/// symbolic link that leads out of the task, a device, socket or pipe, a file that cannot be read,
/// one that is too large (its size is looked at, it is not read), no file at all, a declared file
/// that does not exist.
base::Expected<model::Sources> take_snapshot(const Workdir& workdir,
                                             const model::Contract& contract,
                                             const SnapshotLimits& limits = {});

/// The same for a reference or baseline: its entry file and further sources.
base::Expected<model::Sources> take_sources(const Workdir& workdir,
                                            const std::vector<std::string>& paths,
                                            const SnapshotLimits& limits = {});

/// The same bytes and modes at the same paths.
bool same_sources(const model::Sources& a, const model::Sources& b);

/// Whether solution/ and the declared sources are exactly `sources` now. What cannot be read is
/// something else.
bool still_holds(const Workdir& workdir, const model::Contract& contract,
                 const model::Sources& sources);

/// What an iteration's sources are kept as: "iter-7".
std::string kept_name(std::int64_t iteration);

/// Puts the bytes into git's object store as a tree of their own and lets
/// refs/ako/<id>/<name> hold it, so that no collection of garbage loses it. Returns the tree id.
/// `name` is "iter-7", "incumbent", "baseline", ...; an existing ref is moved.
base::Expected<std::string> keep_snapshot(const Workdir& workdir, const model::Sources& sources,
                                          const std::string& name);

/// The sources of a tree id or a kept name ("iter-7"). Kind invalid when there is no such thing.
base::Expected<model::Sources> read_snapshot(const Workdir& workdir,
                                             const std::string& tree_or_name);

/// Hashes and names of texts (sorted by path by this call) as a Snapshot.
model::Sources make_sources(std::vector<model::SourceText> texts);

} // namespace ako::workspace
