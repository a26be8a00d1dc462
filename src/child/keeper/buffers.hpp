// One arena in host memory: pages, tensors, and what was noted at the last fill and poison.
#pragma once

#include "base/shm.hpp"
#include "keeper/store.hpp"

#include <memory>
#include <span>

namespace ako::keeper {

class Buffers final : public Store {
public:
  static base::Expected<std::unique_ptr<Store>> make(model::ArenaPlan plan,
                                                     std::vector<protocol::ArenaTensor> tensors,
                                                     const std::string& tag,
                                                     std::vector<int> cores = {});

  std::vector<int> fds() const override { return {m_fd.get()}; }
  base::Status fill(const FillRequest& request, FillLibrary& library) override;
  base::Status poison(inputs::Sentinel sentinel, const std::vector<int>& sets) override;
  base::Expected<std::vector<BufferFinding>> check(const std::vector<int>& sets,
                                                   std::int64_t& bytes_checked) override;
  base::Expected<std::vector<std::uint64_t>> sums() override;
  base::Expected<Region> region(int tensor, int set) const override;
  base::Status move(const Region& to, const Region& from) override;
  // The memory is mapped everywhere: the host's view is the buffer.
  base::Status read(int, int) override { return {}; }
  base::Status write(int, int) override { return {}; }

private:
  bool wanted(const model::BufferPlace& place, const std::vector<int>& sets) const {
    return is_wanted(place, tensor_of(place), sets);
  }
  std::span<std::byte> bytes_of(const model::BufferPlace& place) const;
  void lay_red_zones(const model::BufferPlace& place);
  void check_red_zones(const model::BufferPlace& place, BufferFinding& finding) const;
  base::Status fill_places(const inputs::Filler& filler, const FillRequest& request,
                           const std::vector<std::size_t>& places, bool alone);
  void check_content(std::size_t index, BufferFinding& finding) const;
  const protocol::ArenaTensor& tensor_of(const model::BufferPlace& place) const {
    return m_tensors[static_cast<std::size_t>(place.tensor)];
  }

  model::ArenaPlan m_plan;
  std::vector<protocol::ArenaTensor> m_tensors;
  base::UniqueFd m_fd;
  base::Mapping m_mapping;
  std::uint64_t m_red_seed = 0;
  std::vector<int> m_cores;                                ///< that work on large buffers
  std::vector<std::optional<std::uint64_t>> m_sums;        ///< per place: inputs as filled
  std::vector<std::optional<inputs::Sentinel>> m_poisoned; ///< per place: with what
};

} // namespace ako::keeper
