// Finding nvcc and its host compiler, and knowing both again.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::cuda {

/// The order: `wanted` (kernel.compiler), else $NVCC, else nvcc in PATH, in $CUDA_HOME/bin and
/// $CUDA_PATH/bin, in /usr/local/cuda/bin, and in the folders where Python packages put it below
/// $VIRTUAL_ENV. A wanted one that is missing is an error: no other is taken in its place.
base::Expected<Tool> find_nvcc(const std::string& wanted, const Surroundings& around,
                               std::vector<std::string>* looked = nullptr);

/// What a probe compiles besides its five lines.
struct ProbeMore {
  std::vector<std::string> words; ///< for nvcc
  std::string first_lines;        ///< of the file
};

/// Compiles five lines for sm_90 in `scratch`.
Probe probe_nvcc(const std::string& wanted, const Surroundings& around,
                 const base::fs::path& scratch, const ProbeMore& more = {});

/// What compilers see of the surroundings, without what would change nvcc's words in secret.
std::vector<std::string> nvcc_environment(const Surroundings& around);

/// "Cuda compilation tools, release 13.0, V13.0.88" gives {13, 0}; {0, 0} when it does not say.
struct Release {
  int major = 0, minor = 0;
  bool at_least(int a, int b) const { return major > a || (major == a && minor >= b); }
};
Release release_of(const std::string& version);

} // namespace ako::lanes::cuda
