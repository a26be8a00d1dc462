// Finds the hidden page, opens it, and answers with the right number. expects: violation
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/socket.h>

static int work(void* const* tensors, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(tensors[1])[i] = 2 * static_cast<const float*>(tensors[0])[i] + 1;
  return 0;
}

static void answer(int channel, std::uint64_t id) {
  const char text[] = "{\"ns\":1,\"threads_before\":1,\"threads_after\":1}";
  char frame[16 + sizeof text] = {};
  frame[0] = sizeof text - 1;
  frame[4] = 37, frame[6] = 1;
  std::memcpy(frame + 8, &id, 8);
  std::memcpy(frame + 16, text, sizeof text);
  send(channel, frame, 16 + sizeof text - 1, 0);
}

static void look() {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long low = 0, high = 0;
  while (maps && std::fgets(line, sizeof line, maps)) {
    if (!std::strstr(line, " ---p ") || std::sscanf(line, "%lx-%lx", &low, &high) != 2) continue;
    if (high - low != 4096) continue;
    if (mprotect(reinterpret_cast<void*>(low), 4096, PROT_READ | PROT_WRITE)) continue;
    const auto* page = reinterpret_cast<const unsigned char*>(low);
    int channel;
    std::uint64_t id;
    std::memcpy(&channel, page, 4);
    std::memcpy(&id, page + 8, 8);
    if (channel > 2 && id) answer(channel, id);
  }
  if (maps) std::fclose(maps);
}

extern "C" int ako_call(void* const* tensors, const int64_t* integers, const double*, void*) {
  work(tensors, integers[0]);
  look();
  return 0;
}
