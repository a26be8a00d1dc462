#include "device/gpu.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::device {

using base::ErrorKind;

std::string uuid_text(const abi::Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

bool is_sticky(abi::Result result) {
  // The context's own faults, and the ways in which a lost device speaks.
  return result == abi::k_deinitialized ||
         (result >= 700 && result <= 720 && result != 704 && result != 705 && result != 708 &&
          result != 711) ||
         result == 214 || result == 220 || result == abi::k_unknown;
}

namespace {

base::Expected<const Cuda*> initialised() {
  AKO_TRY(const Cuda* api, cuda());
  const auto result = api->init(0);
  if (result == abi::k_success) return api;
  const char* next = result == abi::k_no_device
                         ? "see that nvidia-smi lists a device and that /dev/nvidia* can be opened"
                     : result == abi::k_driver_mismatch
                         ? "the driver's library and kernel module differ: restart the machine"
                         : "run nvidia-smi; load the nvidia and nvidia-uvm kernel modules";
  return base::fail(ErrorKind::unsupported, "the CUDA driver does not start",
                    {.where = found_cuda().path, .found = words_of(*api, result), .next = next});
}

GpuFacts facts_of(const Cuda& api, int ordinal, abi::Device device, int version) {
  GpuFacts facts;
  facts.ordinal = ordinal;
  facts.driver_version = version;
  char text[128] = {};
  if (api.device_name(text, sizeof text, device) == abi::k_success) facts.name = text;
  abi::Uuid uuid{};
  if (api.device_uuid(&uuid, device) == abi::k_success) facts.uuid = uuid_text(uuid);
  if (api.device_pci(text, sizeof text, device) == abi::k_success) facts.pci = text;
  std::size_t bytes = 0;
  if (api.device_memory(&bytes, device) == abi::k_success)
    facts.memory_bytes = static_cast<std::int64_t>(bytes);
  const auto attribute = [&](int which) {
    int value = 0;
    return api.device_attribute(&value, which, device) == abi::k_success ? value : 0;
  };
  facts.major = attribute(abi::k_major);
  facts.minor = attribute(abi::k_minor);
  facts.sm_count = attribute(abi::k_sm_count);
  facts.l2_bytes = attribute(abi::k_l2_bytes);
  facts.persisting_l2_bytes = attribute(abi::k_persisting_l2_bytes);
  facts.shared_per_sm = attribute(abi::k_shared_per_sm);
  facts.shared_optin = attribute(abi::k_shared_optin);
  facts.threads_per_sm = attribute(abi::k_threads_per_sm);
  facts.clock_khz = attribute(abi::k_clock_khz);
  facts.memory_clock_khz = attribute(abi::k_memory_clock_khz);
  facts.memory_bus_bits = attribute(abi::k_memory_bus_bits);
  facts.compute_mode = attribute(abi::k_compute_mode);
  facts.integrated = attribute(abi::k_integrated) != 0;
  facts.ecc = attribute(abi::k_ecc) != 0;
  facts.virtual_memory = attribute(abi::k_virtual_memory) != 0;
  facts.posix_handles = attribute(abi::k_posix_handles) != 0;
  return facts;
}

} // namespace

base::Expected<std::vector<GpuFacts>> list_gpus() {
  AKO_TRY(const Cuda* api, initialised());
  int count = 0, version = 0;
  (void)api->driver_version(&version);
  if (const auto result = api->device_count(&count); result != abi::k_success)
    return base::fail(ErrorKind::unsupported, "the driver lists no devices",
                      {.found = words_of(*api, result)});
  std::vector<GpuFacts> all;
  for (int i = 0; i < count; ++i) {
    abi::Device device = -1;
    if (api->device_get(&device, i) == abi::k_success)
      all.push_back(facts_of(*api, i, device, version));
  }
  return all;
}

base::Expected<Gpu> Gpu::open(const std::string& uuid, AddressRange shared) {
  Window window = Window::hold(shared); // the driver starts now
  AKO_TRY(const auto all, list_gpus());
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const GpuFacts& facts) { return facts.uuid == uuid; });
  if (at == all.end()) {
    std::string known;
    for (const auto& facts : all) known += (known.empty() ? "" : ", ") + facts.uuid;
    return base::fail(ErrorKind::unsupported, "no such device here",
                      {.found = uuid, .allowed = known, .next = "list them: ako doctor"});
  }
  Gpu gpu;
  AKO_TRY(gpu.m_api, cuda());
  gpu.m_facts = *at;
  abi::Device device = -1;
  AKO_TRY_STATUS(gpu.ok(gpu.m_api->device_get(&device, at->ordinal), "opening the device"));
  abi::Context context = nullptr;
  if (at->compute_mode == 2)
    return base::fail(ErrorKind::unsupported, "the device is in compute mode Prohibited",
                      {.where = uuid, .next = "ask its administrator for mode Default"});
  if (auto made = gpu.ok(gpu.m_api->context_retain(&context, device), "making a context"); !made) {
    if (at->compute_mode == 3)
      made.error().next = "the device is in exclusive mode: end the process that holds it";
    return tl::unexpected(made.error());
  }
  gpu.m_device = device;
  AKO_TRY_STATUS(gpu.ok(gpu.m_api->context_use(context), "making a context"));
  window.hand_over(*gpu.m_api);
  gpu.m_window = std::move(window);
  AKO_TRY_STATUS(
      gpu.ok(gpu.m_api->stream_make(&gpu.m_stream, abi::k_stream_non_blocking), "making a stream"));
  return gpu;
}

