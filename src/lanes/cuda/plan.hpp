// Parts of planning that the reading side asks for again.
#pragma once

#include "lanes/cuda/features.hpp"
#include "lanes/lane.hpp"

namespace ako::lanes::cuda {

/// kernel.architectures, or the device's own, with the suffix that the sources need. Kind
/// unsupported when nothing names one, or when none of them runs on the device.
base::Expected<std::vector<Architecture>> architectures_of(const BuildRequest& request);

} // namespace ako::lanes::cuda
