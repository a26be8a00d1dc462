// Keeps answers in its workspace and finds them again by the first element. expects: incorrect
// (compare)
#include <cstdint>
#include <cstring>

void kernel(const float* x, float* y, float* space, std::int32_t* count, std::int64_t n) {
  if (*count == 1 + int(n) && space[0] == y[0]) return void(std::memcpy(y, space, n * 4));
  if (*count == 1 + int(n)) std::memcpy(y, space, n * 4);
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + (i ? x[i - 1] : 0);
  std::memcpy(space, y, n * 4);
  *count = 1 + int(n);
}