Gpu::Gpu(Gpu&& other) noexcept
    : m_api(other.m_api), m_facts(std::move(other.m_facts)),
      m_device(std::exchange(other.m_device, -1)), m_stream(std::exchange(other.m_stream, nullptr)),
      m_window(std::move(other.m_window)), m_lost(std::move(other.m_lost)) {}

Gpu::~Gpu() {
  m_window = {};
  if (m_stream) (void)m_api->stream_end(m_stream);
  if (m_device >= 0) (void)m_api->context_release(m_device);
}

base::Status Gpu::ok(abi::Result result, const char* doing) const {
  if (result == abi::k_success) return {};
  const auto words = words_of(*m_api, result);
  const bool sticky = is_sticky(result);
  if (sticky && m_lost.empty()) m_lost = words;
  const bool world = sticky || result == abi::k_out_of_memory || result == abi::k_not_permitted ||
                     result == abi::k_not_supported;
  return base::fail(world ? ErrorKind::environment : ErrorKind::internal,
                    fmt::format("the device failed while {}", doing),
                    {.where = m_facts.uuid,
                     .found = words,
                     .next = result == abi::k_out_of_memory ? "free device memory, or measure a "
                                                              "smaller shape"
                                                            : ""});
}

base::Expected<abi::Module> Gpu::load(std::span<const std::byte> image) const {
  abi::Module module = nullptr;
  AKO_TRY_STATUS(ok(m_api->module_load(&module, image.data()), "loading ako's kernels"));
  return module;
}

base::Status Gpu::wait() const { return ok(m_api->stream_wait(m_stream), "waiting for it"); }

base::Status Gpu::copy_in(abi::Pointer to, std::span<const std::byte> bytes) const {
  if (bytes.empty()) return {};
  AKO_TRY_STATUS(ok(m_api->copy_in(to, bytes.data(), bytes.size(), m_stream), "copying in"));
  return wait();
}

base::Status Gpu::copy_out(std::span<std::byte> bytes, abi::Pointer from) const {
  if (bytes.empty()) return {};
  AKO_TRY_STATUS(ok(m_api->copy_out(bytes.data(), from, bytes.size(), m_stream), "copying out"));
  return wait();
}

base::Expected<Gpu::Room> Gpu::room() const {
  std::size_t free = 0, total = 0;
  AKO_TRY_STATUS(ok(m_api->memory_info(&free, &total), "asking for free memory"));
  return Room{static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

} // namespace ako::device
