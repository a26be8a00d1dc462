// One device, opened by this process: its primary context, memory, modules and launches.
#pragma once

#include "base/error.hpp"
#include "device/tables.hpp"
#include "device/window.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ako::device {

struct GpuFacts {
  std::string uuid; ///< "GPU-0f1e2d3c-..."
  std::string name, pci;
  int ordinal = 0, major = 0, minor = 0, sm_count = 0;
  std::int64_t memory_bytes = 0, l2_bytes = 0, persisting_l2_bytes = 0;
  std::int64_t shared_per_sm = 0, shared_optin = 0;
  int threads_per_sm = 0, clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  int compute_mode = 0; ///< 0 default, 2 prohibited, 3 exclusive process
  bool integrated = false, ecc = false, virtual_memory = false, posix_handles = false;
  int driver_version = 0; ///< of the CUDA interface: 13000 = 13.0
};

/// Initialises the driver and describes every device it shows. Kind unsupported when there is none.
base::Expected<std::vector<GpuFacts>> list_gpus();
/// "GPU-" and the bytes in groups, as nvidia-smi prints them.
std::string uuid_text(const abi::Uuid& uuid);

/// An error that no later call of this process recovers from: the context is lost.
bool is_sticky(abi::Result result);

class Gpu {
public:
  /// Retains the primary context of that device and makes it current in this thread. `shared` is
  /// set apart for memory that several processes map; see window().
  static base::Expected<Gpu> open(const std::string& uuid, AddressRange shared = {});
  Gpu(Gpu&& other) noexcept;
  Gpu& operator=(Gpu&&) = delete;
  ~Gpu();

  const GpuFacts& facts() const { return m_facts; }
  const Cuda& api() const { return *m_api; }
  abi::Stream stream() const { return m_stream; } ///< ako's own, non-blocking
  const Window& window() const { return m_window; }
  /// Fails with the driver's words: kind environment when the context is lost or memory is short,
  /// else internal. `doing`: "filling an input".
  base::Status ok(abi::Result result, const char* doing) const;
  /// What makes every later call fail, once something has; empty = well.
  const std::string& lost() const { return m_lost; }
  void give_up(std::string why) const {
    if (m_lost.empty()) m_lost = std::move(why);
  }

  base::Expected<abi::Module> load(std::span<const std::byte> image) const;
  base::Status wait() const; ///< until ako's stream has done its work
  base::Status copy_in(abi::Pointer to, std::span<const std::byte> bytes) const;
  base::Status copy_out(std::span<std::byte> bytes, abi::Pointer from) const;
  struct Room {
    std::int64_t free = 0, total = 0;
  };
  base::Expected<Room> room() const;

private:
  Gpu() = default;
  const Cuda* m_api = nullptr;
  GpuFacts m_facts;
  abi::Device m_device = -1;
  abi::Stream m_stream = nullptr;
  Window m_window;
  mutable std::string m_lost;
};

/// Device memory of this process alone; freed by the destructor.
class Memory {
public:
  static base::Expected<Memory> take(const Gpu& gpu, std::int64_t bytes);
  Memory() = default;
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory();
  abi::Pointer at() const { return m_at; }
  std::int64_t bytes() const { return m_bytes; }

private:
  void swap(Memory& other) noexcept;
  const Cuda* m_api = nullptr;
  abi::Pointer m_at = 0;
  std::int64_t m_bytes = 0;
};

/// Page-locked host memory that the device reads and writes too.
class Pinned {
public:
  static base::Expected<Pinned> take(const Gpu& gpu, std::int64_t bytes);
  Pinned() = default;
  Pinned(Pinned&& other) noexcept { swap(other); }
  Pinned& operator=(Pinned&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Pinned();
  std::byte* host() const { return m_host; }
  abi::Pointer at() const { return m_at; }
  std::int64_t bytes() const { return m_bytes; }

private:
  void swap(Pinned& other) noexcept;
  const Cuda* m_api = nullptr;
  std::byte* m_host = nullptr;
  abi::Pointer m_at = 0;
  std::int64_t m_bytes = 0;
};

enum class Mapped { read, read_write };

/// Device memory that several processes map, at the same address in each.
class Shared {
public:
  /// Physical memory of at least `bytes` (rounded up to the granularity), mapped at `address`.
  static base::Expected<Shared> make(const Gpu& gpu, std::int64_t bytes, std::uint64_t address);
  /// What another process exported; `bytes` as it asked for.
  static base::Expected<Shared> adopt(const Gpu& gpu, int fd, std::int64_t bytes,
                                      std::uint64_t address, Mapped mapped);
  Shared() = default;
  Shared(Shared&& other) noexcept { swap(other); }
  Shared& operator=(Shared&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Shared();
  abi::Pointer at() const { return m_at; }
  std::int64_t bytes() const { return m_bytes; }
  base::Expected<int> export_fd() const; ///< the caller's to close

private:
  base::Status map_at(const Gpu& gpu, std::uint64_t address, Mapped mapped);
  base::Status reserve(const Gpu& gpu, std::uint64_t address);
  void swap(Shared& other) noexcept;
  const Cuda* m_api = nullptr;
  abi::Allocation m_memory = 0;
  abi::Pointer m_reserved = 0, m_at = 0;
  std::int64_t m_bytes = 0, m_span = 0; ///< mapped, and reserved for it
};

/// Wanted addresses are multiples of this, and so are the spans that are reserved: drivers move
/// smaller reservations elsewhere.
inline constexpr std::int64_t k_address_step = 64 << 20;

} // namespace ako::device
