#include "cuda_bench.hpp"

#include "executors/runner.hpp"
#include "lanes/cuda/nvcc.hpp"

namespace ako::test {

bool has_nvcc() {
  static const bool s_there = [] {
    const auto around = lanes::Surroundings::of_this_process(executors::local_runner(), {});
    return lanes::cuda::find_nvcc("", around).has_value();
  }();
  return s_there;
}

} // namespace ako::test
