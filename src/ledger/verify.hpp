// Was anything on the record changed or cut?
#pragma once

#include "ledger/queries.hpp"

#include <string>
#include <vector>

namespace ako::ledger {

/// A head hash that lies outside the ledger.
struct KnownHead {
  base::Hash hash;
  std::string origin; ///< "commit 1a2b3c4 [iter 3]", "archive run.tar"
};

/// The first place where the record does not hold.
struct Break {
  std::int64_t seq = 0; ///< 0 = no single event
  std::string what;     ///< one sentence
  std::string found, expected;
};

struct Verified {
  std::int64_t events = 0, blobs = 0, samples = 0, heads = 0;
  base::Hash head;
  std::optional<Break> broken; ///< empty = whole
  /// Things that are allowed and worth a line: a copy whose original went on, a known head that is
  /// not the last.
  std::vector<std::string> remarks;
};

/// Reads all: the chain, every blob against its hash, every event's samples, the derived rows, the
/// file's own structure, and that each known head is on the chain. An Error only where it could not
/// be read at all.
base::Expected<Verified> verify(Reader& reader, const std::vector<KnownHead>& known);

} // namespace ako::ledger
