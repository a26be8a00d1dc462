// The trusted child that owns every buffer. One per device in use.
#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "client/arena.hpp"
#include "inputs/poison.hpp"
#include "inputs/recipe.hpp"
#include "model/contract.hpp"
#include "model/device.hpp"
#include "model/resolved.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ako::client {

/// ako-child beside the running program, or in ../libexec/ako, or $AKO_CHILD.
base::Expected<std::filesystem::path> find_child_program();
/// libako_worker.so, by which an interpreter becomes a worker: beside that program or in ../lib.
base::Expected<std::filesystem::path> find_worker_library(const std::filesystem::path& program);

struct KeeperOptions {
  std::filesystem::path program;  ///< empty = find_child_program()
  std::filesystem::path task_dir; ///< recorded and custom fills are read from here
  std::vector<int> cores;         ///< where its clock probe runs; empty = not pinned
  /// Bytes of the read-only buffer that workers sweep to evict the last-level cache; 0 = twice
  /// that cache. -1 = none (warm jobs alone).
  std::int64_t evict_bytes = 0;
  std::optional<model::DeviceId> device; ///< where the buffers lie; absent = host memory
  std::filesystem::path cache_dir;       ///< compiled kernels are kept there; empty = not kept
  double deadline_seconds = 60;          ///< of one command
};

/// What to fill: contents depend on (seed, epoch, tensor, set), fill and recipe alone.
struct FillJob {
  const model::Contract* contract = nullptr;
  const model::ResolvedShape* shape = nullptr;
  inputs::Recipe recipe = inputs::Recipe::plain;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0; ///< another content for the same seed: count up for every block
  std::vector<int> sets;   ///< empty = all of the arena's
  enum class Tensors { all, fresh } tensors = Tensors::all; ///< fresh: leave static ones alone
  /// custom fills: the built library by tensor index (a path; it has inputs::k_fill_symbol).
  std::map<int, std::filesystem::path> custom_libraries;
};

/// Elements and bytes that are not as they must be in one buffer.
struct BufferCheck {
  int tensor = 0, set = 0;
  std::int64_t unwritten = 0; ///< elements that still hold poison beyond doubt
  /// Elements that hold the poison of a type where an honest answer may hold it by chance: poison
  /// with the other sentinel, run again; what is doubtful in both runs was never written
  /// (inputs::confirm_poison on the two outputs).
  std::int64_t doubtful = 0;
  std::int64_t first = -1, last = -1;         ///< row-major element index of those; -1 = none
  std::int64_t red_before = 0, red_after = 0; ///< damaged bytes of the red zone on that side
  /// Of the damaged byte nearest to the buffer, counted from it: -1 = the byte just before it, 0 =
  /// the byte just past its end.
  std::int64_t red_distance = 0;
  std::int64_t gap_damage = 0; ///< elements written between the strides of an output
  bool input_changed = false;  ///< an `in` tensor differs from its checksum after the fill
  bool damaged() const {       ///< anything but unwritten or doubtful elements
    return red_before != 0 || red_after != 0 || gap_damage != 0 || input_changed;
  }
};

struct CheckReport {
  std::vector<BufferCheck> buffers; ///< only those where something is not as it must be
  bool clean() const { return buffers.empty(); }
  std::int64_t bytes_checked = 0;
};

/// Cumulative counters and one clock probe. Two of them make a block's state: see block_state().
struct MachineState {
  double adds_per_ns = 0; ///< dependent adds: the core's clock in GHz
  std::vector<int> cores;
  std::vector<std::int64_t> busy_ns; ///< per core, all work, since boot
  std::vector<std::int64_t> steal_ns;
  std::int64_t at_ns = 0; ///< monotonic
  std::int64_t busy_resolution_ns = 0;
  std::optional<double> temperature_c;
  base::Json device; ///< empty on the cpu lane; else sm_mhz, power_w, reasons, processes, ...
};

/// foreign_load of the cores between two states, in [0, 1]: their busy and stolen time less
/// `own_cpu_ns` (what the processes under measurement and the keeper used), over their time.
double foreign_load(const MachineState& before, const MachineState& after, std::int64_t own_cpu_ns);

struct CopyStep {
  int from_tensor = 0, from_set = 0, to_tensor = 0, to_set = 0;
};

enum class ArenaUse { shared, reference };

/// Every member is a command to the keeper and waits for its answer. Errors are ako's or the
/// machine's, never the candidate's.
class Keeper {
public:
  static base::Expected<Keeper> start(KeeperOptions options);
  Keeper(Keeper&&) noexcept;
  Keeper& operator=(Keeper&&) noexcept;
  ~Keeper(); ///< ends the process; arenas stay mapped where they are mapped

  /// Makes the memory (reserved, zero, red zones laid) and maps it in the keeper and, read only,
  /// here. plan.address 0 = next_arena_address(). ArenaUse::reference: close-compared floating
  /// outputs have the contract's reference precision. Kind environment when memory is short.
  base::Expected<Arena> create_arena(const model::Contract& contract,
                                     const model::ResolvedShape& shape, model::ArenaPlan plan,
                                     std::string tag, ArenaUse use = ArenaUse::shared);
  base::Status destroy_arena(Arena arena);

  /// Fills every `in` and `inout` tensor of the sets, zeroes workspaces that say so, and notes the
  /// checksums of the inputs. Red zones are laid anew.
  base::Status fill(const Arena& arena, const FillJob& job);
  /// Poisons outputs and undefined workspaces of the sets, and lays red zones anew.
  base::Status poison(const Arena& arena, inputs::Sentinel sentinel,
                      const std::vector<int>& sets = {});
  /// Against the last poison and fill. What written outputs hold is the judge's.
  base::Expected<CheckReport> check(const Arena& arena, const std::vector<int>& sets = {});
  /// One sum per place of the plan as it stands now (0 for what is no input): equal fills give
  /// equal sums.
  base::Expected<std::vector<std::uint64_t>> checksum_inputs(const Arena& arena);
  /// Copies whole buffers (inouts into the reference's arena). Sizes must agree.
  base::Status copy(const Arena& from, const Arena& to, const std::vector<CopyStep>& steps);

  /// On a device: brings one buffer into the arena's host view, or takes it from there.
  base::Status read(const Arena& arena, int tensor, int set);
  base::Status write(const Arena& arena, int tensor, int set);

  /// Reads the eviction buffer on every one of its cores. Nothing on a device, or without one.
  base::Status sweep();

  base::Expected<MachineState> machine_state(const std::vector<int>& cores);
  std::int64_t evict_bytes() const;
  int evict_fd() const; ///< -1 when there is none
  bool on_device() const;
  const base::Json& device_facts() const; ///< empty on the host
  int image_fd() const;                   ///< on a device: of ako's kernels
  std::int64_t image_bytes() const;
  std::int64_t cache_bytes() const; ///< last-level cache as found
  std::int64_t cpu_ns() const;      ///< processor time the keeper has used, from outside
  int pid() const;

private:
  Keeper();
  struct State;
  std::unique_ptr<State> m_state;
};

} // namespace ako::client
