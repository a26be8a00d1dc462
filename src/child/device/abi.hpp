// The part of the CUDA driver's, NVRTC's, CUPTI's and NVML's binary interfaces that ako uses,
// declared here: the project builds without CUDA, and one binary serves machines with and without
// it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ako::device::abi {

using Result = int; ///< 0 = success
using Device = int;
using Pointer = std::uint64_t;    ///< device address
using Allocation = std::uint64_t; ///< physical memory of the virtual memory interface
using Context = struct ContextRecord*;
using Stream = struct StreamRecord*;
using Event = struct EventRecord*;
using Module = struct ModuleRecord*;
using Function = struct FunctionRecord*;
using Graph = struct GraphRecord*;
using GraphExec = struct GraphExecRecord*;
using GraphNode = struct GraphNodeRecord*;
using Kernel = struct KernelRecord*; ///< of a library; a Function of it belongs to a context

struct Uuid {
  unsigned char bytes[16];
};
struct Location {
  int type = 1; ///< 1 = device
  int id = 0;
};
struct AllocationProp {
  int type = 1;         ///< 1 = pinned
  int handle_types = 0; ///< 1 = POSIX file descriptor
  Location location;
  void* unused = nullptr;
  struct {
    unsigned char compression = 0, rdma = 0;
    std::uint16_t usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};
static_assert(sizeof(AllocationProp) == 32);
struct AccessDesc {
  Location location;
  int flags = 3; ///< 1 = read, 3 = read and write
};
static_assert(sizeof(AccessDesc) == 12);

inline constexpr int k_posix_fd = 1, k_access_read = 1, k_access_write = 3;
inline constexpr int k_wait_at_least = 0, k_stream_non_blocking = 1, k_capture_relaxed = 2;
inline constexpr unsigned k_host_mapped = 2, k_host_portable = 1;

// Results that say something of their own.
inline constexpr Result k_success = 0, k_invalid_value = 1, k_out_of_memory = 2,
                        k_not_initialized = 3, k_deinitialized = 4, k_no_device = 100,
                        k_invalid_image = 200, k_invalid_context = 201, k_no_binary = 209,
                        k_unsupported_ptx = 222, k_invalid_handle = 400, k_not_found = 500,
                        k_not_ready = 600, k_illegal_address = 700, k_launch_resources = 701,
                        k_launch_timeout = 702, k_launch_failed = 719, k_not_permitted = 800,
                        k_not_supported = 801, k_driver_mismatch = 803, k_unknown = 999;

// Device attributes.
enum Attribute : int {
  k_sm_count = 16,
  k_clock_khz = 13,
  k_integrated = 18,
  k_compute_mode = 20,
  k_ecc = 32,
  k_memory_clock_khz = 36,
  k_memory_bus_bits = 37,
  k_l2_bytes = 38,
  k_threads_per_sm = 39,
  k_major = 75,
  k_minor = 76,
  k_shared_per_sm = 81,
  k_shared_optin = 97,
  k_virtual_memory = 102,
  k_posix_handles = 103,
  k_persisting_l2_bytes = 108
};

/// A stream's attribute 1: which lines of a range of addresses its kernels would keep in the cache.
inline constexpr int k_stream_policy = 1;
struct StreamPolicy {
  Pointer at = 0;
  std::size_t bytes = 0; ///< 0 = none
  float ratio = 0;
  int hit = 0, miss = 0;
  unsigned char unused[36] = {}; ///< of the union of all attributes
};
static_assert(sizeof(StreamPolicy) == 64);

// Nodes of captured graphs, and launches with attributes.
struct KernelNode { // CUDA_KERNEL_NODE_PARAMS, version 2
  Function function = nullptr;
  unsigned grid[3] = {}, block[3] = {}, shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  Kernel kernel = nullptr;
  Context context = nullptr;
};
static_assert(sizeof(KernelNode) == 72);
struct SetNode { // CUDA_MEMSET_NODE_PARAMS
  Pointer to = 0;
  std::size_t pitch = 0;
  unsigned value = 0, element = 0;
  std::size_t width = 0, height = 0;
};
static_assert(sizeof(SetNode) == 40);
struct CopyEnd {
  std::size_t x = 0, y = 0, z = 0, level = 0;
  int memory = 0;
  const void* host = nullptr;
  Pointer device = 0;
  void *array = nullptr, *reserved = nullptr;
  std::size_t pitch = 0, height = 0;
};
struct CopyNode { // CUDA_MEMCPY3D
  CopyEnd from, to;
  std::size_t width = 0, height = 0, depth = 0;
};
static_assert(sizeof(CopyNode) == 200);
union LaunchValue {
  unsigned words[16] = {};
};
struct LaunchAttribute {
  int id = 0, unused = 0;
  LaunchValue value;
};
static_assert(sizeof(LaunchAttribute) == 72);
struct LaunchConfig {
  unsigned grid[3] = {}, block[3] = {}, shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned count = 0;
};
static_assert(sizeof(LaunchConfig) == 56);

enum Limit : int {
  k_limit_stack = 0,
  k_limit_printf = 1,
  k_limit_heap = 2,
  k_limit_fetch = 5,
  k_limit_persisting = 6
};

// clang-format off
//  member               symbol                             parameters
#define AKO_CUDA_CALLS(X)                                                                                      \
  X(init,               "cuInit",                          (unsigned))                                        \
  X(driver_version,     "cuDriverGetVersion",              (int*))                                            \
  X(error_name,         "cuGetErrorName",                  (Result, const char**))                            \
  X(error_text,         "cuGetErrorString",                (Result, const char**))                            \
  X(device_count,       "cuDeviceGetCount",                (int*))                                            \
  X(device_get,         "cuDeviceGet",                     (Device*, int))                                    \
  X(device_name,        "cuDeviceGetName",                 (char*, int, Device))                              \
  X(device_uuid,        "cuDeviceGetUuid_v2",              (Uuid*, Device))                                   \
  X(device_memory,      "cuDeviceTotalMem_v2",             (std::size_t*, Device))                            \
  X(device_attribute,   "cuDeviceGetAttribute",            (int*, int, Device))                               \
  X(device_pci,         "cuDeviceGetPCIBusId",             (char*, int, Device))                              \
  X(context_retain,     "cuDevicePrimaryCtxRetain",        (Context*, Device))                                \
  X(context_release,    "cuDevicePrimaryCtxRelease_v2",    (Device))                                          \
  X(context_use,        "cuCtxSetCurrent",                 (Context))                                         \
  X(context_wait,       "cuCtxSynchronize",                ())                                                \
  X(limit_get,          "cuCtxGetLimit",                   (std::size_t*, int))                               \
  X(limit_set,          "cuCtxSetLimit",                   (int, std::size_t))                                \
  X(persisting_reset,   "cuCtxResetPersistingL2Cache",     ())                                                \
  X(memory_info,        "cuMemGetInfo_v2",                 (std::size_t*, std::size_t*))                      \
  X(memory_take,        "cuMemAlloc_v2",                   (Pointer*, std::size_t))                           \
  X(memory_give,        "cuMemFree_v2",                    (Pointer))                                         \
  X(host_take,          "cuMemHostAlloc",                  (void**, std::size_t, unsigned))                   \
  X(host_give,          "cuMemFreeHost",                   (void*))                                           \
  X(host_address,       "cuMemHostGetDevicePointer_v2",    (Pointer*, void*, unsigned))                       \
  X(copy_in,            "cuMemcpyHtoDAsync_v2",            (Pointer, const void*, std::size_t, Stream))       \
  X(copy_out,           "cuMemcpyDtoHAsync_v2",            (void*, Pointer, std::size_t, Stream))             \
  X(copy_within,        "cuMemcpyDtoDAsync_v2",            (Pointer, Pointer, std::size_t, Stream))           \
  X(set_bytes,          "cuMemsetD8Async",                 (Pointer, unsigned char, std::size_t, Stream))     \
  X(vm_granularity,     "cuMemGetAllocationGranularity",   (std::size_t*, const AllocationProp*, int))        \
  X(vm_create,          "cuMemCreate",                     (Allocation*, std::size_t, const AllocationProp*, unsigned long long)) \
  X(vm_release,         "cuMemRelease",                    (Allocation))                                      \
  X(vm_export,          "cuMemExportToShareableHandle",    (void*, Allocation, int, unsigned long long))      \
  X(vm_import,          "cuMemImportFromShareableHandle",  (Allocation*, void*, int))                         \
  X(vm_reserve,         "cuMemAddressReserve",             (Pointer*, std::size_t, std::size_t, Pointer, unsigned long long)) \
  X(vm_unreserve,       "cuMemAddressFree",                (Pointer, std::size_t))                            \
  X(vm_map,             "cuMemMap",                        (Pointer, std::size_t, std::size_t, Allocation, unsigned long long)) \
  X(vm_unmap,           "cuMemUnmap",                      (Pointer, std::size_t))                            \
  X(vm_access,          "cuMemSetAccess",                  (Pointer, std::size_t, const AccessDesc*, std::size_t)) \
  X(stream_make,        "cuStreamCreate",                  (Stream*, unsigned))                               \
  X(stream_end,         "cuStreamDestroy_v2",              (Stream))                                          \
  X(stream_wait,        "cuStreamSynchronize",             (Stream))                                          \
  X(stream_query,       "cuStreamQuery",                   (Stream))                                          \
  X(stream_gate,        "cuStreamWaitValue32_v2",          (Stream, Pointer, std::uint32_t, unsigned))        \
  X(stream_get,         "cuStreamGetAttribute",            (Stream, int, void*))                             \
  X(stream_set,         "cuStreamSetAttribute",            (Stream, int, const void*))                       \
  X(capture_begin,      "cuStreamBeginCapture_v2",         (Stream, int))                                     \
  X(capture_end,        "cuStreamEndCapture",              (Stream, Graph*))                                  \
  X(event_make,         "cuEventCreate",                   (Event*, unsigned))                                \
  X(event_end,          "cuEventDestroy_v2",               (Event))                                           \
  X(event_record,       "cuEventRecord",                   (Event, Stream))                                   \
  X(event_elapsed,      "cuEventElapsedTime",              (float*, Event, Event))                            \
  X(module_load,        "cuModuleLoadData",                (Module*, const void*))                            \
  X(module_end,         "cuModuleUnload",                  (Module))                                          \
  X(module_function,    "cuModuleGetFunction",             (Function*, Module, const char*))                  \
  X(launch,             "cuLaunchKernel",                  (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)) \
  X(graph_make,         "cuGraphInstantiateWithFlags",     (GraphExec*, Graph, unsigned long long))           \
  X(graph_upload,       "cuGraphUpload",                   (GraphExec, Stream))                             \
  X(graph_launch,       "cuGraphLaunch",                   (GraphExec, Stream))                               \
  X(graph_end,          "cuGraphDestroy",                  (Graph))                                           \
  X(graph_exec_end,     "cuGraphExecDestroy",              (GraphExec))

// Newer than the rest: without them nothing is replayed, and all else works.
#define AKO_REPLAY_CALLS(X)                                                                                    \
  X(launch,             "cuLaunchKernelEx",                (const LaunchConfig*, Function, void**, void**))  \
  X(function_get,       "cuFuncGetAttribute",              (int*, int, Function))                            \
  X(function_set,       "cuFuncSetAttribute",              (Function, int, int))                             \
  X(function_name,      "cuFuncGetName",                   (const char**, Function))                         \
  X(function_parameter, "cuFuncGetParamInfo",              (Function, std::size_t, std::size_t*, std::size_t*)) \
  X(kernel_function,    "cuKernelGetFunction",             (Function*, Kernel))                              \
  X(graph_nodes,        "cuGraphGetNodes",                 (Graph, GraphNode*, std::size_t*))                \
  X(graph_edges,        "cuGraphGetEdges",                 (Graph, GraphNode*, GraphNode*, std::size_t*))    \
  X(node_type,          "cuGraphNodeGetType",              (GraphNode, int*))                                \
  X(node_kernel,        "cuGraphKernelNodeGetParams_v2",   (GraphNode, KernelNode*))                         \
  X(node_attribute,     "cuGraphKernelNodeGetAttribute",   (GraphNode, int, LaunchValue*))                   \
  X(node_copy,          "cuGraphMemcpyNodeGetParams",      (GraphNode, CopyNode*))                           \
  X(node_set,           "cuGraphMemsetNodeGetParams",      (GraphNode, SetNode*))

using NvrtcProgram = struct NvrtcProgramRecord*;
#define AKO_NVRTC_CALLS(X)                                                                                     \
  X(version,            "nvrtcVersion",                    (int*, int*))                                      \
  X(create,             "nvrtcCreateProgram",              (NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(compile,            "nvrtcCompileProgram",             (NvrtcProgram, int, const char* const*))           \
  X(log_size,           "nvrtcGetProgramLogSize",          (NvrtcProgram, std::size_t*))                      \
  X(log,                "nvrtcGetProgramLog",              (NvrtcProgram, char*))                             \
  X(cubin_size,         "nvrtcGetCUBINSize",               (NvrtcProgram, std::size_t*))                      \
  X(cubin,              "nvrtcGetCUBIN",                   (NvrtcProgram, char*))                             \
  X(destroy,            "nvrtcDestroyProgram",             (NvrtcProgram*))

struct ActivityHead; // every record begins with its kind
using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
using CompleteBuffer = void (*)(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size, std::size_t valid);
#define AKO_CUPTI_CALLS(X)                                                                                     \
  X(version,            "cuptiGetVersion",                 (std::uint32_t*))                                  \
  X(enable,             "cuptiActivityEnable",             (int))                                             \
  X(disable,            "cuptiActivityDisable",            (int))                                             \
  X(callbacks,          "cuptiActivityRegisterCallbacks",  (RequestBuffer, CompleteBuffer))                   \
  X(flush,              "cuptiActivityFlushAll",           (std::uint32_t))                                   \
  X(next,               "cuptiActivityGetNextRecord",      (std::uint8_t*, std::size_t, ActivityHead**))      \
  X(dropped,            "cuptiActivityGetNumDroppedRecords", (Context, std::uint32_t, std::size_t*))          \
  X(error_text,         "cuptiGetResultString",            (Result, const char**))
inline constexpr int k_activity_copy = 1, k_activity_set = 2, k_activity_kernel = 10;
inline constexpr Result k_cupti_no_more = 12; // CUPTI_ERROR_MAX_LIMIT_REACHED

using NvmlDevice = struct NvmlDeviceRecord*;
struct NvmlProcess { // nvmlProcessInfo_t, version 2 and 3 of the calls
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct NvmlUtilization {
  unsigned gpu, memory;
};
#define AKO_NVML_CALLS(X)                                                                                      \
  X(init,               "nvmlInit_v2",                     ())                                                \
  X(shutdown,           "nvmlShutdown",                    ())                                                \
  X(error_text,         "nvmlErrorString",                 (Result))                                          \
  X(driver_version,     "nvmlSystemGetDriverVersion",      (char*, unsigned))                                 \
  X(by_uuid,            "nvmlDeviceGetHandleByUUID",       (const char*, NvmlDevice*))                        \
  X(clock,              "nvmlDeviceGetClockInfo",          (NvmlDevice, int, unsigned*))                      \
  X(clock_max,          "nvmlDeviceGetMaxClockInfo",       (NvmlDevice, int, unsigned*))                      \
  X(power,              "nvmlDeviceGetPowerUsage",         (NvmlDevice, unsigned*))                           \
  X(power_limit,        "nvmlDeviceGetEnforcedPowerLimit", (NvmlDevice, unsigned*))                           \
  X(temperature,        "nvmlDeviceGetTemperature",        (NvmlDevice, int, unsigned*))                      \
  X(reasons,            "nvmlDeviceGetCurrentClocksThrottleReasons", (NvmlDevice, unsigned long long*))       \
  X(processes,          "nvmlDeviceGetComputeRunningProcesses_v3", (NvmlDevice, unsigned*, NvmlProcess*))     \
  X(utilization,        "nvmlDeviceGetUtilizationRates",   (NvmlDevice, NvmlUtilization*))                    \
  X(mig_mode,           "nvmlDeviceGetMigMode",            (NvmlDevice, unsigned*, unsigned*))                \
  X(persistence,        "nvmlDeviceGetPersistenceMode",    (NvmlDevice, unsigned*))
// clang-format on

} // namespace ako::device::abi
