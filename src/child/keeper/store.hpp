// The buffers of one placement, wherever they lie: host memory (buffers.hpp) or a device
// (device_buffers.hpp).
#pragma once

#include "base/fd.hpp"
#include "inputs/poison.hpp"
#include "inputs/recipe.hpp"
#include "model/arena.hpp"
#include "protocol/values.hpp"

#include <cstdint>
#include <map>
#include <optional>
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
  bool fresh_only = false;
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

/// Addresses are the host's or the device's; they mean nothing outside their store.
struct Region {
  std::uint64_t at = 0;
  std::int64_t bytes = 0;
};

class Store {
public:
  virtual ~Store() = default;
  /// What is handed out when the store was made, in this order.
  virtual std::vector<int> fds() const = 0;
  virtual base::Status fill(const FillRequest& request, FillLibrary& library) = 0;
  virtual base::Status poison(inputs::Sentinel sentinel, const std::vector<int>& sets) = 0;
  /// Only those where something is not as it must be.
  virtual base::Expected<std::vector<BufferFinding>> check(const std::vector<int>& sets,
                                                           std::int64_t& bytes_checked) = 0;
  virtual base::Expected<std::vector<std::uint64_t>> sums() = 0;
  virtual base::Expected<Region> region(int tensor, int set) const = 0;
  virtual base::Status move(const Region& to, const Region& from) = 0;
  /// Between the buffer and the host's view of it, where these are two things.
  virtual base::Status read(int tensor, int set) = 0;
  virtual base::Status write(int tensor, int set) = 0;
};

// What every store goes by.
inline bool is_input(model::TensorRole role) { return role == model::TensorRole::in; }
inline bool is_filled(model::TensorRole role) {
  return role == model::TensorRole::in || role == model::TensorRole::inout;
}
bool is_poisoned(const protocol::ArenaTensor& tensor);
/// Whether a command for these sets (empty = all) means this place; static tensors belong to every
/// set.
bool is_wanted(const model::BufferPlace& place, const protocol::ArenaTensor& tensor,
               const std::vector<int>& sets);
base::Status check_plan(const model::ArenaPlan& plan, std::size_t tensors);
std::uint64_t random_word();

} // namespace ako::keeper
