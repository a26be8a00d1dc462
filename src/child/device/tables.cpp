#include "device/tables.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

namespace ako::device {
namespace {

struct Wanted {
  const char* what;
  std::vector<const char*> names;
  std::vector<const char*> folders;
  const char* remedy;
};

std::vector<std::string> places_of(const Wanted& wanted) {
  std::vector<std::string> places;
  if (const char* given = std::getenv("AKO_GPU_PATH")) {
    std::istringstream list(given);
    for (std::string folder; std::getline(list, folder, ':');)
      for (const char* name : wanted.names)
        if (!folder.empty()) places.push_back(folder + "/" + name);
  }
  for (const char* name : wanted.names) places.emplace_back(name);
  for (const char* folder : wanted.folders)
    for (const char* name : wanted.names) places.push_back(std::string(folder) + "/" + name);
  return places;
}

void* open_library(const Wanted& wanted, Found& found) {
  std::string words;
  for (const auto& place : places_of(wanted)) {
    const bool is_path = place.find('/') != std::string::npos;
    std::error_code ignored;
    if (is_path && !std::filesystem::exists(place, ignored)) continue;
    if (void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      found.path = place;
      return handle;
    }
    // What the loader says of a file that is there matters more than that a name was not found.
    if (is_path || words.empty()) words = dlerror();
  }
  found.reason = fmt::format("{} is not to be had: {}", wanted.what, words);
  found.remedy = wanted.remedy;
  return nullptr;
}

/// A table with what became of it.
template <class Table> struct Loaded {
  Table table;
  Found found;
};

template <class Function>
void take_symbol(void* handle, const char* symbol, Function& into, std::string& missing) {
  into = reinterpret_cast<Function>(dlsym(handle, symbol));
  if (!into) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
}

void close_if_short(const Wanted& wanted, Found& found, const std::string& missing) {
  if (missing.empty()) return;
  found.reason = fmt::format("{} is too old: {} lacks {}", wanted.what, found.path, missing);
  found.remedy = wanted.remedy;
  found.path.clear();
}

constexpr const char* k_toolkit_folders[] = {"/usr/local/cuda/lib64",
                                             "/usr/local/cuda/lib",
                                             "/usr/local/cuda/targets/x86_64-linux/lib",
                                             "/usr/local/cuda/extras/CUPTI/lib64",
                                             "/opt/cuda/lib64",
                                             "/opt/cuda/extras/CUPTI/lib64",
                                             "/usr/local/cuda-13.0/lib64",
                                             "/usr/local/cuda-12.8/lib64"};
const std::vector<const char*> k_toolkit(std::begin(k_toolkit_folders),
                                         std::end(k_toolkit_folders));
const std::vector<const char*> k_driver_folders{"/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                                                "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"};

const Wanted k_cuda{"the CUDA driver",
                    {"libcuda.so.1"},
                    k_driver_folders,
                    "install NVIDIA's driver (550 or newer), or start the container with --gpus"};
const Wanted k_replay{"the CUDA driver's part for replays", k_cuda.names, k_cuda.folders,
                      "install NVIDIA's driver (550 or newer)"};
const Wanted k_nvrtc{"NVRTC",
                     {"libnvrtc.so.13", "libnvrtc.so.12"},
                     k_toolkit,
                     "install the CUDA toolkit's nvrtc, or name its folder in AKO_GPU_PATH"};
const Wanted k_cupti{"CUPTI",
                     {"libcupti.so.13", "libcupti.so.12"},
                     k_toolkit,
                     "install the CUDA toolkit's cupti, or name its folder in AKO_GPU_PATH"};
const Wanted k_nvml{"NVML",
                    {"libnvidia-ml.so.1"},
                    k_driver_folders,
                    "install NVIDIA's driver with its management library"};

#define AKO_X(member, symbol, parameters) take_symbol(handle, symbol, loaded.table.member, missing);
#define AKO_LOADER(Table, name, calls)                                                             \
  const Loaded<Table>& name##_once() {                                                             \
    static const Loaded<Table> once = [] {                                                         \
      Loaded<Table> loaded;                                                                        \
      std::string missing;                                                                         \
      if (void* handle = open_library(k_##name, loaded.found)) {                                   \
        calls(AKO_X) close_if_short(k_##name, loaded.found, missing);                              \
      }                                                                                            \
      return loaded;                                                                               \
    }();                                                                                           \
    return once;                                                                                   \
  }
AKO_LOADER(Cuda, cuda, AKO_CUDA_CALLS)
AKO_LOADER(ReplayCalls, replay, AKO_REPLAY_CALLS)
AKO_LOADER(Nvrtc, nvrtc, AKO_NVRTC_CALLS)
AKO_LOADER(Cupti, cupti, AKO_CUPTI_CALLS)
AKO_LOADER(Nvml, nvml, AKO_NVML_CALLS)
#undef AKO_LOADER
#undef AKO_X

template <class Table> base::Expected<const Table*> as_expected(const Loaded<Table>& loaded) {
  if (!loaded.found.path.empty()) return &loaded.table;
  return base::fail(base::ErrorKind::unsupported, loaded.found.reason,
                    {.next = loaded.found.remedy});
}

} // namespace

base::Expected<const Cuda*> cuda() { return as_expected(cuda_once()); }
base::Expected<const ReplayCalls*> replay() { return as_expected(replay_once()); }
base::Expected<const Nvrtc*> nvrtc() { return as_expected(nvrtc_once()); }
base::Expected<const Cupti*> cupti() { return as_expected(cupti_once()); }
base::Expected<const Nvml*> nvml() { return as_expected(nvml_once()); }
Found found_cuda() { return cuda_once().found; }
Found found_nvrtc() { return nvrtc_once().found; }
Found found_cupti() { return cupti_once().found; }
Found found_nvml() { return nvml_once().found; }

std::string words_of(const Cuda& cuda, abi::Result result) {
  const char *name = nullptr, *text = nullptr;
  if (cuda.error_name(result, &name) != abi::k_success || !name)
    return fmt::format("driver error {}", result);
  if (cuda.error_text(result, &text) != abi::k_success || !text) return name;
  return fmt::format("{}: {}", name, text);
}

} // namespace ako::device
