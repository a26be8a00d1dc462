// Which fills the device makes itself, bit for bit as the host's generator does.
#pragma once

#include "device/kernels.hpp"
#include "inputs/recipe.hpp"
#include "model/resolved.hpp"

#include <optional>
#include <vector>

namespace ako::device {

/// A fill as a kernel makes it: everything but destination, stream and the address of the table.
struct DeviceFill {
  FillParams params;
  std::vector<std::byte> table; ///< to be uploaded; empty = none
};
/// nullopt: this fill is made on the host and copied in (structures, recorded and custom fills,
/// fills that a recipe bends, and types without a kernel).
std::optional<DeviceFill> device_fill(const model::ResolvedTensor& tensor,
                                      const model::FillSpec& spec, inputs::Recipe recipe);
/// Puts the stream of one content into the parameters.
void set_streams(FillParams& params, const inputs::StreamId& stream);

} // namespace ako::device
