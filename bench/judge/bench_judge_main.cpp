// What checking costs on one core: filling, poisoning, finding poison, comparing, over
// 64 MiB of elements (bytes of the tensor itself; expected outputs are float64). memcpy of the same
// size stands beside them.
#include "inputs/codec.hpp"
#include "inputs/poison.hpp"
#include "inputs/recipe.hpp"
#include "judge/compare.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using namespace ako;

model::ResolvedTensor matrix(model::Dtype dtype, std::int64_t bytes) {
  model::ResolvedTensor tensor;
  tensor.name = "x";
  tensor.role = model::TensorRole::out;
  tensor.dtype = dtype;
  tensor.elements = tensor.span_elements = bytes * 8 / model::bits_of(dtype);
  tensor.shape = {tensor.elements / 4096, 4096};
  tensor.strides = {4096, 1};
  tensor.bytes = bytes;
  return tensor;
}

/// Least of three, in seconds.
template <class Work> double seconds(Work&& work) {
  double best = 1e30;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void line(const char* what, const char* dtype, double time, double bytes) {
  std::printf("%-28s %-14s %8.1f ms %8.2f GB/s\n", what, dtype, 1e3 * time, bytes / time / 1e9);
}

int run(model::Dtype dtype) {
  constexpr std::int64_t k_bytes = 64 << 20;
  const auto tensor = matrix(dtype, k_bytes);
  const char* name = model::to_string(dtype).data();
  std::vector<std::byte> data(k_bytes), other(k_bytes);
  std::vector<std::byte> expected(static_cast<std::size_t>(tensor.elements) * 8);
  model::FillSpec normal;
  for (const auto recipe : {inputs::Recipe::plain, inputs::Recipe::scaled_shifted}) {
    auto filler = inputs::Filler::make(tensor, normal, recipe);
    if (!filler || !filler->fill(data, {1, 0, 0, 0})) return 1;
    const double time = seconds([&] { (void)filler->fill(data, {2, 0, 0, 0}); });
    line(recipe == inputs::Recipe::plain ? "fill normal" : "fill normal, scaled_shifted", name,
         time, k_bytes);
  }
  auto wide = tensor;
  wide.dtype = model::Dtype::float64;
  wide.bytes = tensor.elements * 8;
  if (!inputs::fill(expected, wide, normal, inputs::Recipe::plain, {3, 0, 0, 0})) return 1;
  for (std::int64_t i = 0; i < tensor.elements; ++i) {
    double value;
    std::memcpy(&value, expected.data() + 8 * i, 8);
    inputs::store(dtype, data, i, value);
  }
  judge::CompareRequest request;
  request.got = judge::view(tensor, data);
  request.expected = {&tensor, model::Dtype::float64, expected};
  request.tolerance.rtol = 1e-2;
  request.tolerance.row_factor = 4e-3;
  request.tolerance.slope_limit = 0.004;
  request.tolerance.bias_limit = model::bits_of(dtype) == 16 ? 0.25 : 0;
  bool pass = true;
  const double compared = seconds([&] {
    const auto result = judge::compare(request);
    pass = pass && result && result->pass;
  });
  if (!pass) return std::fprintf(stderr, "bench_judge: an honest output failed\n"), 1;
  line("compare with float64", name, compared, k_bytes);
  line("poison", name, seconds([&] { inputs::poison(other, dtype, inputs::Sentinel::first); }),
       k_bytes);
  std::int64_t found = 0;
  line("find poison, none", name,
       seconds([&] { found += inputs::find_poison(data, tensor, inputs::Sentinel::first).count; }),
       k_bytes);
  line("memcpy", name, seconds([&] { std::memcpy(other.data(), data.data(), k_bytes); }), k_bytes);
  return found == 0 ? 0 : 1;
}

} // namespace

int main() {
  for (const auto dtype :
       {model::Dtype::bfloat16, model::Dtype::float32, model::Dtype::float8_e4m3fn}) {
    if (const int rc = run(dtype)) return rc;
  }
  return 0;
}
