#include "measure/counters.hpp"

#include <cstring>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ako::measure {

void Counters::open() {
  constexpr std::uint64_t k_events[3] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                         PERF_COUNT_HW_CACHE_MISSES};
  for (int i = 0; i < 3; ++i) {
    perf_event_attr attr;
    std::memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = k_events[i];
    attr.disabled = 1;
    attr.inherit = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    m_fds[i] =
        static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  }
}

Counters::~Counters() {
  for (const int fd : m_fds)
    if (fd >= 0) close(fd);
}

void Counters::reset() const {
  for (const int fd : m_fds)
    if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_RESET, 0);
}

void Counters::start() const {
  for (const int fd : m_fds)
    if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

void Counters::stop() const {
  for (const int fd : m_fds)
    if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

void Counters::read(std::uint64_t (&values)[3]) const {
  for (int i = 0; i < 3; ++i) {
    values[i] = k_unknown;
    std::uint64_t value = 0;
    if (m_fds[i] >= 0 && ::read(m_fds[i], &value, sizeof value) == sizeof value) values[i] = value;
  }
}

} // namespace ako::measure
