// Tables, their guards against change, and the steps from older forms.
//
//   version 1  schema_version, origin, event, blob, sample
//   version 2  iteration_row (derived from events, maintained inside the same append) and its
//   indexes
#pragma once

#include "base/hash.hpp"
#include "base/sqlite.hpp"

#include <filesystem>

namespace ako::ledger {

inline constexpr int k_schema_version = 2;
inline constexpr int k_application_id = 0x616b6f31; // "ako1" in the file's header

/// 0 for an empty database; kind invalid where it is somebody else's.
base::Expected<int> schema_version(base::Database& db, const std::filesystem::path& path);

/// Creates or brings up to date, all in the caller's transaction. `target` is there for the tests
/// of the steps.
base::Status migrate(base::Database& db, int from, const std::filesystem::path& path,
                     int target = k_schema_version);

/// The statements that make version `to` out of the one before.
const char* schema_step(int to);

/// What the ledger keeps of the place where it was made: the file's name, and a hash that knows the
/// place again and gives no path of that machine away.
std::string origin_mark(const base::Hash& id, const std::filesystem::path& path);

/// A database's random name: what the first event's prev says.
base::Expected<base::Hash> ledger_id(base::Database& db);

} // namespace ako::ledger
