// One arena in the keeper: memory, tensors, and what was noted at the last fill and poison.
#pragma once

#include "base/fd.hpp"
#include "base/shm.hpp"
#include "inputs/poison.hpp"
#include "inputs/recipe.hpp"
#include "model/arena.hpp"
#include "protocol/values.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ako::keeper {

struct BufferFinding {
  int tensor = 0, set = 0;
  std::int64_t unwritten = 0, doubtful = 0, first = -1, last = -1;
  std::int64_t red_before = 0, red_after = 0, red_distance = 0, gap_damage = 0;
  bool input_changed = false;
  bool clean() const {
    return !input_changed && unwritten == 0 && doubtful == 0 && red_before == 0 && red_after == 0 &&
           gap_damage == 0;
  }
};

struct FillRequest {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  inputs::Recipe recipe = inputs::Recipe::plain;
  std::vector<int> sets; ///< empty = all
  bool fresh_only = false, refresh = false;
  std::vector<protocol::FillOrder> orders;
};

/// Files and functions that fills need, loaded once.
class FillLibrary {
public:
  explicit FillLibrary(std::string task_dir) : m_task_dir(std::move(task_dir)) {}
  base::Expected<inputs::FillSources> sources(const protocol::FillOrder& order);

private:
  std::string m_task_dir;
  std::map<std::string, std::string> m_files;
  std::map<std::string, void*> m_libraries;
};

class Buffers {
public:
  static base::Expected<Buffers>
  make(model::ArenaPlan plan, std::vector<protocol::ArenaTensor> tensors, const std::string& tag);
  int fd() const { return m_fd.get(); }

  base::Status fill(const FillRequest& request, FillLibrary& library);
  void poison(inputs::Sentinel sentinel, const std::vector<int>& sets);
  std::vector<BufferFinding> check(const std::vector<int>& sets, std::int64_t& bytes_checked) const;
  std::vector<std::uint64_t> sums() const;
  base::Expected<std::span<std::byte>> buffer(int tensor, int set);

private:
  bool wanted(const model::BufferPlace& place, const std::vector<int>& sets) const;
  std::span<std::byte> bytes_of(const model::BufferPlace& place) const;
  void lay_red_zones(const model::BufferPlace& place);
  void check_red_zones(const model::BufferPlace& place, BufferFinding& finding) const;
  void check_content(std::size_t index, BufferFinding& finding) const;
  const protocol::ArenaTensor& tensor_of(const model::BufferPlace& place) const {
    return m_tensors[static_cast<std::size_t>(place.tensor)];
  }

  model::ArenaPlan m_plan;
  std::vector<protocol::ArenaTensor> m_tensors;
  base::UniqueFd m_fd;
  base::Mapping m_mapping;
  std::uint64_t m_red_seed = 0;
  std::vector<std::optional<std::uint64_t>> m_sums;        ///< per place: inputs as filled
  std::vector<std::optional<inputs::Sentinel>> m_poisoned; ///< per place: with what
};

} // namespace ako::keeper
