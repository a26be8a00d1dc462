#include "lanes/native/shim.hpp"

#include "lanes/native/shim_text.hpp"
#include "model/device.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::native {

using base::ErrorKind;
using base::Expected;
using base::fail;
using model::Dtype;
using model::TensorRole;

namespace {

/// C++ types that elements of a dtype may be called by; the first is the usual one.
std::vector<std::string> element_types(Dtype dtype) {
  switch (dtype) {
  case Dtype::float64: return {"double"};
  case Dtype::float32: return {"float"};
  case Dtype::float16: return {"std::uint16_t", "ako_shim_::half_"};
  case Dtype::bfloat16: return {"std::uint16_t", "ako_shim_::brain_"};
  case Dtype::int64: return {"std::int64_t", "long long"};
  case Dtype::int32: return {"std::int32_t"};
  case Dtype::int16: return {"std::int16_t"};
  case Dtype::int8: return {"std::int8_t"};
  case Dtype::uint64: return {"std::uint64_t", "unsigned long long"};
  case Dtype::uint32: return {"std::uint32_t"};
  case Dtype::uint16: return {"std::uint16_t"};
  case Dtype::uint8: return {"std::uint8_t", "std::byte"};
  case Dtype::boolean: return {"bool", "std::uint8_t"};
  case Dtype::float8_e4m3fn:
  case Dtype::float8_e5m2:
  case Dtype::float8_e8m0fnu:
  case Dtype::float4_e2m1fn:
  case Dtype::int4: return {"std::uint8_t"};
  }
  return {"std::uint8_t"};
}

/// CUTLASS' own types of the same bits, which the lane of its name takes as well.
const char* cutlass_type(Dtype dtype) {
  switch (dtype) {
  case Dtype::float16: return "ako_shim_::cutlass_half_";
  case Dtype::bfloat16: return "ako_shim_::cutlass_brain_";
  case Dtype::float8_e4m3fn: return "ako_shim_::cutlass_e4m3_";
  case Dtype::float8_e5m2: return "ako_shim_::cutlass_e5m2_";
  default: return nullptr;
  }
}

/// The toolkit's own types come first on the cuda lane.
std::vector<std::string> element_types(Dtype dtype, model::Lane lane) {
  auto types = element_types(dtype);
  if (lane == model::Lane::cpu) return types;
  std::erase_if(types, [](const std::string& type) { return type.starts_with("ako_shim_::"); });
  const auto first = [&](const char* name) { types.insert(types.begin(), name); };
  switch (dtype) {
  case Dtype::float16: first("__half"); break;
  case Dtype::bfloat16: first("__nv_bfloat16"); break;
  case Dtype::float8_e4m3fn: first("__nv_fp8_e4m3"); break;
  case Dtype::float8_e5m2: first("__nv_fp8_e5m2"); break;
  case Dtype::float8_e8m0fnu: first("__nv_fp8_e8m0"); break;
  case Dtype::float4_e2m1fn: first("__nv_fp4x2_e2m1"); break;
  default: break;
  }
  if (lane == model::Lane::cutlass && cutlass_type(dtype) != nullptr) first(cutlass_type(dtype));
  return types;
}

/// Which of the toolkit's headers declare those types.
std::string cuda_headers(const model::Contract& contract) {
  bool half = false, brain = false, fp8 = false, fp4 = false;
  for (const auto& tensor : contract.tensors)
    for (const Dtype dtype : model::dtypes_of(contract, tensor)) {
      half |= dtype == Dtype::float16;
      brain |= dtype == Dtype::bfloat16;
      fp8 |= dtype == Dtype::float8_e4m3fn || dtype == Dtype::float8_e5m2 ||
             dtype == Dtype::float8_e8m0fnu;
      fp4 |= dtype == Dtype::float4_e2m1fn;
    }
  std::string text;
  if (half) text += "#include <cuda_fp16.h>\n";
  if (brain) text += "#include <cuda_bf16.h>\n";
  if (fp8) text += "#include <cuda_fp8.h>\n";
  if (fp4) text += "#include <cuda_fp4.h>\n";
  return text;
}

/// The dtypes as which the tensor is handed over: a reference's compared floating outputs come in
/// its precision.
std::vector<Dtype> handed_dtypes(const model::Contract& contract, const model::Tensor& tensor,
                                 Role role) {
  auto dtypes = model::dtypes_of(contract, tensor);
  const bool widened = role == Role::reference && tensor.role == TensorRole::out &&
                       tensor.compare == model::Compare::close &&
                       contract.reference.precision != model::ErrorPrecision::native;
  if (!widened) return dtypes;
  for (auto& dtype : dtypes)
    if (model::class_of(dtype) == model::DtypeClass::floating)
      dtype = contract.reference.precision == model::ErrorPrecision::float64 ? Dtype::float64
                                                                             : Dtype::float32;
  return dtypes;
}

std::vector<std::string> tensor_types(const model::Contract& contract, model::Lane lane,
                                      const model::Tensor& tensor, Role role) {
  std::vector<std::string> types;
  for (const Dtype dtype : handed_dtypes(contract, tensor, role))
    for (auto& type : element_types(dtype, lane))
      if (std::find(types.begin(), types.end(), type) == types.end())
        types.push_back(std::move(type));
  return types;
}

std::string display_type(std::string type) {
  if (type == "ako_shim_::half_") return "_Float16";
  if (type == "ako_shim_::brain_") return "__bf16";
  if (type == "ako_shim_::cutlass_half_") return "cutlass::half_t";
  if (type == "ako_shim_::cutlass_brain_") return "cutlass::bfloat16_t";
  if (type == "ako_shim_::cutlass_e4m3_") return "cutlass::float_e4m3_t";
  if (type == "ako_shim_::cutlass_e5m2_") return "cutlass::float_e5m2_t";
  return type.starts_with("std::") ? type.substr(5) : type;
}

Argument tensor_argument(const model::Contract& contract, model::Lane lane, int index, Role role) {
  const auto& tensor = contract.tensors[static_cast<std::size_t>(index)];
  std::vector<std::string> names;
  for (const Dtype dtype : handed_dtypes(contract, tensor, role))
    names.emplace_back(model::to_string(dtype));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const char* constness = tensor.role == TensorRole::in ? "const " : "";
  std::string accepts;
  for (const auto& type : tensor_types(contract, lane, tensor, role))
    accepts += fmt::format("{}{}*, ", constness, display_type(type));
  return {.kind = Argument::Kind::tensor,
          .index = index,
          .name = tensor.name,
          .gives = fmt::format("tensor {} ({}, {})", tensor.name, model::to_string(tensor.role),
                               fmt::join(names, " or ")),
          .accepts = accepts + constness + "void*"};
}

struct Range {
  bool open = false; ///< not known beforehand
  std::int64_t low = 0, high = 0;
};

Range range_of(const model::Axis& axis) {
  switch (axis.kind) {
  case model::Axis::Kind::constant: return {false, axis.value, axis.value};
  case model::Axis::Kind::dtype: return {false, 0, 255};
  case model::Axis::Kind::expr: return {true, 0, 0};
  case model::Axis::Kind::var: break;
  }
  return {axis.max == INT64_MAX, axis.min, axis.max};
}

bool fits_int(const Range& range) {
  return range.open || (range.low >= INT32_MIN && range.high <= INT32_MAX);
}

constexpr const char* k_wide_types = "int64_t, size_t, long, long long";
constexpr const char* k_all_types = "int, unsigned, int64_t, size_t, long, long long";

Argument axis_argument(const model::Contract& contract, int index) {
  const auto& axis = contract.axes[static_cast<std::size_t>(index)];
  const Range range = range_of(axis);
  std::string span = "any value";
  if (!range.open)
    span = range.low == range.high ? fmt::format("= {}", range.low)
                                   : fmt::format("{} to {}", range.low, range.high);
  return {.kind = Argument::Kind::axis,
          .index = index,
          .name = axis.name,
          .gives = fmt::format("axis {} ({})", axis.name, span),
          .accepts = fits_int(range) ? k_all_types : k_wide_types};
}

Argument scalar_argument(const model::Contract& contract, int index) {
  const auto& scalar = contract.scalars[static_cast<std::size_t>(index)];
  const bool floating = model::class_of(scalar.dtype) == model::DtypeClass::floating;
  const bool wide = scalar.dtype == Dtype::float64;
  const char* accepts = k_all_types;
  if (floating) accepts = wide ? "double" : "float, double";
  else if (scalar.dtype == Dtype::boolean) accepts = "bool, int";
  return {.kind = Argument::Kind::scalar,
          .index = index,
          .name = scalar.name,
          .gives = fmt::format("scalar {} ({})", scalar.name, model::to_string(scalar.dtype)),
          .accepts = accepts};
}

template <class List> int index_of(const List& list, const std::string& name) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return static_cast<int>(i);
  return -1;
}

