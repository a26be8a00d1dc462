// What the compiler made: disassembly of cuobjdump, resource reports of ptxas, and the difference
// of two.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

/// Counts of one function's instructions, as they stand in the code (not as executed).
struct SassFunction {
  std::string name;
  std::int64_t instructions = 0, bytes = 0;
  std::map<std::string, std::int64_t> opcodes; ///< "FFMA", "LDG", ... without modifiers
  std::map<int, std::int64_t> load_bits,
      store_bits; ///< global accesses by width: 8, 16, 32, 64, 128
  std::int64_t tensor = 0, wgmma = 0, tma = 0, async_copy = 0, atomics = 0, barriers = 0,
               branches = 0, special = 0;
  std::int64_t local_loads = 0, local_stores = 0, shared_loads = 0, shared_stores = 0;
  double tensor_share() const { return instructions ? double(tensor) / double(instructions) : 0; }
};

/// Output of cuobjdump --dump-sass or nvdisasm. invalid: no function in it.
base::Expected<std::vector<SassFunction>> read_sass(std::string_view text,
                                                    const std::string& where);

/// One line for each count that differs, the largest change first: "FFMA 128 -> 256".
std::vector<std::string> diff_sass(const SassFunction& before, const SassFunction& after);

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
