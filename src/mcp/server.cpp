#include "mcp/server.hpp"

#include "mcp/session.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "loop/interrupt.hpp"

namespace ako::mcp {
namespace {

/// A line may hold a whole source file, not a whole trace.
constexpr std::size_t k_most_line = 8u << 20;
/// Past this the client is not reading: nothing more is taken from it until it does.
constexpr std::size_t k_most_waiting = 16u << 20;
/// A pipe that poll() calls writable takes this much without blocking.
constexpr std::size_t k_write_bytes = 4096;
constexpr double k_farewell_seconds = 1.5;
/// Then, for those who wait yet, to be told that no answer comes.
constexpr double k_last_seconds = 0.5;

class Loop {
public:
  Loop(const Site& site, int in_fd, int out_fd)
      : m_session(site, [this](const base::Json& message) { send(message); }), m_in(in_fd),
        m_out(out_fd), m_lines(k_most_line) {}

  base::Expected<Ended> run() {
    std::optional<Ended> why;
    std::optional<base::Deadline> until;
    while (true) {
      if (!why && loop::interrupted()) why = Ended::signalled;
      if (!why && m_in_ended) why = Ended::end_of_input;
      if (m_out_lost) why = Ended::output_lost;
      if (why && !until) {
        until = base::Deadline::after_seconds(k_farewell_seconds);
        m_session.farewell(*why == Ended::end_of_input ? Session::Farewell::let_readers_end
                                                       : Session::Farewell::stop_all);
      }
      const bool idle = m_session.open_calls() == 0 && (m_waiting.empty() || m_out_lost);
      if (why && idle) return *why;
      if (until && until->passed()) {
        if (m_session.open_calls() == 0) return *why; // the client does not read
        m_session.abandon();
        until = base::Deadline::after_seconds(k_last_seconds);
      }
      AKO_TRY_STATUS(turn(why.has_value()));
    }
  }

private:
  void send(const base::Json& message) {
    if (!m_out_lost) m_waiting += base::dump_json(message) + "\n";
  }

  base::Status turn(bool ending) {
    std::vector<pollfd> fds;
    const bool listens = !ending && !m_in_ended && m_waiting.size() < k_most_waiting;
    fds.push_back({listens ? m_in : -1, POLLIN, 0});
    fds.push_back(
        {m_out_lost ? -1 : m_out, static_cast<short>(m_waiting.empty() ? 0 : POLLOUT), 0});
    m_session.add_descriptors(fds);
    if (::poll(fds.data(), fds.size(), ending ? 50 : 500) < 0 && errno != EINTR)
      return base::fail_errno("waiting for input failed", "poll", errno);
    if (fds[0].revents != 0) take_input();
    if (fds[1].revents != 0) put_output(fds[1].revents);
    m_session.read_jobs();
    return {};
  }

  void take_input() {
    char buffer[64u << 10];
    const ssize_t got = ::read(m_in, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      m_in_ended = true;
      if (const std::string rest = m_lines.rest(); !rest.empty()) m_session.take_rest(rest);
      return;
    }
    m_lines.feed({buffer, static_cast<std::size_t>(got)});
    while (auto line = m_lines.next()) m_session.take_line(*line, k_most_line);
  }

  void put_output(short events) {
    if ((events & (POLLERR | POLLNVAL)) != 0) {
      m_out_lost = true;
      return;
    }
    if (m_waiting.empty()) return;
    const ssize_t wrote = ::write(m_out, m_waiting.data() + m_sent,
                                  std::min(k_write_bytes, m_waiting.size() - m_sent));
    if (wrote < 0 && errno != EINTR && errno != EAGAIN) m_out_lost = true;
    if (wrote > 0) m_sent += static_cast<std::size_t>(wrote);
    if (m_sent < m_waiting.size() && m_sent < (1u << 20)) return;
    m_waiting.erase(0, m_sent);
    m_sent = 0;
    if (m_waiting.empty()) m_waiting.shrink_to_fit();
  }

  Session m_session;
  int m_in, m_out;
  LineReader m_lines;
  std::string m_waiting; ///< written from m_sent on
  std::size_t m_sent = 0;
  bool m_in_ended = false, m_out_lost = false;
};

} // namespace

base::Expected<Ended> serve(const Site& site, int in_fd, int out_fd) {
  return Loop(site, in_fd, out_fd).run();
}

} // namespace ako::mcp
