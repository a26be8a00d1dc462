// What a task requires, held against what was receipted: read, unread, or changed since. Pure.
#pragma once

#include "guides/routing.hpp"

namespace ako::guides {

/// A guide as it was read: an entry of an event on record.
struct Receipt {
  std::string id;
  base::Hash hash;
  std::int64_t ts_ns = 0;
};

enum class ReadState { unread, read, changed };
const char* to_string(ReadState state); ///< "not read", "read", "changed since it was read"

struct ReadItem {
  const Guide* guide = nullptr;
  std::vector<std::string> why; ///< empty: not required
  ReadState state = ReadState::unread;
  std::int64_t read_ns = 0; ///< when it was read last, whatever its content was then
};

/// Receipts in the order of the record. Reading an earlier edition again is no reading of this one:
/// the last receipt counts.
std::vector<ReadItem> reading(const std::vector<Required>& required,
                              const std::vector<Receipt>& receipts);

/// The ids that are still to be read, in the order of the list.
std::vector<std::string> to_read(const std::vector<ReadItem>& items);

/// What a hypothesis rests on: the words of --cites, and "[id]" in its text.
struct Cited {
  std::vector<std::string> ids;
};
/// An id is a guide's, a finding's (`findings`), or "iter-N" of an iteration on record. Kind usage
/// naming the nearest id for one of --cites that does not exist, and for a bracket in the text that
/// is nearly one; other brackets are the text's own. Without a library guides cannot be told from
/// slips, and every word passes.
base::Expected<Cited> citations(const std::string& hypothesis, const std::string& cites,
                                const Library* library, const std::vector<std::string>& findings,
                                std::int64_t iterations);

} // namespace ako::guides
