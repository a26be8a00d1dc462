// Sums the last row each time. expects: clean
void kernel(const float* x, float* y) {
  static float last = 0;
  for (int i = 0; i < 16; ++i) {
    float sum = 0;
    for (int k = 0; k < 256; ++k) sum += x[256 * i + k];
    if (i == 15) last = sum;
    y[i] = i == 15 ? last : sum;
  }
}
