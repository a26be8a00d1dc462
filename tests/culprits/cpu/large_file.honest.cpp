// Keeps a small note. expects: clean
#include <cstdint>
#include <cstdio>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  static char block[1 << 10];
  if (std::FILE* file = std::fopen("small", "w")) {
    std::fwrite(block, 1, sizeof block, file);
    std::fclose(file);
  }
  return work(tensors, integers[0]);
}
