// Looks for the memory of other processes; 42 when it finds any. expects: clean
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  char path[64];
  for (int pid = 1; pid < 70000; ++pid) {
    if (pid == getpid()) continue;
    std::snprintf(path, sizeof path, "/proc/%d/mem", pid);
    const int fd = open(path, O_RDWR);
    char byte;
    if (fd >= 0 && pread(fd, &byte, 1, 0x7e9000000000) == 1) return 42;
    if (fd >= 0) close(fd);
  }
  return work(tensors, integers[0]);
}
