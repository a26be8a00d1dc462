#include "worker/worker.hpp"

#include "protocol/crash.hpp"
#include "worker/crash.hpp"
#include "worker/guest.hpp"
#include "worker/namespaces.hpp"
#include "worker/session.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sstream>
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

int converse(int channel, int crash, const Namespaces& namespaces, const Guest* guest = nullptr) {
  ready_unwinder();
  install_crash_handlers(hide(crash));
  Session session({hide(channel), namespaces, guest});
  return session.run();
}

struct Word {
  const char* text;
  bool Namespaces::*member;
};
constexpr Word k_words[] = {{"user", &Namespaces::user},
                            {"pid", &Namespaces::pid},
                            {"network", &Namespaces::network},
                            {"ipc", &Namespaces::ipc},
                            {"mount", &Namespaces::mount}};

/// Only comes back when the host cannot be started.
int become(const std::vector<std::string>& host, const Namespaces& namespaces) {
  std::string entered;
  for (const auto& word : k_words)
    if (namespaces.*word.member) entered += (entered.empty() ? "" : ",") + std::string(word.text);
  setenv("AKO_NAMESPACES", entered.c_str(), 1);
  std::vector<char*> argv;
  for (const auto& word : host) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  std::fprintf(stderr, "%s cannot be started: %s\n", argv[0], std::strerror(errno));
  return protocol::k_exit_setup_failed;
}

} // namespace

int run_worker(int channel, int crash, Containment containment,
               const std::vector<std::string>& host) {
  const auto body = [&](const Namespaces& entered) {
    return host.empty() ? converse(channel, crash, entered) : become(host, entered);
  };
  if (containment == Containment::none) return body({});
  run_contained({channel, crash}, body);
}

int run_guest(int channel, int crash, const std::string& namespaces, const Guest& guest) {
  Namespaces entered;
  std::istringstream words(namespaces);
  for (std::string text; std::getline(words, text, ',');)
    for (const auto& word : k_words)
      if (text == word.text) entered.*word.member = true;
  return converse(channel, crash, entered, &guest);
}

} // namespace ako::worker
