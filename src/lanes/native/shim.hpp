// The generated shim: includes the candidate's file and calls its entry with the contract's
// arguments through typed wrappers.
//
// Rules, checked by the compiler against the function's own type:
//   tensor   const E* or const void* for role in; E* or void* for out, inout, workspace
//            E: the dtype's C++ type; bfloat16, float16: uint16_t (or _Float16, __bf16; on the cuda
//            lane __nv_bfloat16, __half); fp8, fp4, int4: uint8_t (or __nv_fp8_e4m3, ...); on the
//            cutlass lane also cutlass::bfloat16_t, half_t, float_e4m3_t, float_e5m2_t
//   axis     int, unsigned, long, long long and their unsigned forms, where the axis' declared
//   range
//            fits the type; an axis without `max` goes into a 32-bit type behind a check at run
//            time (ako_call returns model::k_range_status)
//   scalar   float32 and narrower: float or double; float64: double; integers as axes are
//   stream   cuda lane: cudaStream_t or void*, last unless kernel.args places "stream" elsewhere
//   returns  void, or int with 0 = ok; on the cuda lane also cudaError_t; on the cutlass lane also
//            cutlass::Status, which becomes model::k_cutlass_status - the status
// On the cuda lane the shim asks for the runtime's last error after each call, so that a launch
// that failed is seen even where the entry does not say so: model::k_launch_status - the error.
#pragma once

#include "base/error.hpp"
#include "lanes/native/unit.hpp"
#include "model/contract.hpp"

namespace ako::lanes::native {

struct Argument {
  enum class Kind { tensor, axis, scalar, stream } kind = Kind::tensor;
  int index = 0; ///< into contract.tensors, axes or scalars
  std::string name;
  std::string gives;   ///< for messages: "tensor x (in, bfloat16)"
  std::string accepts; ///< for messages: "const uint16_t* or const void*"
};

/// The entry's arguments in order: kernel.args, else tensors, scalars, var axes; on the cuda lane
/// with the stream. Kind invalid for a name that is none of them.
base::Expected<std::vector<Argument>> arguments_of(const model::Contract& contract,
                                                   model::Lane lane, Role role);

/// Name of the regions that #line gives to the shim's parts, by which messages are told apart.
inline constexpr const char* k_entry_region = "ako-shim-entry";
inline constexpr const char* k_call_region = "ako-shim-call";

base::Expected<std::string> shim_text(const model::Contract& contract, model::Lane lane, Role role,
                                      const Unit& unit);

} // namespace ako::lanes::native
