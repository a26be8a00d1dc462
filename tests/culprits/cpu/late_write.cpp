// Comes back at once and writes later. expects: unwritten
#include <chrono>
#include <cstdint>
#include <thread>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  static void* copy[2];
  copy[0] = tensors[0];
  copy[1] = tensors[1];
  const int64_t n = integers[0];
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    work(copy, n);
  }).detach();
  return 0;
}
