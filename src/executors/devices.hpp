// The devices of this machine as `ako-child devices` lists them, and the choice of one.
#pragma once

#include "base/fs.hpp"
#include "base/json.hpp"
#include "model/build_plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::executors {

struct Device {
  std::string uuid, name, pci;
  std::string architecture; ///< "sm_90"
  std::string compute_mode; ///< "default", "exclusive process", "prohibited"
  bool visible = true;      ///< CUDA_VISIBLE_DEVICES lets it through
};

struct Inventory {
  std::vector<Device> devices; ///< in the driver's order: the index that `ako doctor` shows
  std::string problem, remedy; ///< why there are none
};

/// Kind environment for JSON that is not the child's answer.
base::Expected<Inventory> inventory_from_json(const base::Json& json);

/// Asks `program` (ako-child). Kind environment when it gives no answer.
base::Expected<Inventory> ask_inventory(const base::fs::path& program,
                                        const model::CommandRunner& runner);

/// `wish`: an index, a UUID or a beginning of one that fits a single device; absent = the first
/// visible device. Kind environment when there is none; usage, listing the devices, for a wish that
/// fits none or several; refused for one that CUDA_VISIBLE_DEVICES hides or that is prohibited.
base::Expected<Device> choose_device(const Inventory& inventory,
                                     const std::optional<std::string>& wish);

/// Its name among leases: "gpu-<uuid>".
std::string lease_name(const Device& device);

} // namespace ako::executors
