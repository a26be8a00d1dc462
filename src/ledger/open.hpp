// Opening the file: the checks that both ends share.
#pragma once

#include "base/sqlite.hpp"

#include <filesystem>

namespace ako::ledger {

/// Write-ahead log, synchronous=FULL, current schema. `create`: an absent or empty file becomes a
/// new ledger.
enum class Creation { refused, allowed };
base::Expected<base::Database> open_for_writing(const std::filesystem::path& path,
                                                Creation creation);

/// An older schema is brought up to date first where the file can be written. A folder that cannot
/// be written is read as it stands.
base::Expected<base::Database> open_for_reading(const std::filesystem::path& path);

} // namespace ako::ledger
