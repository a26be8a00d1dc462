#include "worker/process_state.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ako::worker {
namespace {

constexpr std::uint32_t k_rounding_bits = 0x6000, k_flush_bits = 0x8040, k_sticky_bits = 0x3f;

std::uint32_t float_control() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~k_sticky_bits;
#else
  return 0;
#endif
}

void set_float_control([[maybe_unused]] std::uint32_t value) {
#if defined(__x86_64__)
  _mm_setcsr(value);
#endif
}

std::uint64_t environment_sum() {
  std::uint64_t sum = 14695981039346656037u;
  for (char** entry = environ; entry && *entry; ++entry) {
    for (const char* at = *entry; *at; ++at)
      sum = (sum ^ static_cast<unsigned char>(*at)) * 1099511628211u;
    sum = (sum ^ 0xffu) * 1099511628211u;
  }
  return sum;
}

unsigned current_umask() {
  const auto mask = umask(0);
  umask(mask);
  return mask;
}

std::string current_folder() {
  char path[4096];
  return getcwd(path, sizeof path) ? path : "";
}

bool same_action(const struct sigaction& a, const struct sigaction& b) {
  constexpr int k_restorer = 0x04000000; // set by the C library, not by the caller
  return a.sa_handler == b.sa_handler && (a.sa_flags | k_restorer) == (b.sa_flags | k_restorer);
}

bool timers_armed_and_stopped() {
  bool armed = false;
  for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval left{}, none{};
    if (getitimer(which, &left) == 0 && (left.it_value.tv_sec || left.it_value.tv_usec)) {
      armed = true;
      setitimer(which, &none, nullptr);
    }
  }
  return armed;
}

} // namespace

ProcessState ProcessState::capture() {
  ProcessState state;
  state.m_cwd = current_folder();
  for (int signal = 1; signal < NSIG; ++signal) {
    auto& action = state.m_actions[static_cast<std::size_t>(signal)];
    std::memset(&action, 0, sizeof action);
    sigaction(signal, nullptr, &action);
  }
  state.m_float_control = float_control();
  state.m_environment = environment_sum();
  state.m_umask = current_umask();
  sched_getaffinity(0, sizeof state.m_affinity, &state.m_affinity);
  for (int i = 0; i < RLIM_NLIMITS; ++i)
    getrlimit(static_cast<__rlimit_resource>(i), &state.m_limits[static_cast<std::size_t>(i)]);
  return state;
}

std::vector<std::string> ProcessState::restore() const {
  std::vector<std::string> changed;
  const auto float_now = float_control();
  if ((float_now ^ m_float_control) & k_rounding_bits) changed.emplace_back("rounding");
  if ((float_now ^ m_float_control) & k_flush_bits) changed.emplace_back("flush_to_zero");
  if (float_now != m_float_control) set_float_control(m_float_control);

  if (current_folder() != m_cwd) {
    changed.emplace_back("cwd");
    if (chdir(m_cwd.c_str()) != 0) changed.emplace_back("cwd_lost");
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    const auto& action = m_actions[static_cast<std::size_t>(signal)];
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || same_action(now, action)) continue;
    changed.push_back(fmt::format("signal:{}", signal));
    sigaction(signal, &action, nullptr);
  }
  if (timers_armed_and_stopped()) changed.emplace_back("timer");
  if (current_umask() != m_umask) {
    changed.emplace_back("umask");
    umask(m_umask);
  }
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  sched_getaffinity(0, sizeof affinity, &affinity);
  if (!CPU_EQUAL(&affinity, &m_affinity)) {
    changed.emplace_back("affinity");
    sched_setaffinity(0, sizeof m_affinity, &m_affinity);
  }
  if (environment_sum() != m_environment) changed.emplace_back("environment"); // not put back
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    const auto& limit = m_limits[static_cast<std::size_t>(i)];
    rlimit now{};
    getrlimit(static_cast<__rlimit_resource>(i), &now);
    if (now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max) continue;
    changed.emplace_back("rlimit");
    setrlimit(static_cast<__rlimit_resource>(i), &limit);
  }
  return changed;
}

int thread_count() {
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[1024];
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return -1;
  text[got] = 0;
  // The name in parentheses may hold anything: count fields from its end. Threads are the 20th.
  const char* at = std::strrchr(text, ')');
  if (!at) return -1;
  int threads = -1;
  std::sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
              &threads);
  return threads;
}

int child_count() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? 1 : 0;
}

} // namespace ako::worker
