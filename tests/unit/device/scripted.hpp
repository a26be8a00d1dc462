// A folder with the scripted driver under the real names, and its script.
#pragma once

#include "base/fs.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace ako::fakes {

/// Sets AKO_GPU_PATH for this process and its children until it goes.
class ScriptedGpu {
public:
  explicit ScriptedGpu(const std::string& script = "")
      : m_folder(std::move(*base::TemporaryDir::make("ako-fake-gpu-"))) {
    const auto library = std::filesystem::path(AKO_BUILD_DIR) / "fakes" / "libako_fake_gpu.so";
    for (const char* name :
         {"libcuda.so.1", "libnvrtc.so.13", "libcupti.so.13", "libnvidia-ml.so.1"})
      std::filesystem::create_symlink(library, m_folder.path() / name);
    std::ofstream(m_folder.path() / "script") << script;
    ::setenv("AKO_GPU_PATH", m_folder.path().c_str(), 1);
  }
  ~ScriptedGpu() { ::unsetenv("AKO_GPU_PATH"); }
  std::string path() const { return m_folder.path().string(); }
  static constexpr const char* k_uuid = "GPU-a0010203-0405-0607-0809-0a0b0c0d0e0f";

private:
  base::TemporaryDir m_folder;
};

} // namespace ako::fakes
