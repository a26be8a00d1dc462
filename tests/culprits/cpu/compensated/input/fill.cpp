#include <cstdint>

// The second half of a row is the first, negated, and a little off: what is left is a thousandth.
int fill(void* data, std::int64_t bytes, const std::int64_t* shape, int rank, std::uint64_t seed) {
  auto* x = static_cast<float*>(data);
  const std::int64_t length = shape[rank - 1], half = length / 2, rows = bytes / 4 / length;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  const auto unit = [&] {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return float(state >> 40) / 16777216.0f;
  };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < half; ++j) {
      x[i * length + j] = 1 + unit();
      x[i * length + half + j] = -x[i * length + j] * (1 + (unit() - 0.25f) / 512);
    }
  return 0;
}
