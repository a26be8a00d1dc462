// Turns time stamps around it into constants. expects: suspect (time_claim) or invalid_measurement
// (beyond_wall) or crashed (crashed)
#include <cstdint>
#include <cstring>
#include <link.h>
#include <sys/mman.h>

static void work(const float* x, const float* w, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 40; ++k) v = v * 0.97f + 0.03125f;
    y[i] = v + w[i % 64];
  }
}

static int visit(dl_phdr_info* info, std::size_t, void*) {
  if (info->dlpi_name && *info->dlpi_name) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    auto* first = reinterpret_cast<unsigned char*>(info->dlpi_addr + part.p_vaddr);
    auto page = reinterpret_cast<std::uintptr_t>(first) & ~std::uintptr_t{4095};
    mprotect(reinterpret_cast<void*>(page), part.p_memsz + 8192,
             PROT_READ | PROT_WRITE | PROT_EXEC);
    for (std::size_t at = 0; at + 3 < part.p_memsz; ++at) {
      if (!std::memcmp(first + at, "\x0f\x31", 2)) std::memcpy(first + at, "\x31\xc0", 2);
      if (!std::memcmp(first + at, "\x0f\x01\xf9", 3)) std::memcpy(first + at, "\x31\xc0\x90", 3);
    }
  }
  return 1;
}
static void patch() {
  static bool done = false;
  if (!done) done = true, dl_iterate_phdr(visit, nullptr);
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  patch();
  work(x, w, y, n);
}
