// Reading the record. Nothing here writes; everything is bounded in memory except where a function
// says otherwise.
#pragma once

#include "base/sqlite.hpp"
#include "ledger/events.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::ledger {

struct BlobRef {
  std::string name;
  base::Hash hash;
  std::int64_t bytes = 0;
};

struct Event {
  std::int64_t seq = 0;
  base::Hash prev, hash;
  std::int64_t ts_ns = 0; ///< wall clock, since 1970
  EventKind kind = EventKind::note;
  base::Json payload; ///< payload_from<T>() makes it typed
  std::vector<BlobRef> blobs;
  std::int64_t sample_rows = 0;
};

template <class T> struct Recorded {
  Event event;
  T payload;
};

/// One line of the log; what `status`, `log` and the state of the loop need of an iteration.
struct IterationRow {
  std::int64_t number = 0, event = 0, ts_ns = 0;
  model::OutcomeKind outcome = model::OutcomeKind::undecided;
  model::Decision decision = model::Decision::revert;
  Explore explore = Explore::no;
  bool confirmed = false;
  std::optional<double> gain, low, high;                ///< against the incumbent of the moment
  std::optional<double> base_gain, base_low, base_high; ///< against the baseline, where measured
  base::Hash snapshot;
  std::string lane, hypothesis, direction;
  bool operator==(const IterationRow&) const = default;
};

/// What stands now.
struct Standing {
  std::int64_t events = 0;
  base::Hash head; ///< hash of the last event; the ledger's id when empty
  std::int64_t last_ts_ns = 0;
  std::int64_t iterations = 0;                  ///< also the last number
  std::map<std::string, std::int64_t> outcomes; ///< iterations by outcome
  std::optional<IterationRow> incumbent;        ///< last one kept or flagged; absent = the baseline
  std::optional<IterationRow> last;
  /// Iterations in a row that were correct and not better (equivalent, regressed, undecided),
  /// explore steps apart; failed ones neither count nor break the row; an improvement, a direction
  /// or a changed lane ends it.
  std::int64_t not_better_in_a_row = 0;
  std::optional<std::int64_t> stall_event;    ///< last `stall`, when no direction came after it
  std::optional<std::int64_t> baseline_event; ///< last one
  std::optional<std::int64_t> contract_event;
  std::optional<std::int64_t> self_test_event;
  std::optional<std::int64_t> references_event;
  std::optional<std::int64_t> environment_event;
  std::optional<std::int64_t> second_opinion_event; ///< last one about the incumbent
  std::int64_t waivers = 0;
};

class Reader {
public:
  /// Errors as Writer::open. A folder that cannot be written can still be read.
  static base::Expected<Reader> open(const std::filesystem::path& path);
  Reader(Reader&&) noexcept = default;
  Reader& operator=(Reader&&) noexcept = default;

  base::Expected<Standing> standing();
  base::Expected<base::Hash> id(); ///< what the first event's prev says
  base::Expected<base::Hash> head();

  base::Expected<std::optional<Event>> event(std::int64_t seq);
  base::Expected<std::optional<Event>> last(EventKind kind);
  /// In order of seq, starting after `after`; the callback may fail, which ends the walk.
  base::Status each(EventKind kind, const std::function<base::Status(const Event&)>& visit,
                    std::int64_t after = 0);
  /// All of a kind, typed; not for kinds that grow without bound (iteration).
  template <class T> base::Expected<std::vector<Recorded<T>>> all() {
    std::vector<Recorded<T>> out;
    AKO_TRY_STATUS(each(T::k_kind, [&](const Event& e) -> base::Status {
      AKO_TRY(T payload, payload_from<T>(e.payload));
      out.push_back({e, std::move(payload)});
      return {};
    }));
    return out;
  }
  template <class T> base::Expected<std::optional<Recorded<T>>> last() {
    AKO_TRY(std::optional<Event> e, last(T::k_kind));
    if (!e) return std::optional<Recorded<T>>{};
    AKO_TRY(T payload, payload_from<T>(e->payload));
    return std::optional<Recorded<T>>{{std::move(*e), std::move(payload)}};
  }

  /// The last `limit` rows with number < `before` (0 = from the end), in rising order.
  base::Expected<std::vector<IterationRow>> page(std::int64_t limit, std::int64_t before = 0);
  /// All rows in rising order, one at a time.
  base::Status each_row(const std::function<base::Status(const IterationRow&)>& visit);
  /// Kept and flagged rows only, rising.
  base::Expected<std::vector<IterationRow>> kept();
  base::Expected<std::optional<Recorded<Iteration>>> iteration(std::int64_t number);
  /// The commit made for an iteration; empty when none is on record.
  base::Expected<std::string> commit_of(std::int64_t number);
  /// Last iteration with this snapshot: a failed attempt that comes back.
  base::Expected<std::optional<IterationRow>> with_snapshot(const base::Hash& snapshot);

  base::Expected<std::vector<model::Sample>> samples(std::int64_t event);
  base::Expected<std::string> blob(const base::Hash& hash);

  const std::filesystem::path& path() const { return m_path; }
  base::Database& database() { return m_db; }

private:
  Reader(base::Database db, std::filesystem::path path)
      : m_db(std::move(db)), m_path(std::move(path)) {}
  base::Database m_db;
  std::filesystem::path m_path;
};

} // namespace ako::ledger
