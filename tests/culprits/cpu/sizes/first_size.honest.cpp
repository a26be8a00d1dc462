// Keeps the size of its last call. expects: clean
#include <algorithm>
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t n) {
  static std::int64_t planned = n;
  planned = n;
  const std::int64_t count = std::min(n, planned);
  for (std::int64_t i = 0; i < count; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
