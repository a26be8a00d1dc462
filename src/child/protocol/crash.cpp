#include "protocol/crash.hpp"

#include <sys/syscall.h>

namespace ako::protocol {
namespace {

struct Name {
  long number;
  const char* text;
};
constexpr Name k_names[] = {
#define AKO_X(name)                                                                                \
  { SYS_##name, #name }
    AKO_X(ptrace),
    AKO_X(process_vm_readv),
    AKO_X(process_vm_writev),
    AKO_X(mount),
    AKO_X(umount2),
    AKO_X(pivot_root),
    AKO_X(chroot),
    AKO_X(setns),
    AKO_X(unshare),
    AKO_X(bpf),
    AKO_X(userfaultfd),
    AKO_X(perf_event_open),
    AKO_X(keyctl),
    AKO_X(add_key),
    AKO_X(request_key),
    AKO_X(init_module),
    AKO_X(finit_module),
    AKO_X(delete_module),
    AKO_X(kexec_load),
    AKO_X(reboot),
    AKO_X(settimeofday),
    AKO_X(clock_settime),
    AKO_X(clock_adjtime),
    AKO_X(adjtimex),
    AKO_X(execve),
    AKO_X(execveat),
    AKO_X(clone),
    AKO_X(kill),
    AKO_X(tkill),
    AKO_X(tgkill),
    AKO_X(rt_sigqueueinfo),
    AKO_X(kcmp),
    AKO_X(pidfd_send_signal),
    AKO_X(rt_tgsigqueueinfo),
    AKO_X(open_by_handle_at),
#ifdef SYS_fork
    AKO_X(fork),
    AKO_X(vfork),
#endif
#ifdef SYS_pidfd_getfd
    AKO_X(pidfd_getfd),
#endif
#ifdef SYS_iopl
    AKO_X(iopl),
    AKO_X(ioperm),
#endif
#undef AKO_X
};

} // namespace

const char* system_call_name(int number) {
  for (const auto& name : k_names)
    if (name.number == number) return name.text;
  return "";
}

} // namespace ako::protocol
