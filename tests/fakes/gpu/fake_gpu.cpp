// The scripted driver: the C symbols of libcuda, NVRTC, CUPTI and NVML that ako looks up, over host
// memory. Loaded through AKO_GPU_PATH by the very code that loads the real ones.
#include "device/abi.hpp"
#include "fakes/gpu/machine.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace ako::fakes;
using namespace ako::device::abi;

#define FAKE(result, name) extern "C" __attribute__((visibility("default"))) result name
#define SCRIPTED(name)                                                                             \
  if (const int scripted = Script::of_this_process().failure(#name)) return scripted

Machine& machine() { return Machine::of_this_process(); }
FakeStream* stream_of(Stream stream) {
  static FakeStream legacy;
  return stream ? reinterpret_cast<FakeStream*>(stream) : &legacy;
}

struct Physical {
  int fd = -1;
  std::size_t bytes = 0;
};
std::map<Allocation, Physical> g_physical;
Allocation g_next = 1;
std::map<Pointer, std::size_t> g_sizes; ///< of plain device memory
std::size_t g_taken = 0;
constexpr std::size_t k_granularity = 2 << 20;

} // namespace

FAKE(int, cuInit)(unsigned) {
  SCRIPTED(cuInit);
  return 0;
}
FAKE(int, cuDriverGetVersion)(int* version) {
  *version = 13000;
  return 0;
}
FAKE(int, cuGetErrorName)(int result, const char** name) {
  switch (result) {
  case k_out_of_memory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
  case k_illegal_address: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
  case k_not_supported: *name = "CUDA_ERROR_NOT_SUPPORTED"; return 0;
  default: *name = "CUDA_ERROR_UNKNOWN"; return 0;
  }
}
FAKE(int, cuGetErrorString)(int, const char** text) {
  *text = "as the script says";
  return 0;
}
FAKE(int, cuDeviceGetCount)(int* count) {
  SCRIPTED(cuDeviceGetCount);
  *count = Script::of_this_process().devices();
  return 0;
}
FAKE(int, cuDeviceGet)(Device* device, int ordinal) {
  SCRIPTED(cuDeviceGet);
  *device = ordinal;
  return 0;
}
FAKE(int, cuDeviceGetName)(char* name, int size, Device) {
  std::strncpy(name, "Scripted device", static_cast<std::size_t>(size));
  return 0;
}
FAKE(int, cuDeviceGetUuid_v2)(Uuid* uuid, Device device) {
  for (int i = 0; i < 16; ++i)
    uuid->bytes[i] = static_cast<unsigned char>(i == 0 ? 0xa0 + device : i);
  return 0;
}
FAKE(int, cuDeviceTotalMem_v2)(std::size_t* bytes, Device) {
  *bytes = std::size_t{1} << 30;
  return 0;
}
FAKE(int, cuDeviceGetAttribute)(int* value, int which, Device) {
  SCRIPTED(cuDeviceGetAttribute);
  static const std::map<int, int> usual{
      {k_sm_count, 4}, {k_clock_khz, 1000000}, {k_l2_bytes, 1 << 20}, {k_threads_per_sm, 2048},
      {k_major, 9},    {k_virtual_memory, 1},  {k_posix_handles, 1},  {k_shared_optin, 232448}};
  const auto at = usual.find(which);
  *value = Script::of_this_process().attribute(which, at == usual.end() ? 0 : at->second);
  return 0;
}
FAKE(int, cuDeviceGetPCIBusId)(char* text, int size, Device) {
  std::strncpy(text, "0000:00:06.0", static_cast<std::size_t>(size));
  return 0;
}
FAKE(int, cuDevicePrimaryCtxRetain)(Context* context, Device) {
  SCRIPTED(cuDevicePrimaryCtxRetain);
  *context = reinterpret_cast<Context>(16);
  return 0;
}
FAKE(int, cuDevicePrimaryCtxRelease_v2)(Device) { return 0; }
FAKE(int, cuCtxSetCurrent)(Context) {
  SCRIPTED(cuCtxSetCurrent);
  return 0;
}
FAKE(int, cuCtxSynchronize)() {
  SCRIPTED(cuCtxSynchronize);
  for (auto* stream : machine().streams)
    if (const int result = machine().drain(stream)) return result;
  return 0;
}
FAKE(int, cuCtxGetLimit)(std::size_t* value, int) {
  *value = 1024;
  return 0;
}
FAKE(int, cuCtxSetLimit)(int, std::size_t) { return 0; }
FAKE(int, cuCtxResetPersistingL2Cache)() { return 0; }
FAKE(int, cuMemGetInfo_v2)(std::size_t* free, std::size_t* total) {
  *total = std::size_t{1} << 30;
  *free = (std::size_t{64} << 20) - g_taken;
  return 0;
}
FAKE(int, cuMemAlloc_v2)(Pointer* at, std::size_t bytes) {
  SCRIPTED(cuMemAlloc_v2);
  *at = reinterpret_cast<Pointer>(std::calloc(1, bytes));
  g_taken += g_sizes[*at] = bytes;
  return *at ? 0 : k_out_of_memory;
}
FAKE(int, cuMemFree_v2)(Pointer at) {
  g_taken -= g_sizes[at];
  std::free(reinterpret_cast<void*>(at));
  return 0;
}
FAKE(int, cuMemHostAlloc)(void** at, std::size_t bytes, unsigned) {
  SCRIPTED(cuMemHostAlloc);
  *at = std::calloc(1, bytes);
  return *at ? 0 : k_out_of_memory;
}
FAKE(int, cuMemFreeHost)(void* at) {
  std::free(at);
  return 0;
}
FAKE(int, cuMemHostGetDevicePointer_v2)(Pointer* at, void* host, unsigned) {
  SCRIPTED(cuMemHostGetDevicePointer_v2);
  *at = reinterpret_cast<Pointer>(host);
  return 0;
}

namespace {
struct FakeFunction {
  std::string name;
};
/// What a captured operation is when it is asked; type as the driver counts: 0 kernel, 1 copy, 2
/// set, 3 host function.
struct FakeNode {
  int type = 3;
  FakeFunction* function = nullptr;
  unsigned grid = 1, block = 1;
  std::string parameters;
  Pointer to = 0, from = 0;
  unsigned value = 0;
  std::size_t bytes = 0;
};
struct FakeGraph {
  std::vector<std::function<int()>> work;
  std::vector<FakeNode> nodes;
};
struct FakeEvent {
  std::uint64_t at = 0;
};
std::map<FakeStream*, std::vector<FakeNode>> g_captured;
void note(Stream stream, FakeNode node) {
  if (stream_of(stream)->capturing) g_captured[stream_of(stream)].push_back(std::move(node));
}
FakeNode* node_of(GraphNode node) { return reinterpret_cast<FakeNode*>(node); }
} // namespace

namespace {

int transfer(Stream stream, void* to, const void* from, std::size_t bytes) {
  return machine().queue(stream_of(stream), [=] {
    std::memmove(to, from, bytes);
    machine().happen(stream_of(stream), 1, "", 300, static_cast<std::int64_t>(bytes));
    return 0;
  });
}

} // namespace

FAKE(int, cuMemcpyHtoDAsync_v2)(Pointer to, const void* from, std::size_t bytes, Stream stream) {
  SCRIPTED(cuMemcpyHtoDAsync_v2);
  return transfer(stream, reinterpret_cast<void*>(to), from, bytes);
}
FAKE(int, cuMemcpyDtoHAsync_v2)(void* to, Pointer from, std::size_t bytes, Stream stream) {
  SCRIPTED(cuMemcpyDtoHAsync_v2);
  return transfer(stream, to, reinterpret_cast<const void*>(from), bytes);
}
FAKE(int, cuMemcpyDtoDAsync_v2)(Pointer to, Pointer from, std::size_t bytes, Stream stream) {
  SCRIPTED(cuMemcpyDtoDAsync_v2);
  note(stream, {1, nullptr, 1, 1, {}, to, from, 0, bytes});
  return transfer(stream, reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}
FAKE(int, cuMemsetD8Async)(Pointer to, unsigned char value, std::size_t bytes, Stream stream) {
  SCRIPTED(cuMemsetD8Async);
  note(stream, {2, nullptr, 1, 1, {}, to, 0, value, bytes});
  return machine().queue(stream_of(stream), [=] {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    machine().happen(stream_of(stream), 2, "", 300, static_cast<std::int64_t>(bytes));
    return 0;
  });
}

FAKE(int, cuMemGetAllocationGranularity)(std::size_t* bytes, const AllocationProp*, int) {
  SCRIPTED(cuMemGetAllocationGranularity);
  *bytes = k_granularity;
  return 0;
}
FAKE(int, cuMemCreate)
(Allocation* handle, std::size_t bytes, const AllocationProp*, unsigned long long) {
  SCRIPTED(cuMemCreate);
  const int fd = memfd_create("fake-device", MFD_CLOEXEC);
  if (fd < 0 || bytes % k_granularity != 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    return k_invalid_value;
  *handle = g_next++;
  g_physical[*handle] = {fd, bytes};
  return 0;
}
FAKE(int, cuMemRelease)(Allocation handle) {
  const auto at = g_physical.find(handle);
  if (at == g_physical.end()) return k_invalid_value;
  close(at->second.fd);
  g_physical.erase(at);
  return 0;
}
FAKE(int, cuMemExportToShareableHandle)(void* out, Allocation handle, int, unsigned long long) {
  SCRIPTED(cuMemExportToShareableHandle);
  *static_cast<int*>(out) = dup(g_physical.at(handle).fd);
  return 0;
}
FAKE(int, cuMemImportFromShareableHandle)(Allocation* handle, void* in, int) {
  SCRIPTED(cuMemImportFromShareableHandle);
  const int fd = dup(static_cast<int>(reinterpret_cast<std::intptr_t>(in)));
  if (fd < 0) return k_unknown;
  *handle = g_next++;
  g_physical[*handle] = {fd, static_cast<std::size_t>(lseek(fd, 0, SEEK_END))};
  return 0;
}
FAKE(int, cuMemAddressReserve)
(Pointer* at, std::size_t bytes, std::size_t, Pointer wanted, unsigned long long) {
  SCRIPTED(cuMemAddressReserve);
  const auto& script = Script::of_this_process();
  if (bytes > script.most_reserved()) return k_out_of_memory;
  if (script.reserves_elsewhere() || bytes <= script.in_hand()) wanted = 0;
  // An address is a wish: where something lies already, another one comes.
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* got = mmap(reinterpret_cast<void*>(wanted), bytes, PROT_NONE, flags, -1, 0);
  if (got == MAP_FAILED) return k_out_of_memory;
  *at = reinterpret_cast<Pointer>(got);
  return 0;
}
FAKE(int, cuMemAddressFree)(Pointer at, std::size_t bytes) {
  return munmap(reinterpret_cast<void*>(at), bytes) == 0 ? 0 : k_invalid_value;
}
FAKE(int, cuMemMap)
(Pointer at, std::size_t bytes, std::size_t, Allocation handle, unsigned long long) {
  SCRIPTED(cuMemMap);
  void* got = mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                   g_physical.at(handle).fd, 0);
  return got == MAP_FAILED ? k_invalid_value : 0;
}
FAKE(int, cuMemUnmap)(Pointer at, std::size_t bytes) {
  void* got = mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return got == MAP_FAILED ? k_invalid_value : 0;
}
FAKE(int, cuMemSetAccess)(Pointer at, std::size_t bytes, const AccessDesc* access, std::size_t) {
  SCRIPTED(cuMemSetAccess);
  const int protection = access->flags == k_access_read ? PROT_READ : PROT_READ | PROT_WRITE;
  return mprotect(reinterpret_cast<void*>(at), bytes, protection) == 0 ? 0 : k_invalid_value;
}

FAKE(int, cuStreamCreate)(Stream* stream, unsigned) {
  SCRIPTED(cuStreamCreate);
  auto* made = new FakeStream;
  static std::uint32_t next = 13;
  made->id = next++;
  machine().streams.push_back(made);
  *stream = reinterpret_cast<Stream>(made);
  return 0;
}
FAKE(int, cuStreamDestroy_v2)(Stream stream) {
  auto& all = machine().streams;
  const auto at = std::find(all.begin(), all.end(), reinterpret_cast<FakeStream*>(stream));
  if (at == all.end()) return k_invalid_handle;
  g_captured.erase(*at);
  delete *at;
  all.erase(at);
  return 0;
}
FAKE(int, cuStreamSynchronize)(Stream stream) {
  SCRIPTED(cuStreamSynchronize);
  return machine().drain(stream_of(stream));
}
FAKE(int, cuStreamQuery)(Stream) { return 0; }
FAKE(int, cuStreamGetAttribute)(Stream stream, int, void* value) {
  SCRIPTED(cuStreamGetAttribute);
  std::memcpy(value, &stream_of(stream)->policy, sizeof(StreamPolicy));
  return 0;
}
FAKE(int, cuStreamSetAttribute)(Stream stream, int, const void* value) {
  SCRIPTED(cuStreamSetAttribute);
  std::memcpy(&stream_of(stream)->policy, value, sizeof(StreamPolicy));
  return 0;
}
FAKE(int, cuStreamWaitValue32_v2)(Stream stream, Pointer at, std::uint32_t value, unsigned) {
  SCRIPTED(cuStreamWaitValue32_v2);
  if (!Script::of_this_process().has_gate()) return k_not_supported;
  return machine().queue(stream_of(stream), [=] {
    const std::atomic_ref<std::uint32_t> word(*reinterpret_cast<std::uint32_t*>(at));
    while (word.load() < value) usleep(200);
    return 0;
  });
}
FAKE(int, cuStreamBeginCapture_v2)(Stream stream, int) {
  SCRIPTED(cuStreamBeginCapture_v2);
  stream_of(stream)->capturing = true;
  return 0;
}

FAKE(int, cuStreamEndCapture)(Stream stream, Graph* graph) {
  SCRIPTED(cuStreamEndCapture);
  auto* from = stream_of(stream);
  from->capturing = false;
  *graph = reinterpret_cast<Graph>(
      new FakeGraph{std::move(from->captured), std::move(g_captured[from])});
  from->captured.clear();
  g_captured.erase(from);
  return 0;
}
FAKE(int, cuGraphGetNodes)(Graph graph, GraphNode* nodes, std::size_t* count) {
  auto& all = reinterpret_cast<FakeGraph*>(graph)->nodes;
  if (nodes)
    for (std::size_t i = 0; i < all.size(); ++i) nodes[i] = reinterpret_cast<GraphNode>(&all[i]);
  *count = all.size();
  return 0;
}
FAKE(int, cuGraphGetEdges)(Graph graph, GraphNode* from, GraphNode* to, std::size_t* count) {
  SCRIPTED(cuGraphGetEdges);
  auto& all = reinterpret_cast<FakeGraph*>(graph)->nodes;
  *count = all.empty() ? 0 : all.size() - 1;
  for (std::size_t i = 0; from && i < *count; ++i) {
    from[i] = reinterpret_cast<GraphNode>(&all[i]);
    to[i] = reinterpret_cast<GraphNode>(&all[i + 1]);
  }
  return 0;
}
FAKE(int, cuGraphNodeGetType)(GraphNode node, int* type) {
  *type = node_of(node)->type;
  return 0;
}
FAKE(int, cuGraphKernelNodeGetParams_v2)(GraphNode node, KernelNode* params) {
  static void* first = nullptr;
  first = node_of(node)->parameters.data();
  params->function = reinterpret_cast<Function>(node_of(node)->function);
  params->grid[0] = node_of(node)->grid;
  params->block[0] = node_of(node)->block;
  params->grid[1] = params->grid[2] = params->block[1] = params->block[2] = 1;
  params->parameters = &first;
  return 0;
}
FAKE(int, cuGraphKernelNodeGetAttribute)(GraphNode, int, LaunchValue*) { return k_invalid_value; }
FAKE(int, cuGraphMemcpyNodeGetParams)(GraphNode node, CopyNode* params) {
  params->from.memory = params->to.memory = 2;
  params->from.device = node_of(node)->from;
  params->to.device = node_of(node)->to;
  params->width = node_of(node)->bytes;
  params->height = params->depth = 1;
  return 0;
}
FAKE(int, cuGraphMemsetNodeGetParams)(GraphNode node, SetNode* params) {
  *params = {node_of(node)->to, 0, node_of(node)->value, 1, node_of(node)->bytes, 1};
  return 0;
}
FAKE(int, cuFuncGetName)(const char** name, Function function) {
  *name = reinterpret_cast<FakeFunction*>(function)->name.c_str();
  return 0;
}
FAKE(int, cuFuncGetParamInfo)
(Function function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  *offset = 0;
  *bytes = parameter_bytes(reinterpret_cast<FakeFunction*>(function)->name);
  return index == 0 ? 0 : k_invalid_value;
}
FAKE(int, cuFuncGetAttribute)(int*, int, Function) { return k_invalid_value; }
FAKE(int, cuFuncSetAttribute)(Function, int, int) { return 0; }
FAKE(int, cuKernelGetFunction)(Function*, Kernel) { return k_invalid_value; }
FAKE(int, cuGraphInstantiateWithFlags)(GraphExec* exec, Graph graph, unsigned long long) {
  SCRIPTED(cuGraphInstantiateWithFlags);
  *exec = reinterpret_cast<GraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph*>(graph)));
  return 0;
}
FAKE(int, cuGraphUpload)(GraphExec, Stream) {
  SCRIPTED(cuGraphUpload);
  return 0;
}
FAKE(int, cuGraphLaunch)(GraphExec exec, Stream stream) {
  SCRIPTED(cuGraphLaunch);
  for (const auto& step : reinterpret_cast<FakeGraph*>(exec)->work)
    machine().queue(stream_of(stream), step);
  return 0;
}
FAKE(int, cuGraphDestroy)(Graph graph) {
  delete reinterpret_cast<FakeGraph*>(graph);
  return 0;
}
FAKE(int, cuGraphExecDestroy)(GraphExec exec) {
  delete reinterpret_cast<FakeGraph*>(exec);
  return 0;
}
FAKE(int, cuEventCreate)(Event* event, unsigned) {
  SCRIPTED(cuEventCreate);
  *event = reinterpret_cast<Event>(new FakeEvent);
  return 0;
}
FAKE(int, cuEventDestroy_v2)(Event event) {
  delete reinterpret_cast<FakeEvent*>(event);
  return 0;
}
FAKE(int, cuEventRecord)(Event event, Stream stream) {
  SCRIPTED(cuEventRecord);
  return machine().queue(stream_of(stream), [=] {
    reinterpret_cast<FakeEvent*>(event)->at = machine().now();
    return 0;
  });
}
FAKE(int, cuEventElapsedTime)(float* ms, Event begin, Event end) {
  SCRIPTED(cuEventElapsedTime);
  *ms = static_cast<float>(reinterpret_cast<FakeEvent*>(end)->at -
                           reinterpret_cast<FakeEvent*>(begin)->at) /
        1e6f;
  return 0;
}

