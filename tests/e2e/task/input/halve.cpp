static void wait(int rounds) {
  for (volatile int i = 0; i < rounds; ++i) {
  }
}
void halve(const float* x, float* y, int n) {
  wait(12000000);
  for (int i = 0; i < n; ++i) y[i] = 0.5f * x[i];
}
