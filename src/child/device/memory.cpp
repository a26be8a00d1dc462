#include "device/gpu.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace ako::device {

base::Expected<Memory> Memory::take(const Gpu& gpu, std::int64_t bytes) {
  Memory memory;
  memory.m_api = &gpu.api();
  memory.m_bytes = bytes;
  AKO_TRY_STATUS(gpu.ok(gpu.api().memory_take(&memory.m_at, static_cast<std::size_t>(bytes)),
                        "taking device memory"));
  return memory;
}

void Memory::swap(Memory& other) noexcept {
  std::swap(m_api, other.m_api);
  std::swap(m_at, other.m_at);
  std::swap(m_bytes, other.m_bytes);
}

Memory::~Memory() {
  if (m_at) (void)m_api->memory_give(m_at);
}

base::Expected<Pinned> Pinned::take(const Gpu& gpu, std::int64_t bytes) {
  Pinned memory;
  memory.m_api = &gpu.api();
  memory.m_bytes = bytes;
  void* host = nullptr;
  AKO_TRY_STATUS(gpu.ok(gpu.api().host_take(&host, static_cast<std::size_t>(bytes),
                                            abi::k_host_mapped | abi::k_host_portable),
                        "taking page-locked memory"));
  memory.m_host = static_cast<std::byte*>(host);
  AKO_TRY_STATUS(
      gpu.ok(gpu.api().host_address(&memory.m_at, host, 0), "mapping page-locked memory"));
  return memory;
}

void Pinned::swap(Pinned& other) noexcept {
  std::swap(m_api, other.m_api);
  std::swap(m_host, other.m_host);
  std::swap(m_at, other.m_at);
  std::swap(m_bytes, other.m_bytes);
}

Pinned::~Pinned() {
  if (m_host) (void)m_api->host_give(m_host);
}

namespace {

abi::AllocationProp properties(const Gpu& gpu) {
  abi::AllocationProp prop;
  prop.handle_types = abi::k_posix_fd;
  prop.location.id = gpu.facts().ordinal;
  return prop;
}

base::Expected<std::int64_t> rounded(const Gpu& gpu, std::int64_t bytes) {
  const auto prop = properties(gpu);
  std::size_t step = 0;
  AKO_TRY_STATUS(gpu.ok(gpu.api().vm_granularity(&step, &prop, 0), "asking how memory is divided"));
  const auto unit = static_cast<std::int64_t>(step > 0 ? step : 1);
  return (bytes + unit - 1) / unit * unit;
}

} // namespace

base::Expected<Shared> Shared::make(const Gpu& gpu, std::int64_t bytes, std::uint64_t address) {
  Shared shared;
  shared.m_api = &gpu.api();
  AKO_TRY(shared.m_bytes, rounded(gpu, bytes));
  const auto prop = properties(gpu);
  AKO_TRY_STATUS(gpu.ok(
      gpu.api().vm_create(&shared.m_memory, static_cast<std::size_t>(shared.m_bytes), &prop, 0),
      "taking device memory to share"));
  AKO_TRY_STATUS(shared.map_at(gpu, address, Mapped::read_write));
  return shared;
}

base::Expected<Shared> Shared::adopt(const Gpu& gpu, int fd, std::int64_t bytes,
                                     std::uint64_t address, Mapped mapped) {
  Shared shared;
  shared.m_api = &gpu.api();
  AKO_TRY(shared.m_bytes, rounded(gpu, bytes));
  // The handle is the descriptor's number in a pointer's place.
  auto* handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  AKO_TRY_STATUS(gpu.ok(gpu.api().vm_import(&shared.m_memory, handle, abi::k_posix_fd),
                        "taking shared device memory"));
  AKO_TRY_STATUS(shared.map_at(gpu, address, mapped));
  return shared;
}

base::Status Shared::map_at(const Gpu& gpu, std::uint64_t address, Mapped mapped) {
  const auto bytes = static_cast<std::size_t>(m_bytes);
  const bool set_apart = gpu.window().covers(address, m_bytes);
  if (!set_apart) AKO_TRY_STATUS(reserve(gpu, address));
  const auto at = set_apart ? address : m_reserved;
  AKO_TRY_STATUS(gpu.ok(gpu.api().vm_map(at, bytes, 0, m_memory, 0), "mapping memory"));
  m_at = at;
  abi::AccessDesc access;
  access.location.id = gpu.facts().ordinal;
  access.flags = mapped == Mapped::read ? abi::k_access_read : abi::k_access_write;
  return gpu.ok(gpu.api().vm_access(m_at, bytes, &access, 1), "opening mapped memory");
}

base::Status Shared::reserve(const Gpu& gpu, std::uint64_t address) {
  m_span = (m_bytes + k_address_step - 1) / k_address_step * k_address_step;
  AKO_TRY_STATUS(
      gpu.ok(reserve_at(gpu.api(), address, m_span, &m_reserved), "reserving addresses"));
  if (address == 0 || m_reserved == address) return {};
  return base::fail(
      base::ErrorKind::environment,
      "shared device memory cannot lie at the same address in every process",
      {.where = gpu.facts().uuid,
       .found = fmt::format("{:#x}", m_reserved),
       .allowed = fmt::format("{:#x}", address),
       .next = "what this process loaded before it maps buffers lies there: load less, or measure "
               "on another device"});
}

base::Expected<int> Shared::export_fd() const {
  int fd = -1;
  const auto result = m_api->vm_export(&fd, m_memory, abi::k_posix_fd, 0);
  if (result == abi::k_success) return fd;
  return base::fail(base::ErrorKind::unsupported, "this device's memory cannot be shared",
                    {.found = words_of(*m_api, result)});
}

void Shared::swap(Shared& other) noexcept {
  std::swap(m_api, other.m_api);
  std::swap(m_memory, other.m_memory);
  std::swap(m_reserved, other.m_reserved);
  std::swap(m_at, other.m_at);
  std::swap(m_bytes, other.m_bytes);
  std::swap(m_span, other.m_span);
}

Shared::~Shared() {
  if (m_at) (void)m_api->vm_unmap(m_at, static_cast<std::size_t>(m_bytes));
  if (m_reserved) (void)m_api->vm_unreserve(m_reserved, static_cast<std::size_t>(m_span));
  if (m_memory) (void)m_api->vm_release(m_memory);
}

} // namespace ako::device
