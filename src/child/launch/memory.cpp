// Host memory, and a device's through the CUDA driver found at run time.
#include "launch/job.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>

namespace ako::launch {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;

namespace {

class HostMemory final : public Memory {
public:
  Expected<void*> allocate(std::size_t bytes) override {
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + 4095) / 4096 * 4096;
    void* at = std::aligned_alloc(4096, whole);
    if (!at)
      return fail(ErrorKind::environment, "no memory", {.found = fmt::format("{} bytes", bytes)});
    m_taken.emplace_back(at, std::free);
    std::memset(at, 0, whole);
    return at;
  }
  Status upload(void* to, const std::vector<std::byte>& from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return {};
  }
  Expected<std::vector<std::byte>> download(const void* from, std::size_t bytes) override {
    const auto* begin = static_cast<const std::byte*>(from);
    return std::vector<std::byte>(begin, begin + bytes);
  }
  Status wait() override { return {}; }
  void mark_start() override {}
  void mark_stop() override {}
  void* stream() override { return nullptr; }

private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> m_taken;
};

/// The few driver calls that are needed, by their exported names. Results: 0 = success.
struct Driver {
  using Pointer = unsigned long long;
  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_uuid)(unsigned char*, int) = nullptr;
  int (*context_retain)(void**, int) = nullptr;
  int (*context_set)(void*) = nullptr;
  int (*synchronize)() = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*allocate)(Pointer*, std::size_t) = nullptr;
  int (*release)(Pointer) = nullptr;
  int (*set)(Pointer, unsigned char, std::size_t) = nullptr;
  int (*to_device)(Pointer, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, Pointer, std::size_t) = nullptr;
  int (*profiler_start)() = nullptr;
  int (*profiler_stop)() = nullptr;
};

