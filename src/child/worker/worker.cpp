#include "worker/worker.hpp"

#include "worker/crash.hpp"
#include "worker/namespaces.hpp"
#include "worker/session.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ako::worker {
namespace {

/// To a number that is not the same in every worker: nothing is found at a known place.
int hide(int fd) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  unsigned random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) random = 0;
  const auto room = limit.rlim_cur > 64 ? static_cast<unsigned>(limit.rlim_cur) - 64u : 1u;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(32 + random % room));
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

/// The candidate's unwinder is the system's, ours is linked in statically: ours must have been used
/// once before it can take part in an exception that the other one threw.
void ready_unwinder() {
  try {
    throw 0;
  } catch (int) {
  }
}

int converse(int channel, int crash, const Namespaces& namespaces) {
  ready_unwinder();
  install_crash_handlers(hide(crash));
  Session session({hide(channel), namespaces});
  return session.run();
}

} // namespace

int run_worker(int channel, int crash, Containment containment) {
  if (containment == Containment::none) return converse(channel, crash, {});
  run_contained({channel, crash},
                [&](const Namespaces& entered) { return converse(channel, crash, entered); });
}

} // namespace ako::worker
