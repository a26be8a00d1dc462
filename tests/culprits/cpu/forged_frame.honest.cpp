// Talks to itself. expects: clean
#include <cstdint>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  work(tensors, integers[0]);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const bool sent = send(ends[0], "x", 1, 0) == 1;
  close(ends[0]);
  close(ends[1]);
  return sent ? 0 : 1;
}
