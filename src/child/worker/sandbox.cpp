// Privileges, limits and system calls.
#include "worker/sandbox.hpp"

#include "protocol/addresses.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ako::worker {
namespace {

void drop_capabilities() {
  for (int capability = 0; capability <= 63; ++capability)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno == EINVAL) break;
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  syscall(SYS_capset, &header, none);
}

void set_limit(int resource, rlim_t value) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  limit.rlim_max = value < limit.rlim_max ? value : limit.rlim_max;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// No kernel does these: the worker ends with the call's name.
constexpr const char* k_forbidden[] = {"ptrace",
                                       "process_vm_readv",
                                       "process_vm_writev",
                                       "process_madvise",
                                       "process_mrelease",
                                       "pidfd_getfd",
                                       "pidfd_send_signal",
                                       "kcmp",
                                       "mount",
                                       "umount2",
                                       "pivot_root",
                                       "chroot",
                                       "open_tree",
                                       "move_mount",
                                       "fsopen",
                                       "fsconfig",
                                       "fsmount",
                                       "fspick",
                                       "mount_setattr",
                                       "setns",
                                       "unshare",
                                       "bpf",
                                       "userfaultfd",
                                       "perf_event_open",
                                       "keyctl",
                                       "add_key",
                                       "request_key",
                                       "init_module",
                                       "finit_module",
                                       "delete_module",
                                       "kexec_load",
                                       "kexec_file_load",
                                       "reboot",
                                       "swapon",
                                       "swapoff",
                                       "settimeofday",
                                       "clock_settime",
                                       "clock_adjtime",
                                       "adjtimex",
                                       "sethostname",
                                       "setdomainname",
                                       "open_by_handle_at",
                                       "iopl",
                                       "ioperm",
                                       "tkill",
                                       "fanotify_init",
                                       "lookup_dcookie",
                                       "quotactl",
                                       "acct"};

// Nor these, unless it compiles while it runs.
constexpr const char* k_processes[] = {"execve", "execveat", "fork", "vfork"};

// Honest libraries try these and have a way without.
struct Refused {
  const char* name;
  int error;
};
constexpr Refused k_refused[] = {{"clone3", ENOSYS},         {"io_uring_setup", ENOSYS},
                                 {"io_uring_enter", ENOSYS}, {"io_uring_register", ENOSYS},
                                 {"socket", EACCES},         {"setpgid", EPERM},
                                 {"setsid", EPERM},          {"shmget", EPERM},
                                 {"msgget", EPERM},          {"semget", EPERM},
                                 {"personality", EPERM}};

void add(scmp_filter_ctx filter, std::uint32_t action, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number != __NR_SCMP_ERROR) seccomp_rule_add(filter, action, number, 0);
}

void add_conditional(scmp_filter_ctx filter, Processes processes) {
  const auto self = static_cast<scmp_datum_t>(getpid());
  const auto forbid = [filter](int number, scmp_arg_cmp when) {
    seccomp_rule_add(filter, SCMP_ACT_TRAP, number, 1, when);
  };
  // Signals to itself are its own business; to anybody else they are not.
  forbid(SCMP_SYS(kill), SCMP_A0(SCMP_CMP_NE, self));
  forbid(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_NE, self));
  forbid(SCMP_SYS(rt_sigqueueinfo), SCMP_A0(SCMP_CMP_NE, self));
  forbid(SCMP_SYS(rt_tgsigqueueinfo), SCMP_A0(SCMP_CMP_NE, self));
  // Threads, not processes.
  if (processes == Processes::forbidden)
    forbid(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  // The handler that names the forbidden call stays.
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(rt_sigaction), 2,
                   SCMP_A0(SCMP_CMP_EQ, SIGSYS), SCMP_A1(SCMP_CMP_NE, 0));
}

} // namespace

bool restrict_system_calls(Processes processes) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) return false;
  for (const char* name : k_forbidden) add(filter, SCMP_ACT_TRAP, name);
  if (processes == Processes::forbidden)
    for (const char* name : k_processes) add(filter, SCMP_ACT_TRAP, name);
  for (const auto& refused : k_refused)
    add(filter, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(refused.error)), refused.name);
  add_conditional(filter, processes);
  const bool done = seccomp_load(filter) == 0;
  seccomp_release(filter);
  return done;
}

namespace {

/// Calls by which a mapping is made, moved, changed or given back, with its address and length.
constexpr const char* k_mapping_calls[] = {"mmap",    "munmap", "mprotect",        "pkey_mprotect",
                                           "madvise", "mremap", "remap_file_pages"};

void seal_eviction(scmp_filter_ctx filter) {
  using protocol::k_evict_address;
  using protocol::k_evict_range;
  constexpr scmp_datum_t mask = ~(k_evict_range - 1);
  const auto refuse = [filter](int number, std::initializer_list<scmp_arg_cmp> when) {
    seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), number,
                           static_cast<unsigned>(when.size()), when.begin());
  };
  // The range and one as large below it, where nothing lies: what begins further below would have
  // to be longer than that to reach into it.
  for (const std::uint64_t at : {k_evict_address, k_evict_address - k_evict_range}) {
    for (const char* name : k_mapping_calls)
      refuse(seccomp_syscall_resolve_name(name), {SCMP_A0(SCMP_CMP_MASKED_EQ, mask, at)});
    refuse(SCMP_SYS(mremap), {SCMP_A4(SCMP_CMP_MASKED_EQ, mask, at),
                              SCMP_A3(SCMP_CMP_MASKED_EQ, MREMAP_FIXED, MREMAP_FIXED)});
  }
  for (const char* name : k_mapping_calls)
    refuse(seccomp_syscall_resolve_name(name),
           {SCMP_A0(SCMP_CMP_NE, 0), SCMP_A1(SCMP_CMP_GT, k_evict_range)});
  refuse(SCMP_SYS(mremap), {SCMP_A2(SCMP_CMP_GT, k_evict_range),
                            SCMP_A3(SCMP_CMP_MASKED_EQ, MREMAP_FIXED, MREMAP_FIXED)});
}

} // namespace

bool seal_memory(Eviction eviction) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) return false;
  for (const char* name : {"seccomp", "shmat"}) add(filter, SCMP_ACT_ERRNO(EPERM), name);
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1,
                   SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(madvise), 1,
                   SCMP_A2(SCMP_CMP_EQ, MADV_REMOVE));
  if (eviction == Eviction::mapped) seal_eviction(filter);
  const bool done = seccomp_load(filter) == 0;
  seccomp_release(filter);
  return done;
}

SandboxState enter_sandbox(const SandboxPlan& plan) {
  SandboxState state;
  if (plan.file_bytes > 0) set_limit(RLIMIT_FSIZE, plan.file_bytes);
  set_limit(RLIMIT_CORE, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  drop_capabilities();
  state.landlock = restrict_files(plan);
  state.seccomp = restrict_system_calls(plan.processes);
  return state;
}

} // namespace ako::worker
