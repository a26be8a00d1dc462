// A CUDA driver whose device memory is the host's. Writes the order of its calls to $FAKE_CUDA_LOG.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int say(const char* call) {
  if (const char* path = std::getenv("FAKE_CUDA_LOG"))
    if (FILE* file = std::fopen(path, "a")) std::fprintf(file, "%s\n", call), std::fclose(file);
  const char* failing = std::getenv("FAKE_CUDA_FAILS");
  return failing && std::strcmp(failing, call) == 0 ? 2 : 0;
}

} // namespace

using Pointer = unsigned long long;
extern "C" {
int cuInit(unsigned) { return say("init"); }
int cuDeviceGetCount(int* count) { return *count = 2, 0; }
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetUuid(unsigned char* uuid, int device) {
  std::memset(uuid, 0xA0 + device, 16);
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = nullptr;
  return say(device == 0 ? "context 0" : "context 1");
}
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return say("wait"); }
int cuStreamCreate(void** stream, unsigned) { return *stream = nullptr, 0; }
int cuMemAlloc_v2(Pointer* at, std::size_t bytes) {
  *at = reinterpret_cast<Pointer>(std::malloc(bytes));
  return say("allocate");
}
int cuMemFree_v2(Pointer at) {
  std::free(reinterpret_cast<void*>(at));
  return say("free");
}
int cuMemsetD8_v2(Pointer at, unsigned char value, std::size_t bytes) {
  std::memset(reinterpret_cast<void*>(at), value, bytes);
  return 0;
}
int cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuProfilerStart() { return say("start"); }
int cuProfilerStop() { return say("stop"); }
}
