// What a kernel takes of a multiprocessor: as ptxas reports it, and as the image itself says.
#pragma once

#include "base/hash.hpp"
#include "base/json.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::lanes::cuda {

struct KernelResources {
  std::string mangled, name; ///< name: as C++ writes it
  std::string architecture;
  int registers = 0;    ///< per thread
  int barriers = 0;     ///< per block
  int shared_bytes = 0; ///< static, per block, without what the system keeps for itself
  int stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0; ///< per thread
  int constant_bytes = 0;
};

/// From `ptxas -v`, in its order.
std::vector<KernelResources> parse_ptxas(std::string_view text);

/// One kernel of a device image.
struct ImageKernel {
  std::string mangled;
  int number = 0; ///< of the architecture: 90
  int registers = -1, barriers = -1, stack_bytes = -1;
  int shared_bytes = 0; ///< with what the system keeps for itself (1024 bytes from sm_90 on)
  std::int64_t code_bytes = 0;
};

/// The kernels of all uncompressed device images (ELF, machine 190) in the bytes of a library or
/// cubin; nothing for bytes that hold none. Damaged images give what can be read of them.
std::vector<ImageKernel> read_images(std::string_view bytes);

/// Over the code of all kernels, whatever their names: equal for builds that launch the same
/// instructions. Empty when the bytes hold no uncompressed image.
base::Hash code_hash(std::string_view bytes);

/// The report of one artifact: {"kernels": [...], "architectures": [...], "code_hash", "note"}. A
/// kernel that an image contradicts carries "image" with what that says.
base::Json resource_report(std::string_view said, std::string_view library);

/// "rmsnorm_kernel<8> sm_90a: 40 registers, 128 B shared, no spills", one line a kernel.
std::string resource_text(const base::Json& report);

} // namespace ako::lanes::cuda