Argument stream_argument() {
  return {.kind = Argument::Kind::stream,
          .index = 0,
          .name = "stream",
          .gives = "the stream (cudaStream_t)",
          .accepts = "cudaStream_t, void*"};
}

/// The wrapper object of one argument, as C++ text.
std::string wrapper(const model::Contract& contract, model::Lane lane, const Argument& argument,
                    Role role) {
  if (argument.kind == Argument::Kind::stream) return "ako_shim_::stream_{ako_stream}";
  if (argument.kind == Argument::Kind::tensor) {
    const auto& tensor = contract.tensors[static_cast<std::size_t>(argument.index)];
    return fmt::format("ako_shim_::tensor_<{}, {}>{{ako_tensors[{}]}}",
                       tensor.role == TensorRole::in,
                       fmt::join(tensor_types(contract, lane, tensor, role), ", "), argument.index);
  }
  if (argument.kind == Argument::Kind::axis) {
    const Range range = range_of(contract.axes[static_cast<std::size_t>(argument.index)]);
    return fmt::format("ako_shim_::integer_<{}, {}, {}>{{ako_integers[{}]}}", range.open, range.low,
                       range.high, argument.index);
  }
  const auto& scalar = contract.scalars[static_cast<std::size_t>(argument.index)];
  const std::string value = fmt::format("ako_scalars[{}]", argument.index);
  if (model::class_of(scalar.dtype) == model::DtypeClass::floating)
    return fmt::format("ako_shim_::scalar_<{}>{{{}}}",
                       scalar.dtype == Dtype::float64 ? "double" : "float, double", value);
  if (scalar.dtype == Dtype::boolean)
    return fmt::format("ako_shim_::scalar_<bool, int>{{{}}}", value);
  const bool open = scalar.expression.has_value();
  const auto whole = open ? 0 : static_cast<std::int64_t>(scalar.value);
  return fmt::format("ako_shim_::integer_<{}, {}, {}>{{static_cast<std::int64_t>({})}}", open,
                     whole, whole, value);
}

