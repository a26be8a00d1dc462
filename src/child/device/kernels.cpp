#include "device/kernels.hpp"

#include "base/fs.hpp"
#include "base/hash.hpp"

#include <fmt/format.h>
#include <map>

namespace ako::device {

using base::ErrorKind;

namespace {

base::Expected<std::string> compile(const Nvrtc& api, const std::string& source,
                                    const std::string& architecture) {
  abi::NvrtcProgram program = nullptr;
  const auto failed = [&](const std::string& words) {
    if (program) (void)api.destroy(&program);
    return base::fail(ErrorKind::environment, "ako's own kernels do not compile",
                      {.where = found_nvrtc().path, .found = words});
  };
  if (api.create(&program, source.c_str(), "ako_kernels.cu", 0, nullptr, nullptr) != 0)
    return failed("no program");
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--fmad=false", "--std=c++17"};
  if (api.compile(program, 3, options) != 0) {
    std::size_t size = 0;
    std::string log;
    if (api.log_size(program, &size) == 0 && size > 0) {
      log.resize(size);
      (void)api.log(program, log.data());
    }
    return failed(log.substr(0, 600));
  }
  std::size_t size = 0;
  std::string image;
  if (api.cubin_size(program, &size) != 0 || size == 0) return failed("no machine code");
  image.resize(size);
  if (api.cubin(program, image.data()) != 0) return failed("no machine code");
  (void)api.destroy(&program);
  return image;
}

} // namespace

base::Expected<std::string> compile_source(const std::string& source,
                                           const std::string& architecture,
                                           const std::string& cache) {
  AKO_TRY(const Nvrtc* api, nvrtc());
  int major = 0, minor = 0;
  (void)api->version(&major, &minor);
  base::Hasher hasher;
  hasher.add_field(source).add_field(architecture);
  hasher.add_field(fmt::format("{}.{}", major, minor));
  const auto kept = base::fs::path(cache) / (hasher.finish().substr(0, 32) + ".cubin");
  if (!cache.empty())
    if (auto image = base::read_file(kept, 1 << 24)) return std::move(*image);
  AKO_TRY(auto image, compile(*api, source, architecture));
  // A cache that cannot be written is none: the next start compiles again.
  if (!cache.empty()) (void)base::write_file_atomic(kept, image);
  return image;
}

base::Expected<std::string> compile_kernels(const GpuFacts& facts, const std::string& cache) {
  return compile_source(std::string(kernel_source()),
                        fmt::format("sm_{}{}", facts.major, facts.minor), cache);
}

base::Expected<Kernels> Kernels::load(const Gpu& gpu, std::string image) {
  Kernels kernels;
  kernels.m_gpu = &gpu;
  kernels.m_image = std::move(image);
  AKO_TRY(kernels.m_module, gpu.load(std::as_bytes(std::span(kernels.m_image))));
  return kernels;
}

unsigned Kernels::blocks_for(std::uint64_t items, unsigned threads) const {
  const auto wanted = (items + threads - 1) / threads;
  const auto most = static_cast<std::uint64_t>(m_gpu->facts().sm_count) *
                    static_cast<std::uint64_t>(m_gpu->facts().threads_per_sm) * 2 / threads;
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(most, 1)));
}

base::Status Kernels::launch_raw(const char* name, void* params, unsigned blocks, unsigned threads,
                                 abi::Stream stream) const {
  abi::Function function = nullptr;
  AKO_TRY_STATUS(m_gpu->ok(m_gpu->api().module_function(&function, m_module, name), name));
  void* arguments[] = {params};
  return m_gpu->ok(
      m_gpu->api().launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr),
      name);
}

} // namespace ako::device
