#include "model/device.hpp"

namespace ako::model {

namespace {

struct Known {
  int error;
  const char* name;
  const char* cause;
  const char* next;
  bool machine = false, sticky = false;
};

// The numbers are those of cudaError_t, which never change their meaning.
constexpr Known k_known[] = {
    {1, "cudaErrorInvalidValue",
     "an argument of a launch or runtime call is out of range: more dynamic shared memory than the "
     "kernel was allowed, a grid or block of zero, a bad pointer",
     "check the launch's sizes; above 48 KiB of dynamic shared memory call "
     "cudaFuncSetAttribute(kernel, "
     "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first"},
    {2, "cudaErrorMemoryAllocation", "the device has no memory left for what was asked",
     "ask for less, free what is kept between calls, or see who else uses the device", false},
    {9, "cudaErrorInvalidConfiguration",
     "the launch asks for what no block can have: more than 1024 threads, or a grid beyond its "
     "limits",
     "correct the grid and block"},
    {35, "cudaErrorInsufficientDriver",
     "the driver is older than the CUDA toolkit the code was built with",
     "update the driver, or build with a toolkit the driver knows: name its nvcc in "
     "kernel.compiler",
     true},
    {46, "cudaErrorDevicesUnavailable",
     "the device is busy or in exclusive mode with another process",
     "end the other process, or choose another device with --device", true},
    {98, "cudaErrorInvalidDeviceFunction", "the kernel is not in the image that was loaded",
     "build for this device's architecture: kernel.architectures"},
    {100, "cudaErrorNoDevice", "no CUDA device is visible",
     "look at CUDA_VISIBLE_DEVICES and `ako doctor`", true},
    {200, "cudaErrorInvalidKernelImage",
     "the image in the library is damaged or of no architecture that the device knows",
     "build again; give the device's architecture in kernel.architectures"},
    {209, "cudaErrorNoKernelImageForDevice",
     "the library holds no code for this device's architecture",
     "add the device's architecture to kernel.architectures (code for sm_90a runs on no other)"},
    {218, "cudaErrorInvalidPtx", "PTX text could not be compiled by the driver",
     "build a cubin for the architecture instead"},
    {222, "cudaErrorUnsupportedPtxVersion", "the PTX is newer than the driver",
     "update the driver, or build with an older toolkit", true},
    {700, "cudaErrorIllegalAddress", "a kernel read or wrote memory that is not its own",
     "check indices and sizes; compute-sanitizer names the thread and the address", false, true},
    {701, "cudaErrorLaunchOutOfResources",
     "the launch needs more registers or shared memory than one multiprocessor has",
     "use fewer threads a block, or bound the registers with __launch_bounds__"},
    {702, "cudaErrorLaunchTimeout", "the kernel ran into the display's watchdog",
     "use a device without a display, or make the kernel shorter", false, true},
    {710, "cudaErrorAssert", "an assert in a kernel failed", "see what was printed", false, true},
    {714, "cudaErrorHardwareStackError", "a stack overflow in a kernel",
     "use less local memory or recursion", false, true},
    {715, "cudaErrorIllegalInstruction", "a kernel met an instruction the device cannot run",
     "check inline PTX, and that the architecture is the device's", false, true},
    {716, "cudaErrorMisalignedAddress",
     "a kernel read or wrote at an address that is no multiple of the access's size",
     "a 16-byte access needs a 16-byte aligned address: check row strides and tails", false, true},
    {717, "cudaErrorInvalidAddressSpace", "an address of the wrong space was used",
     "check generic and shared addresses", false, true},
    {718, "cudaErrorInvalidPc", "a jump to no code", "check function pointers and stack", false,
     true},
    {719, "cudaErrorLaunchFailure", "a kernel ended by an exception on the device",
     "compute-sanitizer names the place", false, true},
    {720, "cudaErrorCooperativeLaunchTooLarge",
     "a cooperative launch has more blocks than fit at once",
     "launch no more blocks than cudaOccupancyMaxActiveBlocksPerMultiprocessor gives"},
    {802, "cudaErrorSystemNotReady", "the fabric manager or driver is not ready",
     "see the machine's logs", true},
    {803, "cudaErrorSystemDriverMismatch", "driver and user library are of different versions",
     "restart the machine or the container after the driver's update", true},
    {900, "cudaErrorStreamCaptureUnsupported",
     "a call that cannot be captured was made while capturing",
     "allocate and synchronise outside the entry, or say capturable = false"},
    {901, "cudaErrorStreamCaptureInvalidated", "the capture was broken by an earlier error",
     "allocate and synchronise outside the entry, or say capturable = false"},
    {906, "cudaErrorStreamCaptureImplicit", "work on the default stream while capturing",
     "launch on the stream that the entry is given"},
};

// The numbers are those of cutlass::Status.
constexpr Known k_cutlass[] = {
    {1, "cutlass::Status::kErrorMisalignedOperand",
     "an operand's address or leading dimension is no multiple of what the kernel's alignment asks",
     "declare the axis with multiple_of (8 for two-byte, 16 for one-byte types under TMA), or "
     "lower "
     "the alignment and take a cp.async schedule"},
    {2, "cutlass::Status::kErrorInvalidDataType", "the kernel does not take this type of operand",
     "instantiate it for the contract's dtypes"},
    {3, "cutlass::Status::kErrorInvalidLayout", "the kernel does not take this layout of operand",
     "instantiate it for the contract's layouts"},
    {4, "cutlass::Status::kErrorInvalidProblem",
     "can_implement refuses this size: alignment of a leading dimension, a tile or cluster that "
     "does "
     "not fit it, or a mode that the kernel has not",
     "declare in [axes] what the kernel can do (min, multiple_of), or take another kernel for the "
     "rest"},
    {5, "cutlass::Status::kErrorNotSupported", "the kernel is not there for this device",
     "build for the device's architecture, with the suffix a for sm_90 and newer"},
    {6, "cutlass::Status::kErrorWorkspaceNull",
     "the kernel needs a workspace, and has none or one that is too small",
     "declare a tensor of role workspace of get_workspace_size bytes for the largest shape and "
     "hand "
     "it over"},
    {7, "cutlass::Status::kErrorInternal",
     "initialising failed: most often the kernel wants more shared memory than a block can have "
     "(the "
     "epilogue was not carved out of the stages), its cluster does not fit, or the image lacks "
     "the architecture's suffix a",
     "use StageCountAutoCarveout<sizeof(typename CollectiveEpilogue::SharedStorage)>, fewer stages "
     "or a smaller tile; build for sm_90a"},
    {8, "cutlass::Status::kErrorArchMismatch", "the kernel was built for another device",
     "name the device's architecture in kernel.architectures"},
    {9, "cutlass::Status::kErrorInsufficientDriver", "the driver is older than the kernel needs",
     "update the driver", true},
    {10, "cutlass::Status::kErrorMemoryAllocation", "the device has no memory left for the launch",
     "ask for less, or see who else uses the device"},
    {11, "cutlass::Status::kInvalid", "the status was never set", "set it in the entry"},
};

LaunchTrouble in_words(const Known& each) {
  return {each.error, each.name, each.cause, each.next, each.machine, each.sticky};
}

} // namespace

std::optional<LaunchTrouble> launch_trouble(int status) {
  for (const Known& each : k_cutlass)
    if (each.error == k_cutlass_status - status) return in_words(each);
  const int error = k_launch_status - status;
  if (error <= 0 || error >= 20000) return std::nullopt;
  for (const Known& each : k_known)
    if (each.error == error) return in_words(each);
  return LaunchTrouble{error,
                       "cudaError_t " + std::to_string(error),
                       "the CUDA runtime reported an error",
                       "look the number up in the toolkit's list of cudaError_t",
                       false,
                       false};
}

} // namespace ako::model
