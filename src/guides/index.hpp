// One full-text index in one file. Used by this room's search only.
#pragma once

#include "base/sqlite.hpp"
#include "guides/search.hpp"

#include <functional>

namespace ako::guides {

struct IndexedFile {
  std::string path; ///< where its text is read from
  std::string id;   ///< of the guide; empty otherwise
  std::string title;
  TextKind kind = TextKind::code;
};

/// Opens <cache>/<name>-<key>.sqlite, making it from `files` when it is not there; earlier ones of
/// that name are removed. Whole or not at all: many processes may do this at once.
base::Expected<base::Database>
open_index(const base::fs::path& cache, const std::string& name, const base::Hash& key,
           const std::function<base::Expected<std::vector<IndexedFile>>()>& files);

/// At most `limit` hits, the best passage of a file each. `words`: at least one.
base::Expected<std::vector<Hit>> query_index(base::Database& db, Hit::Source source,
                                             const std::vector<std::string>& words,
                                             std::size_t limit);

} // namespace ako::guides