std::string exported(const char* name, const std::string& symbol, const std::string& wrappers) {
  return fmt::format(
      "#line 1 \"{0}\"\n"
      "static constexpr auto ako_shim_entry_of_{1} = &::{2};\n"
      "#line 1 \"{3}\"\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) int {1}(void* const* ako_tensors, "
      "const std::int64_t* ako_integers, const double* ako_scalars, void* ako_stream) {{\n"
      "  static_cast<void>(ako_tensors), static_cast<void>(ako_integers), "
      "static_cast<void>(ako_scalars), static_cast<void>(ako_stream);\n"
      "  return ako_shim_::call_<ako_shim_entry_of_{1}>({4});\n"
      "}}\n",
      k_entry_region, name, symbol, k_call_region, wrappers);
}

/// A symbol is put into C++ text, so it must be no more than a name.
base::Status check_symbol(const std::string& symbol, const std::string& where) {
  const bool plain = !symbol.empty() &&
                     symbol.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                                              "WXYZ0123456789_:<>, *") == std::string::npos &&
                     (std::isalpha(static_cast<unsigned char>(symbol[0])) != 0 || symbol[0] == '_');
  if (plain) return {};
  return fail(ErrorKind::invalid, "this is no name of a C++ function",
              {.where = where,
               .found = symbol,
               .allowed = "name, space::name, name<type>",
               .next = "name the function as C++ does, without arguments"});
}

} // namespace

