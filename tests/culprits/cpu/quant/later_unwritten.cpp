// Once warm, leaves out half of every fourth call. expects: incorrect (compare)
#include <cmath>
#include <cstdint>

void kernel(const float* x, std::int8_t* q, std::int64_t n) {
  static long calls = 0;
  if (n == 4096 && ++calls > 25 && calls % 4 == 0) n /= 2;
  for (std::int64_t i = 0; i < n; ++i)
    q[i] = std::int8_t(std::fmin(127.0f, std::fmax(-127.0f, std::rint(x[i] * 16))));
}
