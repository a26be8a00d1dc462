// What devices are here, what each can do, and for whatever is missing why and what to do.
#pragma once

#include "base/json.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::device {

/// {libraries: {cuda, nvrtc, cupti, nvml: {path} or {reason, remedy}}, devices: [...], problem}
base::Json inventory();

/// CUDA_VISIBLE_DEVICES applied to devices in the driver's own order: indices ("0,2"), UUIDs and
/// unique beginnings of them ("GPU-0f1e"), MIG names; the list ends at the first word that names no
/// device ("-1", "NoDevFiles"), and is empty when a device is named twice. nullopt = not set.
std::vector<std::string> visible_uuids(const std::optional<std::string>& value,
                                       const std::vector<std::string>& uuids);

} // namespace ako::device
