// Function tables of libraries that are found at run time.
#pragma once

#include "base/error.hpp"
#include "device/abi.hpp"

#include <string>
#include <vector>

namespace ako::device::abi {

struct Cuda {
#define AKO_X(member, symbol, parameters) Result(*member) parameters = nullptr;
  AKO_CUDA_CALLS(AKO_X)
#undef AKO_X
};
struct Replay {
#define AKO_X(member, symbol, parameters) Result(*member) parameters = nullptr;
  AKO_REPLAY_CALLS(AKO_X)
#undef AKO_X
};
struct Nvrtc {
#define AKO_X(member, symbol, parameters) Result(*member) parameters = nullptr;
  AKO_NVRTC_CALLS(AKO_X)
#undef AKO_X
};
struct Cupti {
#define AKO_X(member, symbol, parameters) Result(*member) parameters = nullptr;
  AKO_CUPTI_CALLS(AKO_X)
#undef AKO_X
};
struct Nvml {
#define AKO_X(member, symbol, parameters) Result(*member) parameters = nullptr;
  AKO_NVML_CALLS(AKO_X)
#undef AKO_X
};

} // namespace ako::device::abi

namespace ako::device {

using abi::Cuda, abi::Cupti, abi::Nvml, abi::Nvrtc;
using ReplayCalls = abi::Replay;

/// Where a library was found, or why it was not.
struct Found {
  std::string path;   ///< empty = not found
  std::string reason; ///< of what is missing: library, or symbols
  std::string remedy;
};

/// Tables of this process; each is looked for once and stays loaded. $AKO_GPU_PATH (folders, colon
/// separated) is looked through first. Kind unsupported: not here, with reason and remedy.
base::Expected<const Cuda*> cuda();
base::Expected<const ReplayCalls*> replay();
base::Expected<const Nvrtc*> nvrtc();
base::Expected<const Cupti*> cupti();
base::Expected<const Nvml*> nvml();
/// The same as facts, for the inventory.
Found found_cuda();
Found found_nvrtc();
Found found_cupti();
Found found_nvml();

/// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered".
std::string words_of(const Cuda& cuda, abi::Result result);

} // namespace ako::device
