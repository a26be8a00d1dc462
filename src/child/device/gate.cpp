#include "device/gate.hpp"

#include "base/time.hpp"

#include <atomic>
#include <chrono>

namespace ako::device {
namespace {

/// Queueing a group takes a millisecond or two; a kernel that waits for the device never ends it.
constexpr std::int64_t k_patience_ns = 60'000'000;

} // namespace

Gate::~Gate() {
  if (!m_watch.joinable()) return;
  open();
  {
    const std::lock_guard lock(m_shared->mutex);
    m_shared->ended = true;
  }
  m_shared->changed.notify_all();
  m_watch.join();
}

base::Status Gate::open_on(const Gpu& gpu) {
  m_gpu = &gpu;
  AKO_TRY(m_word, Pinned::take(gpu, 64));
  write(0);
  // Tried once on ako's own stream with a value that is there: unsupported devices refuse here.
  const auto result = gpu.api().stream_gate(gpu.stream(), m_word.at(), 0, abi::k_wait_at_least);
  if (result != abi::k_success) {
    m_unavailable = "the device has no stream memory operations: " + words_of(gpu.api(), result);
    return {};
  }
  AKO_TRY_STATUS(gpu.wait());
  m_shared = std::make_unique<Shared>();
  m_watch = std::thread([this] { watch(); });
  return {};
}

void Gate::write(std::uint32_t value) {
  std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(m_word.host()))
      .store(value, std::memory_order_seq_cst);
}

base::Status Gate::close(abi::Stream stream) {
  m_early = false;
  if (!m_unavailable.empty()) return {};
  ++m_turn;
  AKO_TRY_STATUS(
      m_gpu->ok(m_gpu->api().stream_gate(stream, m_word.at(), m_turn, abi::k_wait_at_least),
                "closing a gate"));
  {
    const std::lock_guard lock(m_shared->mutex);
    m_shared->closed = true;
    m_shared->closed_at_ns = base::monotonic_ns();
  }
  m_shared->changed.notify_all();
  return {};
}

void Gate::open() {
  if (!m_shared) return;
  const std::lock_guard lock(m_shared->mutex);
  m_shared->closed = false;
  write(m_turn);
}

void Gate::watch() {
  std::unique_lock lock(m_shared->mutex);
  while (!m_shared->ended) {
    m_shared->changed.wait(lock, [this] { return m_shared->closed || m_shared->ended; });
    if (m_shared->ended) return;
    const auto since = m_shared->closed_at_ns;
    m_shared->changed.wait_for(lock, std::chrono::nanoseconds(k_patience_ns), [&] {
      return !m_shared->closed || m_shared->ended || m_shared->closed_at_ns != since;
    });
    if (m_shared->closed && m_shared->closed_at_ns == since && !m_shared->ended) {
      m_shared->closed = false;
      m_early = true;
      write(m_turn);
    }
  }
}

} // namespace ako::device
