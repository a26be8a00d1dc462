// Traps time stamps and answers with a slower clock. expects: crashed (crashed) or suspect
// (process_state)
#include <csignal>
#include <cstdint>
#include <ctime>
#include <sys/prctl.h>
#include <ucontext.h>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

static void on_trap(int, siginfo_t*, void* raw) {
  auto& all = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t slow = (now.tv_sec * 1000000000ull + now.tv_nsec) / 4;
  all[REG_RAX] = slow & 0xffffffffu, all[REG_RDX] = slow >> 32;
  const auto* at = reinterpret_cast<const unsigned char*>(all[REG_RIP]);
  all[REG_RIP] += at[1] == 0x31 ? 2 : 3;
}
static void install() {
  struct sigaction action = {};
  action.sa_sigaction = on_trap, action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  install();
  work(x, w, y, n);
}
