#include <cstdint>

void reference(const std::int32_t* x, std::int32_t* at, std::int64_t m, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    const std::int32_t* row = x + i * k;
    std::int32_t* best = at + i * 8;
    for (int found = 0; found < 8; ++found) {
      std::int64_t next = -1;
      for (std::int64_t j = 0; j < k; ++j) {
        bool taken = false;
        for (int b = 0; b < found; ++b) taken = taken || best[b] == j;
        if (!taken && (next < 0 || row[j] > row[next])) next = j;
      }
      best[found] = std::int32_t(next);
    }
  }
}
