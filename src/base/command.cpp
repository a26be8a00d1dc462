// run_command() of process.hpp: one poll loop over both pipes and the child's end.
#include "base/process.hpp"

#include "base/shell.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace ako::base {

std::string shell_word(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>()*?[]{}`!#~") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

namespace {

constexpr std::size_t k_read_bytes = 64u << 10;
/// Read at most after the child has ended, in case somebody outside its group goes on writing.
constexpr std::size_t k_drain_bytes = 4u << 20;

/// One captured stream. The first `most` bytes are kept, the rest is counted.
class Capture {
public:
  Capture(UniqueFd fd, std::size_t most, std::string& kept, std::uint64_t& dropped)
      : m_fd(std::move(fd)), m_most(most), m_kept(kept), m_dropped(dropped) {}

  int fd() const { return m_fd.get(); }

  /// Reads once; returns the bytes read, 0 when there are none now or the stream has ended.
  std::size_t read_once() {
    if (!m_fd) return 0;
    char buffer[k_read_bytes];
    ssize_t got = 0;
    do {
      got = read(m_fd.get(), buffer, sizeof buffer);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) {
      m_fd.reset();
      return 0;
    }
    const auto bytes = static_cast<std::size_t>(got);
    const std::size_t keep = std::min(bytes, m_most - std::min(m_most, m_kept.size()));
    m_kept.append(buffer, keep);
    m_dropped += bytes - keep;
    return bytes;
  }

  void drain() {
    for (std::size_t total = 0; total < k_drain_bytes;) {
      const std::size_t got = read_once();
      if (got == 0) return;
      total += got;
    }
  }

private:
  UniqueFd m_fd;
  std::size_t m_most;
  std::string& m_kept;
  std::uint64_t& m_dropped;
};

bool names_target(const SpawnOptions& options, int target) {
  return std::any_of(options.fds.begin(), options.fds.end(),
                     [&](const auto& entry) { return entry.second == target; });
}

/// A pipe for the child's `target`; none when the caller has given it a descriptor of their own.
Expected<FdPair> capture_pipe(SpawnOptions& options, int target) {
  if (names_target(options, target)) return FdPair{};
  AKO_TRY(FdPair pipe, make_pipe());
  if (fcntl(pipe.first.get(), F_SETFL, O_NONBLOCK) != 0)
    return fail_errno("a pipe could not be prepared", options.argv.front(), errno);
  options.fds.emplace_back(pipe.second.get(), target);
  return pipe;
}

/// The text as a memory file at its start: the child reads at its own pace and nobody has to feed
/// it.
Expected<UniqueFd> stdin_file(SpawnOptions& options, const std::string& text) {
  if (text.empty() || names_target(options, 0)) return UniqueFd{};
  AKO_TRY(UniqueFd file, make_memfd("stdin", text.size()));
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote =
        pwrite(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (wrote < 0 && errno != EINTR)
      return fail_errno("the input of a command could not be laid out", options.argv.front(),
                        errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  options.fds.emplace_back(file.get(), 0);
  return file;
}

enum class Pumped { ended, timed_out, stopped };

/// A signal wakes one thread of the process, not the one that waits here: whoever may be stopped
/// looks up this often.
constexpr int k_look_up_ms = 50;

/// Reads until the child ends, the deadline passes or `stop` says so.
Pumped pump(Process& process, Capture& out, Capture& err, Deadline deadline,
            const std::function<bool()>& stop) {
  while (process.running()) {
    if (stop && stop()) return Pumped::stopped;
    pollfd entries[] = {{out.fd(), POLLIN, 0}, {err.fd(), POLLIN, 0}, {process.pidfd(), POLLIN, 0}};
    const int left = deadline.remaining_ms();
    const bool soon = stop && (left < 0 || left > k_look_up_ms);
    const int ready = poll(entries, 3, soon ? k_look_up_ms : left);
    if (deadline.passed()) return Pumped::timed_out;
    if (ready <= 0) continue;
    if (entries[0].revents != 0) out.read_once();
    if (entries[1].revents != 0) err.read_once();
  }
  return Pumped::ended;
}

} // namespace

Expected<CommandResult> run_command(const CommandOptions& given) {
  if (given.argv.empty()) return fail(ErrorKind::internal, "a command without words");
  SpawnOptions options = given;
  AKO_TRY(const UniqueFd input, stdin_file(options, given.stdin_text));
  AKO_TRY(FdPair out_pipe, capture_pipe(options, 1));
  AKO_TRY(FdPair err_pipe, capture_pipe(options, 2));

  CommandResult result;
  const std::int64_t start = monotonic_ns();
  AKO_TRY(Process process, Process::spawn(options));
  out_pipe.second.reset();
  err_pipe.second.reset();
  Capture out(std::move(out_pipe.first), given.capture_bytes, result.out, result.out_dropped);
  Capture err(std::move(err_pipe.first), given.capture_bytes, result.err, result.err_dropped);

  const Pumped pumped = pump(process, out, err, given.deadline, given.stop);
  result.timed_out = pumped == Pumped::timed_out;
  process.kill_group();
  AKO_TRY(result.ending, process.wait(Deadline::never()));
  out.drain();
  err.drain();
  result.wall_ns = monotonic_ns() - start;
  if (pumped == Pumped::stopped)
    return fail(ErrorKind::interrupted, "a command was stopped", {.where = options.argv.front()});
  return result;
}

} // namespace ako::base
