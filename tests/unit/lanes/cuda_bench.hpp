// The bench of builds, set up for the cuda lane; tests that need a real nvcc skip, and are counted
// as skipped, where there is none.
#pragma once

#include "bench_of_builds.hpp"

#include <gtest/gtest.h>

namespace ako::test {

/// Like small_contract(), as a CUDA kernel for sm_90a.
class CudaBench : public BuildBench {
public:
  CudaBench() {
    lane = contract.kernel.lane = contract.reference.lane = model::Lane::cuda;
    contract.kernel.entry = {"solution/k.cu", "k"};
    contract.kernel.architectures = {"sm_90a"};
    contract.kernel.flags.clear();
    contract.reference.entry = {"input/ref.cu", "ref"};
    around.environment.erase("NVCC");
    contract.limits.build_seconds = 300; // machines under load
  }
};

bool has_nvcc();

#define AKO_NEEDS_NVCC()                                                                           \
  if (!has_nvcc()) GTEST_SKIP() << "no nvcc here"

} // namespace ako::test
