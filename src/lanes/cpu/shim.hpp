// The generated shim: includes the candidate's file and calls its entry with the contract's
// arguments through typed wrappers.
//
// Rules, checked by the compiler against the function's own type:
//   tensor   const E* or const void* for role in; E* or void* for out, inout, workspace
//            E: the dtype's C++ type; bfloat16, float16: uint16_t (or _Float16, __bf16); fp8, fp4,
//            int4: uint8_t
//   axis     int, unsigned, long, long long and their unsigned forms, where the axis' declared
//   range
//            fits the type; an axis without `max` goes into a 32-bit type behind a check at run
//            time (ako_call returns k_range_status)
//   scalar   float32 and narrower: float or double; float64: double; integers as axes are
//   returns  void, or int with 0 = ok
#pragma once

#include "base/error.hpp"
#include "lanes/lane.hpp"
#include "model/contract.hpp"

namespace ako::lanes::cpu {

inline constexpr int k_range_status = -7301; ///< an axis value did not fit the entry's parameter
inline constexpr int k_exception_status = -7302; ///< an exception left the entry

struct Argument {
  enum class Kind { tensor, axis, scalar } kind = Kind::tensor;
  int index = 0; ///< into contract.tensors, axes or scalars
  std::string name;
  std::string gives;   ///< for messages: "tensor x (in, bfloat16)"
  std::string accepts; ///< for messages: "const uint16_t* or const void*"
};

/// The entry's arguments in order: kernel.args, else tensors, scalars, var axes. Kind invalid for a
/// name that is none of them.
base::Expected<std::vector<Argument>> arguments_of(const model::Contract& contract, Role role);

/// Name of the regions that #line gives to the shim's parts, by which messages are told apart.
inline constexpr const char* k_entry_region = "ako-shim-entry";
inline constexpr const char* k_call_region = "ako-shim-call";

base::Expected<std::string> shim_text(const model::Contract& contract, Role role,
                                      const model::EntryRef& entry, const std::string& prepare,
                                      const std::string& plan);

} // namespace ako::lanes::cpu
