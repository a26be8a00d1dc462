// What the compiler made: disassembly of cuobjdump, resource reports of ptxas, and the difference
// of two.
#pragma once

#include "base/error.hpp"
#include "profiles/code.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

/// Output of cuobjdump --dump-sass or nvdisasm; with nvdisasm's -g instructions are counted by
/// source line as well. invalid: no function in it.
base::Expected<std::vector<CodeFunction>> read_sass(std::string_view text,
                                                    const std::string& where);

/// ptxas -v or cuobjdump -res-usage.
struct ResourceUse {
  std::string function, architecture;
  int registers = 0, barriers = 0;
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0, shared_bytes = 0,
               constant_bytes = 0;
};
base::Expected<std::vector<ResourceUse>> read_resources(std::string_view text,
                                                        const std::string& where);

} // namespace ako::profiles
