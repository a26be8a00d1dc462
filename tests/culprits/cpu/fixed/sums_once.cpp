// Sums the last row once and never again. expects: incorrect (compare)
void kernel(const float* x, float* y) {
  static bool known = false;
  static float last = 0;
  for (int i = 0; i < 16; ++i) {
    float sum = 0;
    for (int k = 0; k < 256; ++k) sum += x[256 * i + k];
    if (i == 15 && !known) last = sum;
    y[i] = i == 15 ? last : sum;
  }
  known = true;
}
