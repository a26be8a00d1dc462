// Snapshot: the sources at one moment. Artifact: what a lane built from it. LaunchSpec: what a
// worker loads.
#pragma once

#include "base/hash.hpp"
#include "base/json.hpp"
#include "model/contract.hpp"

#include <map>
#include <string>
#include <vector>

namespace ako::model {

struct SourceFile {
  std::string path;
  base::Hash hash;
  std::int64_t bytes = 0;
}; ///< path relative to the task

struct Snapshot {
  base::Hash hash;      ///< over path and hash of every file, sorted: the candidate's name
  std::string git_tree; ///< object id where git holds it; empty otherwise
  std::vector<SourceFile> files;
};

struct CompilerMessage {
  std::string file; ///< relative to the task; empty when it is none of the candidate's
  int line = 0, column = 0;
  std::string severity, text, source_line;
};

struct Artifact {
  base::Hash snapshot;     ///< what it was built from
  base::Hash library_hash; ///< of the file that is loaded
  std::string library_path;
  base::Hash cache_key; ///< content, flags and compiler identity
  std::string compile_line;
  std::string compiler_identity; ///< first line of --version and the binary's hash
  std::vector<CompilerMessage> messages;
  double build_seconds = 0;
  bool from_cache = false;
  base::Json resources; ///< the compiler's resource report where the lane has one
};

/// One file a worker loads and how it is called. The library exports the C symbols of
/// include/ako/measure.h's entry protocol: int ako_call(void* const* tensors, const int64_t*
/// integers, const double* scalars, void* stream).
struct LaunchSpec {
  Lane lane = Lane::cpu;
  std::string label; ///< "candidate", "incumbent", "reference", "baseline:<name>"
  std::string library_path;
  base::Hash library_hash; ///< checked by the worker before loading, reported after
  bool has_prepare = false, has_plan = false;
  std::map<std::string, std::string> environment;
  /// An interpreter and its words, to which ako's own are added; it becomes the worker and loads
  /// the file. Empty = the file is a shared library.
  std::vector<std::string> host;
  std::vector<std::string> read_paths; ///< beyond the system's and the file, for the worker to read
  std::string keep_dir; ///< a folder of this artifact alone that the worker may write; empty = none
};

base::Json to_json(const Snapshot&);
base::Expected<Snapshot> snapshot_from_json(const base::Json&);
base::Json to_json(const Artifact&);
base::Expected<Artifact> artifact_from_json(const base::Json&);
base::Json to_json(const LaunchSpec&);
base::Expected<LaunchSpec> launch_spec_from_json(const base::Json&);

} // namespace ako::model