void* open_driver() {
  // AKO_GPU_PATH: folders that are looked into first.
  std::string_view list = std::getenv("AKO_GPU_PATH") ? std::getenv("AKO_GPU_PATH") : "";
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    const std::string place = std::string(list.substr(0, end)) + "/libcuda.so.1";
    if (void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
}

Expected<Driver> load_driver() {
  void* library = open_driver();
  if (!library)
    return fail(ErrorKind::environment, "the CUDA driver is not on this machine",
                {.where = "libcuda.so.1",
                 .found = dlerror(),
                 .allowed = {},
                 .next = "install the NVIDIA driver, or give the container the device"});
  Driver driver;
  std::string missing;
  auto find = [&](auto& slot, const char* name) {
    slot = reinterpret_cast<std::decay_t<decltype(slot)>>(dlsym(library, name));
    if (!slot) missing = name;
  };
  find(driver.init, "cuInit"), find(driver.device_count, "cuDeviceGetCount");
  find(driver.device_get, "cuDeviceGet"), find(driver.device_uuid, "cuDeviceGetUuid");
  find(driver.context_retain, "cuDevicePrimaryCtxRetain");
  find(driver.context_set, "cuCtxSetCurrent"), find(driver.synchronize, "cuCtxSynchronize");
  find(driver.stream_create, "cuStreamCreate"), find(driver.allocate, "cuMemAlloc_v2");
  find(driver.release, "cuMemFree_v2"), find(driver.set, "cuMemsetD8_v2");
  find(driver.to_device, "cuMemcpyHtoD_v2");
  find(driver.to_host, "cuMemcpyDtoH_v2"), find(driver.profiler_start, "cuProfilerStart");
  find(driver.profiler_stop, "cuProfilerStop");
  if (missing.empty()) return driver;
  return fail(ErrorKind::environment, "the CUDA driver is too old",
              {.where = "libcuda.so.1", .found = "no " + missing, .allowed = {}, .next = {}});
}

std::string uuid_text(const unsigned char* bytes) {
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

class CudaMemory final : public Memory {
public:
  static Expected<std::unique_ptr<Memory>> open(const std::string& uuid) {
    AKO_TRY(Driver driver, load_driver());
    auto memory = std::make_unique<CudaMemory>(driver);
    AKO_TRY_STATUS(memory->start(uuid));
    return memory;
  }
  explicit CudaMemory(const Driver& driver) : m_driver(driver) {}
  ~CudaMemory() override {
    for (const Driver::Pointer at : m_taken) m_driver.release(at);
  }

  Expected<void*> allocate(std::size_t bytes) override {
    Driver::Pointer at = 0;
    bytes = std::max<std::size_t>(bytes, 1);
    AKO_TRY_STATUS(check(m_driver.allocate(&at, bytes), "cuMemAlloc"));
    m_taken.push_back(at);
    AKO_TRY_STATUS(check(m_driver.set(at, 0, bytes), "cuMemsetD8"));
    return reinterpret_cast<void*>(at);
  }
  Status upload(void* to, const std::vector<std::byte>& from) override {
    if (from.empty()) return {};
    return check(
        m_driver.to_device(reinterpret_cast<Driver::Pointer>(to), from.data(), from.size()),
        "cuMemcpyHtoD");
  }
  Expected<std::vector<std::byte>> download(const void* from, std::size_t bytes) override {
    std::vector<std::byte> out(bytes);
    if (bytes > 0)
      AKO_TRY_STATUS(
          check(m_driver.to_host(out.data(), reinterpret_cast<Driver::Pointer>(from), bytes),
                "cuMemcpyDtoH"));
    return out;
  }
  Status wait() override { return check(m_driver.synchronize(), "cuCtxSynchronize"); }
  // Without a profiler these do nothing; their answers say nothing that matters.
  void mark_start() override { m_driver.profiler_start(); }
  void mark_stop() override { m_driver.profiler_stop(); }
  void* stream() override { return m_stream; }

private:
  static Status check(int code, const char* call) {
    if (code == 0) return {};
    return fail(
        ErrorKind::invalid, "the device reports an error",
        {.where = call, .found = fmt::format("CUDA error {}", code), .allowed = {}, .next = {}});
  }

  Status start(const std::string& uuid) {
    AKO_TRY_STATUS(check(m_driver.init(0), "cuInit"));
    int count = 0, chosen = -1;
    AKO_TRY_STATUS(check(m_driver.device_count(&count), "cuDeviceGetCount"));
    std::string seen;
    for (int i = 0; i < count && chosen < 0; ++i) {
      int device = 0;
      std::array<unsigned char, 16> bytes{};
      AKO_TRY_STATUS(check(m_driver.device_get(&device, i), "cuDeviceGet"));
      AKO_TRY_STATUS(check(m_driver.device_uuid(bytes.data(), device), "cuDeviceGetUuid"));
      const std::string own = uuid_text(bytes.data());
      seen += (seen.empty() ? "" : ", ") + own;
      if (uuid.empty() || own == uuid) chosen = device;
    }
    if (chosen < 0)
      return fail(
          ErrorKind::environment, "no such device",
          {.where = "device", .found = uuid, .allowed = seen.empty() ? "none" : seen, .next = {}});
    void* context = nullptr;
    AKO_TRY_STATUS(check(m_driver.context_retain(&context, chosen), "cuDevicePrimaryCtxRetain"));
    AKO_TRY_STATUS(check(m_driver.context_set(context), "cuCtxSetCurrent"));
    return check(m_driver.stream_create(&m_stream, 1), "cuStreamCreate");
  }

  Driver m_driver;
  void* m_stream = nullptr;
  std::vector<Driver::Pointer> m_taken;
};

} // namespace

Expected<std::unique_ptr<Memory>> open_memory(const std::string& device) {
  if (device == "host") return std::make_unique<HostMemory>();
  if (device == "cuda") return CudaMemory::open("");
  if (device.starts_with("cuda:")) return CudaMemory::open(device.substr(5));
  return fail(ErrorKind::invalid, "an unknown kind of device",
              {.where = "device", .found = device, .allowed = "host, cuda, cuda:UUID", .next = {}});
}

} // namespace ako::launch
