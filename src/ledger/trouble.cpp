#include "ledger/trouble.hpp"

#include "base/fs.hpp"

#include <sqlite3.h>
#include <string>

namespace ako::ledger {

using base::Error;
using base::ErrorKind;
using base::fail;
using base::Status;

namespace {

constexpr std::uint64_t k_hardly_any_space = 64u << 10;

bool says(const Error& error, int code) {
  return error.text().find(sqlite3_errstr(code)) != std::string::npos;
}

Error full_disk(const std::filesystem::path& path) {
  return {ErrorKind::environment,
          "no space left for the ledger: the event in flight is not on record",
          path.string(),
          std::to_string(base::free_bytes(path)) + " bytes free",
          {},
          "free some space and run the command again; all earlier events are intact"};
}

} // namespace

Error explain(Error error, const std::filesystem::path& path) {
  const bool io = says(error, SQLITE_IOERR);
  const bool no_space = base::free_bytes(path) < k_hardly_any_space;
  if (says(error, SQLITE_FULL) || ((io || says(error, SQLITE_CANTOPEN)) && no_space))
    return full_disk(path);
  if (says(error, SQLITE_NOTADB))
    return {ErrorKind::invalid, "this file is not a ledger",
            path.string(),      "something else than an SQLite database",
            "a ledger",         "name the ledger of the task, or restore it from an archive"};
  if (says(error, SQLITE_CORRUPT))
    return {ErrorKind::invalid,
            "the ledger's file is damaged or truncated",
            path.string(),
            sqlite3_errstr(SQLITE_CORRUPT),
            "a whole file",
            "restore it from an archive or a copy; `ako verify` says how far the record reaches"};
  if (says(error, SQLITE_READONLY) || says(error, SQLITE_CANTOPEN) || says(error, SQLITE_PERM))
    return {ErrorKind::environment,
            "the ledger cannot be written here",
            path.string(),
            "no permission to write the file or its folder",
            "a folder that can be written",
            "make file and folder writable, or work on a copy"};
  if (says(error, SQLITE_BUSY))
    return {ErrorKind::environment,
            "another process kept the ledger locked for too long",
            path.string(),
            "locked",
            "a short wait",
            "look for a stopped ako process that holds it, then run the command again"};
  if (io)
    return {ErrorKind::io,
            "the disk failed while the ledger was read or written",
            path.string(),
            error.found.empty() ? sqlite3_errstr(SQLITE_IOERR) : error.found,
            {},
            "check the disk; the event in flight is not on record, earlier ones are"};
  return error;
}

Status refuse_network(const std::filesystem::path& path, const OnNetwork& on_network) {
  if (!on_network(path)) return {};
  return fail(ErrorKind::environment,
              "a ledger cannot live on a network file system: its locks do not hold there",
              {.where = path.string(),
               .found = "a network file system",
               .allowed = "a local disk",
               .next = "keep the repository on a local disk"});
}

Status check_existing(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    return fail(ErrorKind::invalid, "there is no ledger here",
                {.where = path.string(),
                 .found = "no such file",
                 .allowed = "the ledger of a task",
                 .next = "make a task with `ako new`, or go to its folder with -C"});
  if (!std::filesystem::is_regular_file(status))
    return fail(ErrorKind::invalid, "this is not a ledger",
                {.where = path.string(),
                 .found = "not a regular file",
                 .allowed = "a ledger",
                 .next = "name the ledger of the task"});
  if (std::filesystem::file_size(path, error) == 0)
    return fail(
        ErrorKind::invalid, "the ledger's file is empty",
        {.where = path.string(),
         .found = "0 bytes",
         .allowed = "a whole file",
         .next = "restore it from an archive or a copy; remove the empty file to start anew"});
  return {};
}

} // namespace ako::ledger
