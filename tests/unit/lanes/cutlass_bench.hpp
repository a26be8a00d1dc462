// The bench of builds, set up for the cutlass lane with a small stand-in for CUTLASS' headers: what
// the lane does with them does not depend on what is in them. Tests of the real ones skip, and are
// counted as skipped, where there are none.
#pragma once

#include "cuda_bench.hpp"

namespace ako::test {

/// A folder with include/cutlass and include/cute: version, Status, bfloat16_t and half_t.
void write_stand_in(const fs::path& root, const std::string& major, const std::string& minor,
                    const std::string& patch);

class CutlassBench : public CudaBench {
public:
  CutlassBench() {
    lane = contract.kernel.lane = contract.reference.lane = model::Lane::cutlass;
    for (const char* name : {"CONDA_PREFIX", "CUDA_HOME"}) around.environment.erase(name);
    write_stand_in(root() / "cutlass", "4", "2", "1");
    around.environment["CUTLASS_PATH"] = (root() / "cutlass").string();
  }
  /// Into the stand-in's include folder.
  void header(const std::string& path, const std::string& text) const;
};

/// The real headers, as ako finds them.
bool has_cutlass();

#define AKO_NEEDS_CUTLASS()                                                                        \
  if (!has_nvcc() || !has_cutlass()) GTEST_SKIP() << "no nvcc or no CUTLASS here"

} // namespace ako::test