FAKE(int, cuModuleLoadData)(Module* module, const void*) {
  SCRIPTED(cuModuleLoadData);
  *module = reinterpret_cast<Module>(32);
  return 0;
}
FAKE(int, cuModuleUnload)(Module) { return 0; }
FAKE(int, cuModuleGetFunction)(Function* function, Module, const char* name) {
  SCRIPTED(cuModuleGetFunction);
  if (parameter_bytes(name) == 0) return k_not_found;
  static std::map<std::string, std::unique_ptr<FakeFunction>> all;
  auto& made = all[name];
  if (!made) made = std::make_unique<FakeFunction>(FakeFunction{name});
  *function = reinterpret_cast<Function>(made.get());
  return 0;
}
FAKE(int, cuLaunchKernel)
(Function function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned, unsigned,
 Stream stream, void** parameters, void**) {
  SCRIPTED(cuLaunchKernel);
  const auto name = reinterpret_cast<FakeFunction*>(function)->name;
  const auto* first = static_cast<const char*>(parameters[0]);
  std::string kept(first, first + parameter_bytes(name));
  note(stream, {0, reinterpret_cast<FakeFunction*>(function), grid, block, kept, 0, 0, 0, 0});
  return machine().queue(stream_of(stream), [name, kept, stream]() mutable {
    void* arguments[] = {kept.data()};
    const auto before = machine().now();
    run_kernel(name, arguments);
    const auto own = machine().now() - before; // a spinning kernel moved the clock itself
    machine().happen(stream_of(stream), 10, name,
                     Script::of_this_process().duration_ns(name, own > 0 ? own : 500), 0);
    return 0;
  });
}
FAKE(int, cuLaunchKernelEx)
(const LaunchConfig* config, Function function, void** parameters, void** extra) {
  return cuLaunchKernel(function, config->grid[0], 1, 1, config->block[0], 1, 1, 0, config->stream,
                        parameters, extra);
}
/// For candidates of tests: `body(argument)` as a kernel of that name; `bytes` of argument are
/// kept.
FAKE(int, fake_gpu_launch)
(void* stream, const char* name, void (*body)(void*), const void* argument, std::size_t bytes) {
  SCRIPTED(cuLaunchKernel);
  std::string kept(static_cast<const char*>(argument), bytes);
  note(static_cast<Stream>(stream), {}); // a function of the host: nobody else can launch it
  return machine().queue(stream_of(static_cast<Stream>(stream)),
                         [name = std::string(name), body, kept, stream]() mutable {
                           body(kept.data());
                           machine().happen(stream_of(static_cast<Stream>(stream)), 10, name,
                                            Script::of_this_process().duration_ns(name, 2000), 0);
                           return 0;
                         });
}
/// What a launch would, had it a bad address: the context is lost.
FAKE(int, fake_gpu_fault)(void* stream) {
  return machine().queue(stream_of(static_cast<Stream>(stream)), [] { return k_illegal_address; });
}

