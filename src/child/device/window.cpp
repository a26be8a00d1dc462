#include "device/window.hpp"

#include <sys/mman.h>
#include <utility>
#include <vector>

namespace ako::device {
namespace {

constexpr int k_tries = 8;
constexpr std::uint64_t k_least_window = 4ull << 30;

} // namespace

abi::Result reserve_at(const Cuda& api, std::uint64_t address, std::int64_t bytes,
                       abi::Pointer* at) {
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<abi::Pointer> elsewhere;
  abi::Result result = abi::k_success;
  *at = 0;
  for (int i = 0; i < k_tries; ++i) {
    result = api.vm_reserve(at, size, 0, address, 0);
    if (result != abi::k_success || address == 0 || *at == address) break;
    elsewhere.push_back(*at);
  }
  const bool there = result == abi::k_success && (address == 0 || *at == address);
  // The first one that came elsewhere is what is told, and the caller's to give back.
  if (!there && !elsewhere.empty()) {
    *at = elsewhere.front();
    elsewhere.erase(elsewhere.begin());
    result = abi::k_success;
  }
  for (const auto pointer : elsewhere) (void)api.vm_unreserve(pointer, size);
  return result;
}

Window Window::hold(AddressRange range) {
  Window window;
  window.m_range = range;
  if (range.last <= range.first) return window;
  void* at = reinterpret_cast<void*>(range.first);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* got = mmap(at, range.last - range.first, PROT_NONE, flags, -1, 0);
  if (got == MAP_FAILED) return window;
  window.m_held = got == at;
  if (!window.m_held) munmap(got, range.last - range.first);
  return window;
}

void Window::hand_over(const Cuda& api) {
  if (m_range.last <= m_range.first) return;
  if (m_held) munmap(reinterpret_cast<void*>(m_range.first), m_range.last - m_range.first);
  m_held = false;
  for (auto bytes = m_range.last - m_range.first; bytes >= k_least_window; bytes /= 2) {
    abi::Pointer at = 0;
    if (reserve_at(api, m_range.first, static_cast<std::int64_t>(bytes), &at) != abi::k_success)
      continue;
    if (at == m_range.first) {
      m_api = &api;
      m_reserved = bytes;
      return;
    }
    (void)api.vm_unreserve(at, bytes);
  }
}

bool Window::covers(std::uint64_t address, std::int64_t bytes) const {
  return m_reserved != 0 && address >= m_range.first && bytes >= 0 &&
         address + static_cast<std::uint64_t>(bytes) <= m_range.first + m_reserved;
}

void Window::swap(Window& other) noexcept {
  std::swap(m_api, other.m_api);
  std::swap(m_range, other.m_range);
  std::swap(m_held, other.m_held);
  std::swap(m_reserved, other.m_reserved);
}

Window::~Window() {
  if (m_held) munmap(reinterpret_cast<void*>(m_range.first), m_range.last - m_range.first);
  if (m_reserved) (void)m_api->vm_unreserve(m_range.first, m_reserved);
}

} // namespace ako::device
