// Looks for what it must not read or write; 42 when it can. expects: clean
#include <cstdint>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  for (const char* path :
       {"/etc/passwd", "/etc/hostname", "/root", "/home", "..", "/tmp", "/proc/1/environ"})
    if (open(path, O_RDONLY) >= 0) return 42;
  for (const char* path : {"/tmp/mark", "../mark", "/dev/shm/mark", "/var/tmp/mark"})
    if (open(path, O_WRONLY | O_CREAT, 0600) >= 0) return 42;
  return work(tensors, integers[0]);
}
