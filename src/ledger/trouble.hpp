// What SQLite and the file system say, as one clear message each.
#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <functional>

namespace ako::ledger {

/// Turns an error of the database layer into the ledger's own words: full disk, read-only place,
/// damaged or truncated file, not a database, held by another process. Others pass unchanged.
base::Error explain(base::Error error, const std::filesystem::path& path);

using OnNetwork = std::function<bool(const std::filesystem::path&)>;

/// Refuses a ledger on a network file system, where SQLite's locks do not hold. `on_network` is
/// base::on_network_file_system outside tests.
base::Status refuse_network(const std::filesystem::path& path, const OnNetwork& on_network);

/// The file is there, a regular file, and not empty; else one message that says which.
base::Status check_existing(const std::filesystem::path& path);

} // namespace ako::ledger
