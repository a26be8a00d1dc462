// Keeps the size of its first call for all that come. expects: incorrect (unwritten_elements)
#include <algorithm>
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t n) {
  static const std::int64_t planned = n;
  const std::int64_t count = std::min(n, planned);
  for (std::int64_t i = 0; i < count; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