FAKE(int, nvrtcVersion)(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
FAKE(int, nvrtcCreateProgram)
(NvrtcProgram* program, const char*, const char*, int, const char* const*, const char* const*) {
  SCRIPTED(nvrtcCreateProgram);
  *program = reinterpret_cast<NvrtcProgram>(8);
  return 0;
}
FAKE(int, nvrtcCompileProgram)(NvrtcProgram, int, const char* const*) {
  SCRIPTED(nvrtcCompileProgram);
  return 0;
}
FAKE(int, nvrtcGetProgramLogSize)(NvrtcProgram, std::size_t* size) {
  *size = 24;
  return 0;
}
FAKE(int, nvrtcGetProgramLog)(NvrtcProgram, char* log) {
  std::strcpy(log, "the scripted log's words");
  return 0;
}
FAKE(int, nvrtcGetCUBINSize)(NvrtcProgram, std::size_t* size) {
  SCRIPTED(nvrtcGetCUBINSize);
  *size = 64;
  return 0;
}
FAKE(int, nvrtcGetCUBIN)(NvrtcProgram, char* image) {
  std::memset(image, 'k', 64);
  return 0;
}
FAKE(int, nvrtcDestroyProgram)(NvrtcProgram*) { return 0; }

namespace {
RequestBuffer g_request = nullptr;
CompleteBuffer g_complete = nullptr;
constexpr std::size_t k_kernel_bytes = 216, k_transfer_bytes = 128;

template <class T> void put(std::uint8_t* record, std::size_t at, T value) {
  std::memcpy(record + at, &value, sizeof value);
}
std::size_t size_of(int kind) { return kind == 10 ? k_kernel_bytes : k_transfer_bytes; }

void write_record(std::uint8_t* at, const Happened& happened, const char* name) {
  std::memset(at, 0, size_of(happened.kind));
  put(at, 0, happened.kind);
  put(at, 16, happened.start);
  put(at, 24, happened.end);
  put(at, happened.kind == 10 ? 48 : 40, happened.stream);
  put(at, happened.kind == 10 ? 92 : 44, happened.correlation);
  if (happened.kind == 10) put(at, 104, name);
  else put(at, 8, happened.bytes);
}
} // namespace

FAKE(int, cuptiGetVersion)(std::uint32_t* version) {
  *version = 130001;
  return 0;
}
FAKE(int, cuptiGetResultString)(int, const char** text) {
  *text = "the scripted CUPTI refuses";
  return 0;
}
FAKE(int, cuptiActivityRegisterCallbacks)(RequestBuffer request, CompleteBuffer complete) {
  SCRIPTED(cuptiActivityRegisterCallbacks);
  g_request = request;
  g_complete = complete;
  return 0;
}
FAKE(int, cuptiActivityEnable)(int) {
  SCRIPTED(cuptiActivityEnable);
  machine().recording = true;
  return 0;
}
FAKE(int, cuptiActivityDisable)(int) {
  machine().recording = false;
  return 0;
}
FAKE(int, cuptiActivityFlushAll)(std::uint32_t) {
  SCRIPTED(cuptiActivityFlushAll);
  static std::map<std::string, std::unique_ptr<std::string>> names; // as long-lived as a module's
  auto all = std::move(machine().recorded);
  machine().recorded.clear();
  std::size_t next = 0;
  while (next < all.size()) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0, used = 0;
    g_request(&buffer, &size, &most);
    for (; next < all.size() && used + size_of(all[next].kind) <= size; ++next) {
      auto& name = names[all[next].name];
      if (!name) name = std::make_unique<std::string>(all[next].name);
      write_record(buffer + used, all[next], name->c_str());
      used += size_of(all[next].kind);
    }
    g_complete(nullptr, 0, buffer, size, used);
  }
  return 0;
}
FAKE(int, cuptiActivityGetNextRecord)
(std::uint8_t* buffer, std::size_t valid, ActivityHead** head) {
  auto* at = reinterpret_cast<std::uint8_t*>(*head);
  int kind = 0;
  if (at) std::memcpy(&kind, at, sizeof kind);
  auto* next = at ? at + size_of(kind) : buffer;
  if (next >= buffer + valid) return k_cupti_no_more;
  *head = reinterpret_cast<ActivityHead*>(next);
  return 0;
}
FAKE(int, cuptiActivityGetNumDroppedRecords)(Context, std::uint32_t, std::size_t* lost) {
  *lost = 0;
  return 0;
}

