// What stands in one function's code, as a disassembler or the compiler shows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ako::profiles {

/// Counts of one function's instructions, as they stand in the code (not as executed).
struct CodeFunction {
  std::string name, target;                    ///< target: "sm_90a", where the text says so
  std::int64_t instructions = 0, bytes = 0;    ///< bytes: of machine code
  std::map<std::string, std::int64_t> opcodes; ///< "FFMA", "fma.rn.f32", ... without modifiers
  std::map<int, std::int64_t> load_bits,
      store_bits; ///< global accesses by width: 8, 16, 32, 64, 128, 256
  std::int64_t tensor = 0, wgmma = 0, tma = 0, async_copy = 0, atomics = 0, barriers = 0,
               branches = 0, special = 0;
  std::int64_t local_loads = 0, local_stores = 0, shared_loads = 0, shared_stores = 0;
  std::int64_t local_fixed =
      0; ///< of the local ones: at fixed places of the stack: spills, constant indices
  std::int64_t local_bytes = 0; ///< of arrays that the compiler left in local memory (PTX)
  std::map<std::string, std::int64_t> lines; ///< instructions by "file:line", where known
  double tensor_share() const { return instructions ? double(tensor) / double(instructions) : 0; }
};

/// One line for each count that differs, the largest change first: "FFMA 128 -> 256".
std::vector<std::string> diff_code(const CodeFunction& before, const CodeFunction& after);

} // namespace ako::profiles
