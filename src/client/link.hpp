// One child process and the conversation with it: asks, waits, drains what it prints, and notices
// every way in which it can fail to answer.
#pragma once

#include "base/fd.hpp"
#include "base/json.hpp"
#include "base/process.hpp"
#include "protocol/crash.hpp"
#include "protocol/kinds.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ako::client {

/// Why there is no answer.
struct Incident {
  enum class Kind {
    refused,   ///< an answer that is an error: word, text, data
    died,      ///< ending, and crash when it left a record
    closed,    ///< the channel is closed and the process lives: now killed
    late,      ///< the deadline passed: now killed
    violation, ///< bytes that the child cannot have sent: now killed
    flood,     ///< printed too much: now killed
    disk,      ///< wrote too much: now killed
    threads,   ///< runs too many threads: now killed
    local      ///< ako's own end failed: error
  };
  Kind kind = Kind::local;
  std::string word, text;
  base::Json data = base::Json::object();
  base::Ending ending;
  std::optional<protocol::CrashRecord> crash;
  base::Error error;
};

struct LinkOptions {
  std::filesystem::path program;
  std::vector<std::string> args, env;
  std::string cwd;
  std::size_t keep_bytes = 1 << 20;     ///< of each of stdout and stderr
  std::int64_t flood_bytes = 64 << 20;  ///< of both
  std::filesystem::path watched_folder; ///< its size is watched when not empty
  std::int64_t disk_bytes = 0;
  int most_threads = 0; ///< of all its processes, watched where a folder is; 0 = any
  base::Limits limits;
};

/// Output of the child, capped.
struct Captured {
  std::string text;
  std::uint64_t bytes = 0; ///< in all
};

class Link {
public:
  static base::Expected<Link> start(const LinkOptions& options);
  Link(Link&&) noexcept = default;
  Link& operator=(Link&&) noexcept = default;

  /// Sends one request (and descriptors) and waits for its answer. With `received` the answer
  /// brings as many descriptors as that list is long.
  base::Result<base::Json, Incident> ask(protocol::Kind kind, const base::Json& body,
                                         base::Deadline deadline, std::vector<int> fds = {},
                                         std::vector<base::UniqueFd>* received = nullptr);
  bool alive() const { return m_alive; }
  base::Process& process() { return *m_process; }
  const base::Process& process() const { return *m_process; }
  const std::string& out() const { return m_out.text; }
  const std::string& err() const { return m_err.text; }
  void kill(); ///< the whole group; idempotent

private:
  Link() = default;
  /// One round of waiting; an incident when one is found, nothing to go on.
  std::optional<Incident> wait_round(base::Deadline deadline, bool& readable);
  std::optional<Incident> receive(std::span<std::byte> bytes, base::Deadline deadline);
  std::optional<Incident> drain();
  std::optional<Incident> check_use(); ///< of disk and threads
  std::optional<Incident> check_threads();
  std::optional<Incident> unsolicited();
  Incident died();
  Incident closed();
  Incident fatal(Incident::Kind kind, std::string text, base::Json data = base::Json::object());
  std::optional<protocol::CrashRecord> read_crash();

  std::optional<base::Process> m_process;
  base::UniqueFd m_socket, m_out_fd, m_err_fd, m_crash_fd;
  Captured m_out, m_err;
  std::size_t m_keep_bytes = 0;
  std::int64_t m_flood_bytes = 0, m_disk_bytes = 0;
  std::filesystem::path m_folder;
  int m_most_threads = 0;
  std::int64_t m_use_checked_ns = 0, m_threads_checked_ns = 0;
  bool m_alive = false;
};

} // namespace ako::client