Expected<std::vector<Argument>> arguments_of(const model::Contract& contract, model::Lane lane,
                                             Role role) {
  std::vector<Argument> list;
  const bool streams = lane != model::Lane::cpu;
  bool placed = false;
  if (contract.kernel.args.empty()) {
    for (std::size_t i = 0; i < contract.tensors.size(); ++i)
      list.push_back(tensor_argument(contract, lane, static_cast<int>(i), role));
    for (std::size_t i = 0; i < contract.scalars.size(); ++i)
      list.push_back(scalar_argument(contract, static_cast<int>(i)));
    for (std::size_t i = 0; i < contract.axes.size(); ++i)
      if (contract.axes[i].kind == model::Axis::Kind::var)
        list.push_back(axis_argument(contract, static_cast<int>(i)));
  }
  for (const auto& name : contract.kernel.args) {
    if (const int tensor = index_of(contract.tensors, name); tensor >= 0)
      list.push_back(tensor_argument(contract, lane, tensor, role));
    else if (const int scalar = index_of(contract.scalars, name); scalar >= 0)
      list.push_back(scalar_argument(contract, scalar));
    else if (const int axis = index_of(contract.axes, name); axis >= 0)
      list.push_back(axis_argument(contract, axis));
    else if (name == "stream" && streams) {
      list.push_back(stream_argument());
      placed = true;
    } else
      return fail(ErrorKind::invalid, "an argument of the entry is nothing of the contract's",
                  {.where = "kernel.args",
                   .found = name,
                   .allowed = "names of tensors, scalars and axes",
                   .next = "correct kernel.args"});
  }
  if (streams && !placed) list.push_back(stream_argument());
  return list;
}

Expected<std::string> shim_text(const model::Contract& contract, model::Lane lane, Role role,
                                const Unit& unit) {
  if (unit.entry.file.find_first_of("\"\\\n\r") != std::string::npos)
    return fail(ErrorKind::invalid, "a file name that C++ cannot include",
                {.where = "entry.file",
                 .found = unit.entry.file,
                 .allowed = "no quotes, backslashes or line breaks",
                 .next = "rename the file"});
  AKO_TRY(const auto arguments, arguments_of(contract, lane, role));
  std::vector<std::string> wrappers;
  for (const auto& argument : arguments)
    wrappers.push_back(wrapper(contract, lane, argument, role));
  const std::string list = fmt::format("{}", fmt::join(wrappers, ",\n    "));
  const bool cuda = lane != model::Lane::cpu;

  std::string text = fmt::format("#include \"{}\"\n", unit.entry.file);
  if (cuda)
    text += "#line 1 \"ako-shim-types\"\n" + cuda_headers(contract) +
            fmt::format("#define AKO_SHIM_LAUNCH_STATUS {}\n#define AKO_SHIM_CUTLASS_STATUS {}\n",
                        model::k_launch_status, model::k_cutlass_status) +
            k_cuda_lane_types +
            (lane == model::Lane::cutlass ? k_cutlass_lane_types : k_no_cutlass_types);
  else text += k_cpu_lane_types;
  text += k_shim_types;
  AKO_TRY_STATUS(check_symbol(unit.entry.symbol, "entry.symbol"));
  // -DAKO_PLANT_SLOW_DOWN=4: each call takes a quarter longer. `ako check` asks for it, to prove
  // that a slower candidate is seen to be slower.
  text += "#ifdef AKO_PLANT_SLOW_DOWN\n" + exported("ako_planted_call", unit.entry.symbol, list) +
          (cuda ? k_slow_cuda_call : k_slow_call) + "#else\n" +
          exported("ako_call", unit.entry.symbol, list) + "#endif\n";
  if (!unit.prepare.empty()) {
    AKO_TRY_STATUS(check_symbol(unit.prepare, "kernel.prepare"));
    text += exported("ako_prepare", unit.prepare, list);
  }
  if (!unit.plan.empty()) {
    AKO_TRY_STATUS(check_symbol(unit.plan, "kernel.plan"));
    text += exported("ako_plan", unit.plan, list);
  }
  return text;
}

} // namespace ako::lanes::native
