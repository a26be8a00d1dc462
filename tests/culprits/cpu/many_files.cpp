// Fills the disk with many files. expects: disk_filled
#include <cstdint>
#include <cstdio>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  static char block[1 << 20];
  char name[32];
  for (int i = 0; i < 1 << 14; ++i) {
    std::snprintf(name, sizeof name, "f%d", i);
    std::FILE* file = std::fopen(name, "w");
    if (!file) return 3;
    std::fwrite(block, 1, sizeof block, file);
    std::fclose(file);
  }
  return work(tensors, integers[0]);
}
