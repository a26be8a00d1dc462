// The only way onto the record. Rows are only added; one append = one transaction = one event with
// its blobs and samples.
//
//   event.hash = sha256 of the length-prefixed fields: "ako event 1", seq, prev, ts, kind, json
//   event.json = the payload, and when there are any
//                "blobs":   [{"name", "hash", "bytes"}]         hash = sha256 of the bytes
//                "samples": {"rows", "hash"}                    hash = sample_hash() of the rows
//   prev       = hash of the event before; of the first one, the ledger's own id
#pragma once

#include "base/sqlite.hpp"
#include "ledger/events.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ako::ledger {

struct Attachment {
  std::string name; ///< "diff", "stdout", ...
  std::string bytes;
};

struct NewEvent {
  EventKind kind = EventKind::note;
  base::Json payload = base::Json::object();
  std::vector<Attachment> blobs;
  std::vector<model::Sample> samples;
};

struct Appended {
  std::int64_t seq = 0;
  base::Hash hash; ///< the ledger's head after this append: goes into the commit trailer
};

inline constexpr std::size_t k_max_blob_bytes = 64u << 20;

enum class Open { existing, create };

class Writer {
public:
  /// Opens for appending, migrating an older schema. Open::create makes the file and its folder
  /// where missing. Errors: network file system, newer schema, garbage, truncated, read-only, full
  /// disk: kind environment, invalid or io with one message each.
  static base::Expected<Writer> open(const std::filesystem::path& path, Open mode);
  Writer(Writer&&) noexcept = default;
  Writer& operator=(Writer&&) noexcept = default;

  /// On record when this returns (synchronous=FULL); on error nothing of the event is. Waits for
  /// other writers.
  base::Expected<Appended> append(const NewEvent& event);
  template <class Payload>
  base::Expected<Appended> append(const Payload& payload, std::vector<Attachment> blobs = {},
                                  std::vector<model::Sample> samples = {}) {
    return append(
        NewEvent{Payload::k_kind, to_json(payload), std::move(blobs), std::move(samples)});
  }

  /// Set when an append before this open was cut off by a kill or a torn write: what was lost, as
  /// one sentence to show. An `interrupted` event says the same on record.
  const std::optional<std::string>& recovery() const { return m_recovery; }
  const std::filesystem::path& path() const { return m_path; }

private:
  Writer(base::Database db, std::filesystem::path path)
      : m_db(std::move(db)), m_path(std::move(path)) {}
  base::Expected<Appended> append_in_transaction(const NewEvent& event);
  base::Status recover();

  base::Database m_db;
  std::filesystem::path m_path;
  std::optional<std::string> m_recovery;
  bool m_left_over = false; ///< a failed append may have left bytes in the log
};

/// Hash over the rows in order; a NaN call_ns counts as absent.
base::Hash sample_hash(std::span<const model::Sample> rows);

base::Hash event_hash(std::int64_t seq, std::string_view prev, std::int64_t ts_ns,
                      std::string_view kind, std::string_view json);

} // namespace ako::ledger
