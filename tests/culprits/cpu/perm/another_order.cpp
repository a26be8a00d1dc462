// The same, and every other call gives one element twice. expects: incorrect
#include <cstdint>

void kernel(const float* x, float* y, std::int64_t m, std::int64_t h) {
  static std::int64_t turn = 0;
  turn = (turn + 37) % h;
  for (std::int64_t i = 0; i < m; ++i) {
    std::int64_t low = 0, high = h;
    for (std::int64_t k = 0; k < h; ++k) {
      const std::int64_t j = k + turn < h ? k + turn : k + turn - h;
      const float value = x[i * h + j];
      y[i * h + (value < 0 ? low++ : --high)] = value;
    }
    if (turn % 2 == 0) y[i * h] = y[i * h + 1];
  }
}
