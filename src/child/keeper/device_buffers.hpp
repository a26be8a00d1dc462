// One arena in device memory, filled, marked and checked by ako's own kernels.
#pragma once

#include "base/shm.hpp"
#include "device/fill.hpp"
#include "device/kernels.hpp"
#include "device/staging.hpp"
#include "keeper/store.hpp"

#include <memory>
#include <span>

namespace ako::keeper {

class DeviceBuffers final : public Store {
public:
  static base::Expected<std::unique_ptr<Store>>
  make(const device::Gpu& gpu, const device::Kernels& kernels, device::Staging& staging,
       model::ArenaPlan plan, std::vector<protocol::ArenaTensor> tensors);
  /// The device memory's handle, and the host's view (an empty file of the arena's size whose pages
  /// come into being when a buffer is read).
  std::vector<int> fds() const override { return {m_fd.get(), m_mirror_fd.get()}; }
  base::Status fill(const FillRequest& request, FillLibrary& library) override;
  base::Status poison(inputs::Sentinel sentinel, const std::vector<int>& sets) override;
  base::Expected<std::vector<BufferFinding>> check(const std::vector<int>& sets,
                                                   std::int64_t& bytes_checked) override;
  base::Expected<std::vector<std::uint64_t>> sums() override;
  base::Expected<Region> region(int tensor, int set) const override;
  base::Status move(const Region& to, const Region& from) override;
  base::Status read(int tensor, int set) override;
  base::Status write(int tensor, int set) override;

private:
  DeviceBuffers(const device::Gpu& gpu, const device::Kernels& kernels, device::Staging& staging)
      : m_gpu(gpu), m_kernels(kernels), m_staging(staging) {}
  /// Kernels that a fill of one tensor needs, with its table on the device.
  struct Prepared {
    std::optional<device::DeviceFill> fill;
    device::Memory table;
  };
  struct Slot { ///< of one place, in m_results
    std::uint64_t count = 0, first = 0, last = 0, sum = 0;
  };
  base::Status make_mirror();
  base::Status reserve_results();
  bool wanted(const model::BufferPlace& place, const std::vector<int>& sets) const {
    return is_wanted(place, tensor_of(place), sets);
  }
  const protocol::ArenaTensor& tensor_of(const model::BufferPlace& place) const {
    return m_tensors[static_cast<std::size_t>(place.tensor)];
  }
  device::abi::Pointer at(const model::BufferPlace& place) const {
    return m_memory.at() + static_cast<std::uint64_t>(place.offset);
  }
  std::span<std::byte> mirror(const model::BufferPlace& place) const {
    return {m_mirror.data() + place.offset, static_cast<std::size_t>(place.bytes)};
  }
  base::Expected<Prepared*> prepare(const protocol::FillOrder& order, inputs::Recipe recipe);
  base::Status fill_place(const FillRequest& request, const inputs::Filler& filler,
                          const Prepared& prepared, std::size_t index);
  base::Status queue_sum(std::size_t index);
  base::Status zones(const char* kernel, const std::vector<int>& sets);
  base::Status clear_results();
  base::Expected<std::vector<std::uint64_t>> fetch_results();
  base::Status find_on_host(std::size_t index, BufferFinding& finding);
  template <class Params>
  base::Status launch(const char* name, const Params& params, std::uint64_t items) const;

  const device::Gpu& m_gpu;
  const device::Kernels& m_kernels;
  device::Staging& m_staging;
  model::ArenaPlan m_plan;
  std::vector<protocol::ArenaTensor> m_tensors;
  device::Shared m_memory;
  base::UniqueFd m_fd, m_mirror_fd;
  base::Mapping m_mirror;
  device::Memory m_results; ///< Slot per place, then 3 words per zone
  std::map<std::vector<int>, device::Memory> m_zone_lists; ///< offsets of the zones of these sets
  std::map<std::string, Prepared> m_prepared;
  std::vector<std::uint64_t> m_blank; ///< what m_results holds before a check
  std::uint64_t m_red_seed = 0;
  std::vector<std::optional<std::uint64_t>> m_sums;
  std::vector<std::optional<inputs::Sentinel>> m_poisoned;
};

} // namespace ako::keeper
