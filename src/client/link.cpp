#include "client/link.hpp"

#include "base/frame.hpp"
#include "client/processes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <span>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ako::client {

using base::Deadline;
using base::Json;
using IncidentKind = Incident::Kind;

namespace {

constexpr int k_channel = 3, k_crash = 4;
constexpr std::int64_t k_use_interval_ns = 200'000'000;
/// Answers come faster than that while something short is timed: none of them shall wait for this.
constexpr std::int64_t k_threads_interval_ns = 20'000'000;
constexpr std::int64_t k_grace_ns = 500'000'000; ///< between closing the channel and ending

std::uint64_t random_id() {
  std::uint64_t id = 0;
  if (getrandom(&id, sizeof id, 0) != sizeof id)
    id = static_cast<std::uint64_t>(base::monotonic_ns());
  return id;
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const auto byte : bytes.first(std::min<std::size_t>(bytes.size(), 32)))
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

Incident local(base::Error error) {
  Incident incident;
  incident.kind = IncidentKind::local;
  incident.text = error.text();
  incident.error = std::move(error);
  return incident;
}

/// Bytes on disk below `folder`; stops counting past `most` or past ten thousand entries.
std::int64_t folder_bytes(const std::filesystem::path& folder, std::int64_t most) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::int64_t bytes = 0;
  int entries = 0;
  auto at = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied,
                                             error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (++entries > 10'000) return most + 1;
    std::error_code missing; // files may go while they are counted
    if (at->is_regular_file(missing) && !at->is_symlink(missing))
      bytes += static_cast<std::int64_t>(at->file_size(missing));
    if (!missing && bytes > most) break;
  }
  return bytes;
}

} // namespace

base::Expected<Link> Link::start(const LinkOptions& options) {
  AKO_TRY(auto channel, base::make_socket_pair());
  AKO_TRY(auto out, base::make_pipe());
  AKO_TRY(auto err, base::make_pipe());
  AKO_TRY(auto crash, base::make_pipe());
  base::SpawnOptions spawn;
  spawn.argv = {options.program.string()};
  spawn.argv.insert(spawn.argv.end(), options.args.begin(), options.args.end());
  spawn.env = options.env;
  spawn.cwd = options.cwd;
  spawn.fds = {{out.second.get(), 1},
               {err.second.get(), 2},
               {channel.second.get(), k_channel},
               {crash.second.get(), k_crash}};
  spawn.limits = options.limits;
  Link link;
  AKO_TRY(link.m_process, base::Process::spawn(spawn));
  for (const int fd : {out.first.get(), err.first.get(), crash.first.get()})
    fcntl(fd, F_SETFL, O_NONBLOCK);
  link.m_socket = std::move(channel.first);
  link.m_out_fd = std::move(out.first);
  link.m_err_fd = std::move(err.first);
  link.m_crash_fd = std::move(crash.first);
  link.m_keep_bytes = options.keep_bytes;
  link.m_flood_bytes = options.flood_bytes;
  link.m_disk_bytes = options.disk_bytes;
  link.m_folder = options.watched_folder;
  link.m_most_threads = options.most_threads;
  link.m_alive = true;
  return link;
}

base::Result<Json, Incident> Link::ask(protocol::Kind kind, const Json& body, Deadline deadline,
                                       std::vector<int> fds,
                                       std::vector<base::UniqueFd>* received) {
  if (!m_alive)
    return tl::unexpected(
        local(base::fail(base::ErrorKind::internal, "the child has ended already").value()));
  if (auto incident = unsolicited()) return tl::unexpected(std::move(*incident));
  const base::Frame request{static_cast<std::uint16_t>(kind), 0, random_id(),
                            base::dump_json(body)};
  auto sent = base::send_frame(m_socket.get(), request, deadline);
  if (sent && !fds.empty()) sent = base::send_fds(m_socket.get(), fds, deadline);
  if (!sent && sent.error().kind == base::ErrorKind::timeout)
    return tl::unexpected(fatal(IncidentKind::late, "did not take a command before the deadline"));
  if (!sent) return tl::unexpected(closed());

  std::byte bytes[base::k_frame_header_bytes];
  if (auto incident = receive(bytes, deadline)) return tl::unexpected(std::move(*incident));
  const auto header = base::decode_header(bytes);
  const bool ours = header && header->id == request.id && header->kind == request.kind &&
                    (header->flags & protocol::k_answer) && header->flags <= 3;
  if (!ours)
    return tl::unexpected(fatal(IncidentKind::violation,
                                "bytes on the private channel that are no answer",
                                Json{{"bytes", hex_of(bytes)}}));
  std::string payload(header->length, '\0');
  if (auto incident = receive(std::as_writable_bytes(std::span(payload)), deadline))
    return tl::unexpected(std::move(*incident));
  auto answer = base::parse_json(payload, protocol::to_string(kind));
  if (!answer || !answer->is_object())
    return tl::unexpected(fatal(IncidentKind::violation, "an answer that is no JSON object",
                                Json{{"bytes", hex_of(std::as_bytes(std::span(payload)))}}));
  if (header->flags & protocol::k_error) {
    Incident incident;
    incident.kind = IncidentKind::refused;
    incident.word = base::get_or<std::string>(*answer, "kind", "invalid");
    incident.text = base::get_or<std::string>(*answer, "message", "");
    incident.data = base::get_or<Json>(*answer, "data", Json::object());
    return tl::unexpected(std::move(incident));
  }
  if (received && !received->empty()) {
    auto passed = base::receive_fds(m_socket.get(), received->size(), deadline);
    if (!passed || passed->size() != received->size())
      return tl::unexpected(fatal(IncidentKind::violation, "no descriptor came with the answer"));
    *received = std::move(*passed);
  }
  if (auto incident = drain()) return tl::unexpected(std::move(*incident));
  if (auto incident = check_use()) return tl::unexpected(std::move(*incident));
  return std::move(*answer);
}

