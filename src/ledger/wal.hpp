// What an interrupted append leaves behind in SQLite's write-ahead log.
//
//   wal   = header(32) {frame}      header = magic version page_size checkpoint salt1 salt2 check1
//   check2 frame = head(24) page           head   = page_number size_after_commit salt1 salt2
//   check1 check2
// All big-endian u32; the checks run on from frame to frame. A frame with a size_after_commit ends
// a transaction.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace ako::ledger {

struct WalTail {
  std::int64_t committed_frames = 0;
  std::int64_t loose_bytes = 0; ///< written after the last commit in the log's present round
};

/// Pure half.
WalTail wal_tail(std::string_view log);

/// Of `ledger`-wal; an absent or empty log has no tail. To be asked while holding the write lock:
/// otherwise the tail may be another process's append in progress.
base::Expected<WalTail> inspect_wal(const std::filesystem::path& ledger);

} // namespace ako::ledger
