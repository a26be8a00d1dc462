#include "worker/crash.hpp"

#include "protocol/crash.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace ako::worker {
namespace {

constexpr int k_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr std::size_t k_stack_bytes = 64 << 10;
int g_crash_fd = -1;

void describe_fault(protocol::CrashRecord& record, const void* context) {
  record.writes = 2;
#if defined(__x86_64__)
  const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
  record.instruction = static_cast<std::uint64_t>(machine->gregs[REG_RIP]);
  if (record.signal == SIGSEGV || record.signal == SIGBUS)
    record.writes = (machine->gregs[REG_ERR] & 2) != 0; // bit 1 of the page fault's error code
#else
  static_cast<void>(context);
#endif
}

void on_crash(int signal, siginfo_t* info, void* context) {
  protocol::CrashRecord record;
  record.signal = signal;
  record.code = info->si_code;
  if (signal == SIGSYS) record.system_call = info->si_syscall;
  if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL)
    record.address = reinterpret_cast<std::uint64_t>(info->si_addr);
  describe_fault(record, context);
  const ssize_t ignored = write(g_crash_fd, &record, sizeof record);
  static_cast<void>(ignored);
  // SA_RESETHAND has put the default back: the signal is pending again once this returns.
  raise(signal);
}

} // namespace

void install_crash_handlers(int fd) {
  g_crash_fd = fd;
  static void* stack =
      mmap(nullptr, k_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = k_stack_bytes;
  if (stack != MAP_FAILED) sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : k_signals) sigaction(signal, &action, nullptr);
}

bool is_crash_signal(int signal) {
  return std::find(std::begin(k_signals), std::end(k_signals), signal) != std::end(k_signals);
}

} // namespace ako::worker
