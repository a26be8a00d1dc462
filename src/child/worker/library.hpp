// The artifact: read once, hashed, and loaded from those very bytes.
#pragma once

#include "ako/measure.h"
#include "base/fd.hpp"
#include "base/hash.hpp"
#include "protocol/server.hpp"

#include <set>
#include <string>
#include <vector>

namespace ako::worker {

/// The file's bytes in sealed memory: what is hashed is what is loaded.
struct SealedFile {
  base::UniqueFd fd;
  base::Hash hash;
};
protocol::Outcome<SealedFile> seal_file(const std::string& path);

struct Library {
  ako_call_fn call = nullptr, prepare = nullptr, plan = nullptr;
  std::vector<std::string> libraries;  ///< mapped because of it
  std::vector<std::string> interposed; ///< names of ours or of the clocks that it defines itself
  std::string own;                     ///< its name in the loader's list
  std::set<std::string> mapped;        ///< everything in that list when last looked at
  unsigned long long added = 0;        ///< how many were ever put into it

  /// No file of its own: what is in the loader's list now.
  static Library of_process();
};

/// Names of libraries that were mapped since this was last asked, or since loading; cheap while
/// there are none.
std::vector<std::string> came_along(Library& library);
/// Runs its constructors. Everything is bound now, nothing is visible to others.
protocol::Outcome<Library> load_library(const SealedFile& file);

} // namespace ako::worker
