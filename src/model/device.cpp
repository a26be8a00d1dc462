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

} // namespace

std::optional<LaunchTrouble> launch_trouble(int status) {
  const int error = k_launch_status - status;
  if (error <= 0 || error >= 20000) return std::nullopt;
  for (const Known& each : k_known)
    if (each.error == error)
      return LaunchTrouble{error, each.name, each.cause, each.next, each.machine, each.sticky};
  return LaunchTrouble{error,
                       "cudaError_t " + std::to_string(error),
                       "the CUDA runtime reported an error",
                       "look the number up in the toolkit's list of cudaError_t",
                       false,
                       false};
}

} // namespace ako::model
