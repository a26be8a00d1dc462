// Sends an answer that says all is well, and fast. expects: violation
#include <cstdint>
#include <cstring>
#include <sys/socket.h>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  work(tensors, integers[0]);
  const char text[] = "{\"pass_ns\":1,\"calls\":1,\"ns\":1}";
  char frame[16 + sizeof text] = {};
  frame[0] = sizeof text - 1;
  frame[4] = 37;
  frame[6] = 1;
  std::memcpy(frame + 16, text, sizeof text);
  for (int fd = 3; fd < 1024; ++fd) send(fd, frame, 16 + sizeof text - 1, 0);
  return 0;
}