std::optional<Incident> Link::unsolicited() {
  std::byte bytes[32];
  const auto got = recv(m_socket.get(), bytes, sizeof bytes, MSG_DONTWAIT | MSG_PEEK);
  if (got > 0)
    return fatal(IncidentKind::violation, "bytes on the private channel that nobody asked for",
                 Json{{"bytes", hex_of(std::span(bytes).first(static_cast<std::size_t>(got)))}});
  if (got == 0) return closed();
  return std::nullopt;
}

std::optional<Incident> Link::receive(std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const auto got = recv(m_socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return closed();
    bool readable = false;
    if (auto incident = wait_round(deadline, readable)) return incident;
  }
  return std::nullopt;
}

std::optional<Incident> Link::wait_round(Deadline deadline, bool& readable) {
  pollfd entries[4] = {{m_socket.get(), POLLIN, 0},
                       {m_out_fd.get(), POLLIN, 0},
                       {m_err_fd.get(), POLLIN, 0},
                       {m_process->pidfd(), POLLIN, 0}};
  int wait_ms = deadline.remaining_ms();
  if (!m_folder.empty() && (wait_ms < 0 || wait_ms > 200)) wait_ms = 200;
  const int ready = poll(entries, 4, wait_ms);
  if (ready < 0 && errno != EINTR) return local(base::fail_errno("poll failed", "", errno).value());
  if (auto incident = drain()) return incident;
  readable = (entries[0].revents & (POLLIN | POLLHUP)) != 0;
  if (readable) return std::nullopt; // an answer that came before the end is still an answer
  if (entries[3].revents & POLLIN) return died();
  if (deadline.passed()) return fatal(IncidentKind::late, "did not answer before the deadline");
  if (base::monotonic_ns() - m_use_checked_ns > k_use_interval_ns) return check_use();
  return std::nullopt;
}

std::optional<Incident> Link::drain() {
  char buffer[64 << 10];
  const auto drain_one = [&](base::UniqueFd& fd, Captured& into) {
    // At most what is there and a little more, so that an endless writer cannot hold us here.
    for (int round = 0; fd && round < 32; ++round) {
      const auto got = read(fd.get(), buffer, sizeof buffer);
      if (got == 0) fd.reset();
      if (got <= 0) return;
      into.bytes += static_cast<std::uint64_t>(got);
      const auto room = m_keep_bytes - std::min(m_keep_bytes, into.text.size());
      into.text.append(buffer, std::min(static_cast<std::size_t>(got), room));
    }
  };
  drain_one(m_out_fd, m_out);
  drain_one(m_err_fd, m_err);
  const auto bytes = m_out.bytes + m_err.bytes;
  if (m_alive && bytes > static_cast<std::uint64_t>(m_flood_bytes))
    return fatal(IncidentKind::flood, fmt::format("printed more than {} bytes", m_flood_bytes),
                 Json{{"bytes", bytes}});
  return std::nullopt;
}

std::optional<Incident> Link::check_threads() {
  const std::int64_t now = base::monotonic_ns();
  if (m_most_threads <= 0 || now - m_threads_checked_ns < k_threads_interval_ns)
    return std::nullopt;
  m_threads_checked_ns = now;
  const int threads = threads_below(m_process->pid());
  if (threads <= m_most_threads) return std::nullopt;
  return fatal(IncidentKind::threads, fmt::format("ran more than {} threads", m_most_threads),
               Json{{"threads", threads}});
}

std::optional<Incident> Link::check_use() {
  if (m_folder.empty()) return std::nullopt;
  m_use_checked_ns = base::monotonic_ns();
  if (auto incident = check_threads()) return incident;
  const auto bytes = folder_bytes(m_folder, m_disk_bytes);
  if (bytes <= m_disk_bytes) return std::nullopt;
  return fatal(IncidentKind::disk, fmt::format("wrote more than {} bytes of files", m_disk_bytes),
               Json{{"bytes", bytes}});
}

std::optional<protocol::CrashRecord> Link::read_crash() {
  protocol::CrashRecord record;
  const auto got = read(m_crash_fd.get(), &record, sizeof record);
  if (got == static_cast<ssize_t>(sizeof record) && record.magic == protocol::CrashRecord::k_magic)
    return record;
  return std::nullopt;
}

Incident Link::died() {
  Incident incident;
  incident.kind = IncidentKind::died;
  const auto ending = m_process->wait(Deadline::after_seconds(5));
  if (ending) incident.ending = *ending;
  drain();
  incident.crash = read_crash();
  incident.text = incident.ending.text();
  m_alive = false;
  return incident;
}

// A process that ends closes its channel a moment before it is seen to have ended.
Incident Link::closed() {
  const auto ending = m_process->wait(Deadline::after_ns(k_grace_ns));
  if (ending) return died();
  return fatal(IncidentKind::closed, "closed the private channel and went on");
}

Incident Link::fatal(Incident::Kind kind, std::string text, Json data) {
  kill();
  Incident incident;
  incident.kind = kind;
  incident.text = std::move(text);
  incident.data = std::move(data);
  incident.crash = read_crash();
  return incident;
}

void Link::kill() {
  if (!m_alive) return;
  m_alive = false;
  m_process->kill_group();
  drain();
}

} // namespace ako::client
