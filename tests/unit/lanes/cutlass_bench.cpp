#include "cutlass_bench.hpp"

#include "executors/runner.hpp"
#include "lanes/cutlass/headers.hpp"

#include <fstream>

namespace ako::test {

namespace {

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

constexpr const char* k_status = R"(#pragma once
#define CUTLASS_HOST_DEVICE __forceinline__ __device__ __host__
namespace cutlass {
enum class Status { kSuccess, kErrorMisalignedOperand, kErrorInvalidDataType, kErrorInvalidLayout,
                    kErrorInvalidProblem, kErrorNotSupported, kErrorWorkspaceNull, kErrorInternal };
struct half_t { unsigned short bits; };
struct bfloat16_t { unsigned short bits; };
struct float_e4m3_t { unsigned char bits; };
struct float_e5m2_t { unsigned char bits; };
}
)";

} // namespace

void write_stand_in(const fs::path& root, const std::string& major, const std::string& minor,
                    const std::string& patch) {
  put(root / "include/cutlass/version.h", "#pragma once\n#define CUTLASS_MAJOR " + major +
                                              "\n#define CUTLASS_MINOR " + minor +
                                              "\n#define CUTLASS_PATCH " + patch + " \n");
  put(root / "include/cutlass/cutlass.h", k_status);
  put(root / "include/cutlass/numeric_types.h", "#pragma once\n#include \"cutlass/cutlass.h\"\n");
  put(root / "include/cute/tensor.hpp", "#pragma once\n");
}

void CutlassBench::header(const std::string& path, const std::string& text) const {
  put(root() / "cutlass" / "include" / path, text);
}

bool has_cutlass() {
  static const bool s_there = [] {
    const auto around = lanes::Surroundings::of_this_process(executors::local_runner(), {});
    return lanes::cutlass::find_headers(around).has_value();
  }();
  return s_there;
}

} // namespace ako::test
