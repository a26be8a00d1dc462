void halve(const float* x, double* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 0.5 * x[i];
}