namespace {
double told(const char* key, double otherwise) {
  return Script::of_this_process().nvml(key, otherwise);
}
} // namespace

FAKE(int, nvmlInit_v2)() {
  SCRIPTED(nvmlInit_v2);
  return 0;
}
FAKE(int, nvmlShutdown)() { return 0; }
FAKE(const char*, nvmlErrorString)(int) { return "the scripted NVML refuses"; }
FAKE(int, nvmlSystemGetDriverVersion)(char* text, unsigned size) {
  std::strncpy(text, "580.00.00", size);
  return 0;
}
FAKE(int, nvmlDeviceGetHandleByUUID)(const char*, NvmlDevice* device) {
  *device = reinterpret_cast<NvmlDevice>(64);
  return 0;
}
FAKE(int, nvmlDeviceGetClockInfo)(NvmlDevice, int, unsigned* value) {
  *value = static_cast<unsigned>(told("sm_mhz", 1980));
  return 0;
}
FAKE(int, nvmlDeviceGetMaxClockInfo)(NvmlDevice, int, unsigned* value) {
  *value = 1980;
  return 0;
}
FAKE(int, nvmlDeviceGetPowerUsage)(NvmlDevice, unsigned* value) {
  *value = static_cast<unsigned>(told("power_w", 100) * 1000);
  return 0;
}
FAKE(int, nvmlDeviceGetEnforcedPowerLimit)(NvmlDevice, unsigned* value) {
  *value = 700000;
  return 0;
}
FAKE(int, nvmlDeviceGetTemperature)(NvmlDevice, int, unsigned* value) {
  *value = static_cast<unsigned>(told("temperature_c", 40));
  return 0;
}
FAKE(int, nvmlDeviceGetCurrentClocksThrottleReasons)(NvmlDevice, unsigned long long* value) {
  *value = static_cast<unsigned long long>(told("reasons", 0));
  return 0;
}
FAKE(int, nvmlDeviceGetComputeRunningProcesses_v3)(NvmlDevice, unsigned* count, NvmlProcess* list) {
  *count = static_cast<unsigned>(told("processes", 0));
  for (unsigned i = 0; i < *count; ++i) list[i] = {i + 1, 0, 0, 0};
  return 0;
}
FAKE(int, nvmlDeviceGetUtilizationRates)(NvmlDevice, NvmlUtilization* use) {
  *use = {0, 0};
  return 0;
}
FAKE(int, nvmlDeviceGetMigMode)(NvmlDevice, unsigned* now, unsigned* pending) {
  *now = *pending = 0;
  return 0;
}
FAKE(int, nvmlDeviceGetPersistenceMode)(NvmlDevice, unsigned* value) {
  *value = 1;
  return 0;
}
