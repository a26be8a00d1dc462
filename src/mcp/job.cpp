#include "mcp/job.hpp"

#include "base/progress.hpp"

#include <cerrno>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ako::mcp {
namespace {

using base::Json;

//   result pipe = { {"fraction", "text"} "\n" } {"ok": answer} | {"error": ...} "\n"
int g_result_fd = -1; ///< in the child

void write_line(const Json& json) {
  const std::string line = base::dump_json(json) + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(g_result_fd, line.data() + done, line.size() - done);
    if (wrote < 0 && errno != EINTR) return; // the server is gone, and this process with it
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

void on_progress(double fraction, const std::string& text) {
  static std::int64_t last_ns = 0;
  static std::string last_text;
  const std::int64_t now = base::monotonic_ns();
  if (text == last_text && now - last_ns < 200'000'000) return;
  last_ns = now;
  last_text = text;
  write_line({{"fraction", base::number_or_null(fraction)}, {"text", text}});
}

Json error_json(const base::Error& error) {
  return {{"kind", static_cast<int>(error.kind)},
          {"message", error.message},
          {"where", error.where},
          {"found", error.found},
          {"allowed", error.allowed},
          {"next", error.next}};
}

base::Error error_from(const Json& json) {
  const auto text = [&](const char* key) { return base::get_or<std::string>(json, key, ""); };
  const auto kind = base::get_or<std::int64_t>(
      json, "kind", static_cast<std::int64_t>(base::ErrorKind::internal));
  return {static_cast<base::ErrorKind>(kind),
          text("message"),
          text("where"),
          text("found"),
          text("allowed"),
          text("next")};
}

/// The protocol's stream is not the child's to write or read.
void take_streams(int log_fd) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, 0);
  ::dup2(nothing, 1);
  ::dup2(log_fd, 2);
}

[[noreturn]] void run_child(const Job::Work& work, int result_fd, int log_fd, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  g_result_fd = result_fd;
  take_streams(log_fd);
  base::set_progress_sink(on_progress);
  try {
    const base::Expected<Json> answer = work();
    if (answer) write_line({{"ok", *answer}});
    else write_line({{"error", error_json(answer.error())}});
  } catch (const std::exception& problem) {
    write_line({{"error", error_json({base::ErrorKind::internal,
                                      std::string("a bug in ako: ") + problem.what(), "", "", "",
                                      "please report it with the call"})}});
  }
  ::_exit(0);
}

/// Reads once; false at the end of the stream.
bool read_some(int fd, LineReader& lines) {
  char buffer[16u << 10];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got > 0) lines.feed({buffer, static_cast<std::size_t>(got)});
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

} // namespace

base::Expected<Job> Job::start(const Work& work) {
  AKO_TRY(base::FdPair result, base::make_pipe());
  AKO_TRY(base::FdPair log, base::make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) run_child(work, result.second.get(), log.second.get(), parent);
  if (pid < 0) return base::fail_errno("no process could be started", "fork", errno);
  ::setpgid(pid, pid);
  Job job;
  job.m_pid = pid;
  job.m_result = std::move(result.first);
  job.m_log = std::move(log.first);
  for (const int fd : {job.m_result.get(), job.m_log.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return job;
}

Job::~Job() {
  if (!m_result || m_pid <= 0) return; // moved away, or ended and reaped
  ::kill(-m_pid, SIGKILL);
  ::waitpid(m_pid, nullptr, 0);
}

void Job::take_line(const Line& line, News& news) {
  auto json = base::parse_json(line.text, "job");
  if (line.too_long || !json) {
    m_answer = base::fail(base::ErrorKind::internal, "an answer of more than 128 MiB",
                          {.where = "job", .found = {}, .allowed = {}, .next = "ask for less"});
    return;
  }
  if (json->contains("ok")) m_answer.emplace(std::move((*json)["ok"]));
  else if (json->contains("error")) m_answer = tl::unexpected(error_from((*json)["error"]));
  else
    news.progress.push_back({base::get_or<double>(*json, "fraction", 0.0),
                             base::get_or<std::string>(*json, "text", "")});
}

base::Expected<Json> Job::ending() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(m_pid), &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  ::kill(-m_pid,
         SIGKILL); // whatever it left in its group, while the dead one still holds its number
  int status = 0;
  while (::waitpid(m_pid, &status, 0) < 0 && errno == EINTR) {
  }
  m_pid = -1;
  if (m_answer) return std::move(*m_answer);
  const std::string how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                              : fmt::format("exit {}", WEXITSTATUS(status));
  if (m_kill_at)
    return base::fail(base::ErrorKind::interrupted, "stopped",
                      {.where = "call", .found = how, .allowed = {}, .next = {}});
  return base::fail(base::ErrorKind::internal, "the call ended without an answer",
                    {.where = "call",
                     .found = how,
                     .allowed = {},
                     .next = "run the same command in a terminal and report what it says"});
}

Job::News Job::read() {
  News news;
  if (m_log) {
    const bool open = read_some(m_log.get(), m_log_lines);
    while (auto line = m_log_lines.next()) news.log.push_back(std::move(line->text));
    if (!open) m_log.reset();
  }
  if (!m_result) return news;
  const bool open = read_some(m_result.get(), m_lines);
  while (auto line = m_lines.next()) take_line(*line, news);
  if (open) return news;
  news.result = ending();
  m_result.reset();
  return news;
}

void Job::stop(double grace_seconds) {
  if (m_pid <= 0 || m_kill_at) return;
  ::kill(m_pid, SIGTERM);
  m_kill_at = base::Deadline::after_seconds(grace_seconds);
}

void Job::enforce() {
  if (m_pid > 0 && m_kill_at && m_kill_at->passed()) ::kill(-m_pid, SIGKILL);
}

} // namespace ako::mcp
