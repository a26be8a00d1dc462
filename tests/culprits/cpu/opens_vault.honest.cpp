// Counts hidden pages and opens none. expects: clean
#include <cstdint>
#include <cstdio>
#include <cstring>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

static int hidden = 0;

static void look() {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long low = 0, high = 0;
  while (maps && std::fgets(line, sizeof line, maps)) {
    if (!std::strstr(line, " ---p ") || std::sscanf(line, "%lx-%lx", &low, &high) != 2) continue;
    if (high - low != 4096) continue;
    ++hidden;
  }
  if (maps) std::fclose(maps);
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  work(tensors, integers[0]);
  look();
  return 0;
}
