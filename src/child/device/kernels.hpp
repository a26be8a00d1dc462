// ako's own kernels: compiled once by NVRTC, kept as an image that workers are handed.
#pragma once

#include "device/gpu.hpp"

#include <string>
#include <string_view>

namespace ako::device {

// Parameters, as kernels.cu has them. Addresses and sizes are 64 bits.
struct ReadParams {
  std::uint64_t data = 0, bytes = 0, sink = 0;
};
struct WakeParams {
  std::uint64_t data = 0, bytes = 0, sink = 0, ns = 0;
};
struct TouchParams {
  std::uint64_t data = 0, bytes = 0, sink = 0, step = 0;
};
struct ProbeParams {
  std::uint64_t addresses = 0, count = 0, cycles = 0, sink = 0;
};
struct SpinParams {
  std::uint64_t ns = 0, spread_ns = 0, counter = 0, sink = 0;
};
enum class FillKind : std::uint32_t {
  table = 0,
  uniform_f32 = 1,
  normal_f32 = 2,
  uniform_f64 = 3,
  whole_i32 = 4,
  whole_i64 = 5
};
struct FillParams {
  std::uint64_t destination = 0, elements = 0, table = 0;
  std::uint32_t key0 = 0, key1 = 0, high0 = 0, high1 = 0;
  std::uint32_t element_bits = 0;
  FillKind kind = FillKind::table;
  double low = 0, high = 0, mean = 0, stddev = 0;
  std::uint64_t count = 1;
};
struct PaintParams {
  std::uint64_t destination = 0, bytes = 0, word = 0;
};
struct ZoneParams {
  std::uint64_t base = 0, offsets = 0, zones = 0, bytes = 0, seed = 0, found = 0;
};
struct SearchParams {
  std::uint64_t data = 0, elements = 0, element_bits = 0, code = 0, found = 0;
};
struct SumParams {
  std::uint64_t data = 0, bytes = 0, sum = 0;
};
struct CopyParams {
  std::uint64_t from = 0, to = 0, bytes = 0;
};
struct WorkParams {
  std::uint64_t rounds = 0, sink = 0;
};

/// The source text, and its image for a device. `cache` is a folder where images are kept by
/// content (empty = none). Kind unsupported without NVRTC.
std::string_view kernel_source();
base::Expected<std::string> compile_kernels(const GpuFacts& facts, const std::string& cache);
/// The same for other kernels of ako's. environment: they do not compile.
base::Expected<std::string> compile_source(const std::string& source,
                                           const std::string& architecture,
                                           const std::string& cache);

/// Loaded into the context of one process.
class Kernels {
public:
  static base::Expected<Kernels> load(const Gpu& gpu, std::string image);
  const std::string& image() const { return m_image; }

  /// Queues `name` with one struct over `blocks` x `threads` into `stream`.
  template <class Params>
  base::Status launch(const char* name, Params params, unsigned blocks, unsigned threads,
                      abi::Stream stream) const {
    return launch_raw(name, &params, blocks, threads, stream);
  }
  /// Enough blocks for `items`, never more than fill the device twice.
  unsigned blocks_for(std::uint64_t items, unsigned threads) const;

private:
  base::Status launch_raw(const char* name, void* params, unsigned blocks, unsigned threads,
                          abi::Stream stream) const;
  const Gpu* m_gpu = nullptr;
  abi::Module m_module = nullptr;
  std::string m_image;
};

} // namespace ako::device
