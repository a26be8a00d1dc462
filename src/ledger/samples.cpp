#include "ledger/samples.hpp"

#include "ledger/writer.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace ako::ledger {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Statement;
using base::Status;

namespace {

void put(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}
/// One pattern for every NaN, and for both zeros: what the database gives back.
void put(std::string& out, double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  put(out, std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
}

Expected<int> small(std::int64_t value) {
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    return fail(ErrorKind::invalid, "a sample on record holds a number out of range",
                {.where = "sample",
                 .found = std::to_string(value),
                 .allowed = "32 bits",
                 .next = "run `ako verify`"});
  return static_cast<int>(value);
}

} // namespace

base::Hash sample_hash(std::span<const model::Sample> rows) {
  base::Hasher hasher;
  hasher.add_field("ako samples 1");
  std::string row;
  for (const model::Sample& each : rows) {
    row.clear();
    for (const std::int64_t value :
         {std::int64_t{each.shape}, std::int64_t{each.placement}, std::int64_t{each.pair},
          static_cast<std::int64_t>(each.side), std::int64_t{each.order}})
      put(row, static_cast<std::uint64_t>(value));
    put(row, each.device_ns);
    put(row, each.call_ns);
    put(row, static_cast<std::uint64_t>(each.calls));
    put(row, std::uint64_t{each.flags});
    hasher.add_field(row);
  }
  return hasher.finish();
}

Status check_samples(std::span<const model::Sample> rows) {
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (!std::isfinite(rows[at].device_ns) || std::isinf(rows[at].call_ns))
      return fail(
          ErrorKind::invalid, "a sample has no finite time",
          {.where = "row " + std::to_string(at),
           .found = std::to_string(rows[at].device_ns) + ", " + std::to_string(rows[at].call_ns),
           .allowed = "finite nanoseconds",
           .next = "record the measurement as invalid instead"});
  return {};
}

Status insert_samples(base::Database& db, std::int64_t event, std::span<const model::Sample> rows) {
  if (rows.empty()) return {};
  AKO_TRY(Statement insert, db.prepare(std::string("INSERT INTO sample(event, ") +
                                       k_sample_columns + ") VALUES(?,?,?,?,?,?,?,?,?,?)"));
  for (const model::Sample& each : rows) {
    insert.bind(1, event)
        .bind(2, std::int64_t{each.shape})
        .bind(3, std::int64_t{each.placement})
        .bind(4, std::int64_t{each.pair})
        .bind(5, static_cast<std::int64_t>(each.side))
        .bind(6, std::int64_t{each.order})
        .bind(7, each.device_ns)
        .bind(8, each.call_ns) // NaN becomes NULL
        .bind(9, each.calls)
        .bind(10, std::int64_t{each.flags});
    AKO_TRY_STATUS(insert.run());
  }
  return {};
}

Expected<model::Sample> read_sample(const Statement& row) {
  model::Sample sample;
  AKO_TRY(sample.shape, small(row.integer(0)));
  AKO_TRY(sample.placement, small(row.integer(1)));
  AKO_TRY(sample.pair, small(row.integer(2)));
  const std::int64_t side = row.integer(3);
  if (side < 0 || side > static_cast<std::int64_t>(model::Side::candidate))
    return fail(ErrorKind::invalid, "a sample on record has an unknown side",
                {.where = "sample",
                 .found = std::to_string(side),
                 .allowed = "0, 1, 2",
                 .next = "run `ako verify`"});
  sample.side = static_cast<model::Side>(side);
  AKO_TRY(sample.order, small(row.integer(4)));
  sample.device_ns = row.real(5);
  sample.call_ns = row.is_null(6) ? std::numeric_limits<double>::quiet_NaN() : row.real(6);
  sample.calls = row.integer(7);
  sample.flags = static_cast<std::uint32_t>(row.integer(8));
  return sample;
}

} // namespace ako::ledger
