#include "loop/port/dispatch.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::loop {
namespace {

/// "ns::halve<float>" -> "ns::", "halve", "<float>".
struct Symbol {
  std::string space, name, arguments;
};
Symbol parts_of(const std::string& symbol) {
  Symbol out;
  const std::size_t open = symbol.find('<');
  if (open != std::string::npos) out.arguments = symbol.substr(open);
  const std::string plain = symbol.substr(0, open);
  const std::size_t last = plain.rfind("::");
  out.space = last == std::string::npos ? "" : plain.substr(0, last + 2);
  out.name = last == std::string::npos ? plain : plain.substr(last + 2);
  return out;
}

int bytes_of(model::Dtype dtype) {
  switch (dtype) {
  case model::Dtype::float64:
  case model::Dtype::int64:
  case model::Dtype::uint64: return 8;
  case model::Dtype::float32:
  case model::Dtype::int32:
  case model::Dtype::uint32: return 4;
  case model::Dtype::float16:
  case model::Dtype::bfloat16:
  case model::Dtype::int16:
  case model::Dtype::uint16: return 2;
  default: return 1;
  }
}

/// An integer expression of the contract in C++: constants as their values, axes that follow from
/// others spelled out, so that only var axes are left. min, max and ceildiv stand in the guard.
std::string cpp_expression(const model::Contract& contract, const std::string& text) {
  std::string out, word;
  const auto flush = [&] {
    const auto* axis = model::find_axis(contract, word);
    if (axis != nullptr && axis->kind == model::Axis::Kind::constant)
      out += std::to_string(axis->value);
    else if (axis != nullptr && axis->kind == model::Axis::Kind::expr)
      out += "(" + cpp_expression(contract, axis->expression->text()) + ")";
    else out += word;
    word.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    flush();
    out += c;
  }
  flush();
  return out;
}

class Native {
public:
  Native(const model::Contract& contract, const model::PortSpec& port, const Proven& proven,
         const DispatchSource& source)
      : m_contract(contract), m_port(port), m_proven(proven), m_source(source),
        m_symbol(parts_of(contract.kernel.entry.symbol)),
        m_renamed(fmt::format("ako_{}_kernel", source.kernel)) {}

  base::Expected<std::string> text() {
    AKO_TRY_STATUS(collect());
    return head() + wanted() + element_bytes() + device() + guard() + dispatch();
  }

private:
  base::Status collect() {
    for (const auto& axis : m_contract.axes)
      if (axis.kind == model::Axis::Kind::var && index_of(axis.name) < 0)
        return base::fail(base::ErrorKind::unsupported,
                          "the dispatch cannot see an axis that it must test",
                          {.where = "task.toml [kernel] args",
                           .found = "axis " + axis.name + " is no argument of the entry",
                           .allowed = "an entry that takes every var axis",
                           .next = "integrate with [port] patches, and test the axis there"});
    return {};
  }

  int index_of(const std::string& name) const {
    const auto at = std::find(m_source.args.begin(), m_source.args.end(), name);
    return at == m_source.args.end() ? -1 : static_cast<int>(at - m_source.args.begin());
  }

  std::string head() const {
    std::string out = fmt::format(
        "// {} behind a dispatch, written by ako from {}.\n"
        "// Not to be edited: what changes here was not measured. Bring changes through the loop.\n"
        "//\n"
        "// Proven for {}\n"
        "// with buffers laid out and aligned as below; everything else takes the old path.\n",
        m_source.kernel, m_source.origin, text_of(m_proven));
    out += "// Measured shapes: " + fmt::format("{}", fmt::join(m_proven.shapes, "; ")) + "\n";
    for (const auto& tensor : m_contract.tensors) out += "//   " + tensor_line(tensor) + "\n";
    out += "// One translation unit of a program may include this file: it defines the kernel.\n"
           "#pragma once\n\n"
           "#if defined(__cplusplus) && __cplusplus < 201703L\n"
           "#error \"this dispatch needs C++17\"\n"
           "#endif\n\n"
           "#include <atomic>\n#include <cstddef>\n#include <cstdint>\n#include "
           "<cstdlib>\n#include <cstring>\n#include <initializer_list>\n"
           "#include <tuple>\n#include <type_traits>\n\n";
    if (!device().empty()) out += "#include <cuda_runtime.h>\n\n";
    out += fmt::format("#define {} {}\n#include \"kernel/{}\"\n#undef {}\n\n", m_symbol.name,
                       m_renamed, m_source.entry_file, m_symbol.name);
    return out + "namespace ako_port {\n\n";
  }

  std::string tensor_line(const model::Tensor& tensor) const {
    std::string shape;
    for (const auto& each : tensor.shape) shape += (shape.empty() ? "" : ", ") + each.text();
    const std::string layout = !tensor.strides.empty() ? "own strides"
                               : tensor.layout.empty() ? std::string("row_major")
                                                       : tensor.layout;
    return fmt::format("{}: {}[{}], {}, aligned to {} bytes", tensor.name,
                       tensor.dtype ? std::string(model::to_string(*tensor.dtype))
                                    : tensor.dtype_axis,
                       shape, layout, tensor.align);
  }

  std::string wanted() const {
    const bool fresh = m_port.otherwise == model::PortSpec::Path::new_path;
    const std::string name = m_port.switch_name;
    if (m_port.switch_kind == model::PortSpec::Switch::macro)
      return fmt::format(
          "/// Compiled with -D{0}=0 the old path stands, with -D{0}=1 the new one.\n"
          "#ifndef {0}\n#define {0} {1}\n#endif\n"
          "inline bool {2}_wanted() {{ return {0} != 0; }}\n\n",
          name, fresh ? 1 : 0, m_source.kernel);
    return fmt::format(
        "/// {0}=old keeps the old path, {0}=new takes the new one; read once.\n"
        "inline bool {1}_wanted() {{\n"
        "  static const bool wanted = [] {{\n"
        "    const char* value = std::getenv(\"{0}\");\n"
        "    if (value == nullptr || *value == 0) return {2};\n"
        "    for (const char* word : {{\"old\", \"0\", \"off\", \"no\", \"false\"}})\n"
        "      if (std::strcmp(value, word) == 0) return false;\n"
        "    return true;\n"
        "  }}();\n"
        "  return wanted;\n"
        "}}\n\n",
        name, m_source.kernel, fresh ? "true" : "false");
  }

  std::string guard() const {
    std::string out = fmt::format(
        "/// Whether a call is one of those that were judged and measured.\n"
        "template <class... Arguments> bool {}_proven(const Arguments&... arguments) {{\n"
        "  const auto all = std::tie(arguments...);\n",
        m_source.kernel);
    std::string tests;
    const auto test = [&](const std::string& condition) {
      tests += fmt::format("{}{}", tests.empty() ? "  return " : " &&\n         ", condition);
    };
    for (const auto& axis : m_contract.axes)
      if (axis.kind == model::Axis::Kind::var)
        out += fmt::format("  const auto {} = static_cast<std::int64_t>(std::get<{}>(all));\n",
                           axis.name, index_of(axis.name));
    std::string boxes;
    for (const auto& box : m_proven.boxes) {
      const std::string one = box_test(box);
      if (one.empty()) continue;
      const bool several = m_proven.boxes.size() > 1;
      boxes += (boxes.empty() ? "" : " ||\n          ") + (several ? "(" + one + ")" : one);
    }
    if (!boxes.empty()) test(m_proven.boxes.size() > 1 ? "(" + boxes + ")" : boxes);
    if (add_expressions(test)) out += arithmetic();
    add_fixed(test);
    if (!device().empty()) test(fmt::format("{}_device()", m_source.kernel));
    out += tests.empty() ? "  static_cast<void>(all);\n  return true;\n" : tests + ";\n";
    return out + "}\n\n";
  }

  std::string box_test(const Proven::Box& box) const {
    std::string out;
    const auto test = [&](const std::string& condition) {
      out += (out.empty() ? "" : " && ") + condition;
    };
    for (const auto& range : box.ranges) {
      if (range.low == range.high) test(fmt::format("{} == {}", range.name, range.low));
      else test(fmt::format("{0} >= {1} && {0} <= {2}", range.name, range.low, range.high));
      if (range.low != range.high && range.multiple > 1)
        test(fmt::format("{} % {} == 0", range.name, range.multiple));
    }
    std::string variants;
    std::vector<std::string> seen;
    for (const auto& variant : box.variants) {
      const std::string one = variant_test(variant);
      if (one.empty() || std::find(seen.begin(), seen.end(), one) != seen.end()) continue;
      seen.push_back(one);
      variants += (variants.empty() ? "(" : " || ") + ("(" + one + ")");
    }
    if (!variants.empty()) test(variants + ")");
    return out;
  }

  /// A dtype axis is an argument, or the pointers tell it by the size of their elements.
  std::string variant_test(const Proven::Variant& variant) const {
    std::string out;
    const auto test = [&](const std::string& condition) {
      out += (out.empty() ? "" : " && ") + condition;
    };
    for (const auto& [name, dtype] : variant) {
      if (const int at = index_of(name); at >= 0)
        test(fmt::format("static_cast<int>(std::get<{}>(all)) == {}", at, static_cast<int>(dtype)));
      for (const auto& tensor : m_contract.tensors)
        if (const int at = index_of(tensor.name); at >= 0 && tensor.dtype_axis == name)
          test(fmt::format("({0}_bytes<{1}, Arguments...> == 0 || {0}_bytes<{1}, Arguments...> == "
                           "{2})",
                           m_source.kernel, at, bytes_of(dtype)));
    }
    return out;
  }

  /// What the contract works out of the sizes is what was handed over. Behind the boxes: there no
  /// size is one that an expression cannot take.
  template <class Test> bool add_expressions(const Test& test) const {
    bool any = false;
    const auto add = [&](const std::string& name, const model::Expression& expression) {
      const int at = index_of(name);
      if (at < 0) return;
      any = true;
      test(fmt::format("std::get<{0}>(all) == "
                       "static_cast<std::decay_t<decltype(std::get<{0}>(all))>>({1})",
                       at, cpp_expression(m_contract, expression.text())));
    };
    for (const auto& axis : m_contract.axes)
      if (axis.kind == model::Axis::Kind::expr) add(axis.name, *axis.expression);
    for (const auto& scalar : m_contract.scalars)
      if (scalar.expression) add(scalar.name, *scalar.expression);
    return any;
  }

  static std::string arithmetic() {
    const char* const functions[][2] = {
        {"min", "a < b ? a : b"}, {"max", "a < b ? b : a"}, {"ceildiv", "a / b + (a % b != 0)"}};
    std::string out;
    for (const auto& [name, value] : functions)
      out += fmt::format("  [[maybe_unused]] const auto {} = [](std::int64_t a, std::int64_t b) "
                         "{{ return {}; }};\n",
                         name, value);
    return out;
  }

  /// Alignment of buffers, values of scalars and sizes that never varied. A null pointer is some
  /// callers' word for an operand that is left out: nobody measured that.
  template <class Test> void add_fixed(const Test& test) const {
    for (const auto& tensor : m_contract.tensors) {
      const int at = index_of(tensor.name);
      if (at >= 0) test(fmt::format("std::get<{}>(all) != nullptr", at));
      if (at >= 0 && tensor.align > 1)
        test(fmt::format("reinterpret_cast<std::uintptr_t>(std::get<{}>(all)) % {} == 0", at,
                         tensor.align));
    }
    for (const auto& scalar : m_contract.scalars) {
      const int at = index_of(scalar.name);
      if (at < 0 || scalar.expression) continue;
      test(fmt::format("std::get<{0}>(all) == "
                       "static_cast<std::decay_t<decltype(std::get<{0}>(all))>>({1})",
                       at, scalar.value));
    }
    for (const auto& axis : m_contract.axes) {
      const int at = index_of(axis.name);
      if (at >= 0 && axis.kind == model::Axis::Kind::constant)
        test(fmt::format("static_cast<std::int64_t>(std::get<{}>(all)) == {}", at, axis.value));
    }
  }

  std::string element_bytes() const {
    return fmt::format(
        "/// Bytes of what a pointer points at; 0 = void, or no pointer.\n"
        "template <std::size_t I, class... Parameters> inline constexpr std::size_t {0}_bytes = [] "
        "{{\n"
        "  using T = std::remove_pointer_t<std::tuple_element_t<I, std::tuple<Parameters...>>>;\n"
        "  if constexpr (std::is_void_v<T>) return std::size_t(0);\n"
        "  else return sizeof(T);\n"
        "}}();\n\n",
        m_source.kernel);
  }

  /// Where calls run on a device: of the kind that was measured. Asked once for each device.
  std::string device() const {
    const auto measured = capability_of(m_source.architecture);
    if (!measured || !takes_stream()) return {};
    return fmt::format(
        "/// Whether the current device is of the kind that was measured, {1}.\n"
        "inline bool {0}_device() {{\n"
        "  static std::atomic<signed char> known[64] = {{}}; // 1 = it is, -1 = it is not\n"
        "  int device = 0, major = 0, minor = 0;\n"
        "  if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= 64) return false;\n"
        "  if (const signed char seen = known[device].load(); seen != 0) return seen > 0;\n"
        "  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != "
        "cudaSuccess ||\n"
        "      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != "
        "cudaSuccess)\n"
        "    return false;\n"
        "  const bool same = major == {2} && minor == {3};\n"
        "  known[device] = same ? 1 : -1;\n"
        "  return same;\n"
        "}}\n\n",
        m_source.kernel, m_source.architecture, measured->major, measured->minor);
  }

  std::string element_checks() const {
    std::string out;
    for (const auto& tensor : m_contract.tensors) {
      const int at = index_of(tensor.name);
      if (at < 0) continue;
      std::string lawful;
      for (const auto dtype : model::dtypes_of(m_contract, tensor)) {
        const std::string one =
            fmt::format("{}_bytes<{}, Parameters...> == {}", m_source.kernel, at, bytes_of(dtype));
        if (lawful.find(one) == std::string::npos) lawful += (lawful.empty() ? "" : " || ") + one;
      }
      out += fmt::format("    static_assert({3}_bytes<{0}, Parameters...> == 0 || {1},\n"
                         "                  \"{2}: elements of another size were measured\");\n",
                         at, lawful, tensor.name, m_source.kernel);
    }
    return out;
  }

  std::string dispatch() const {
    const std::string call =
        fmt::format("::{}{}{}(arguments...)", m_symbol.space, m_renamed, m_symbol.arguments);
    return fmt::format(
        "/// {0}_or(old)(...): the new kernel where it was proven and is wanted, else `old`.\n"
        "template <class Result, class... Parameters> auto {0}_or(Result (*old)(Parameters...)) "
        "{{\n"
        "  return [old](Parameters... arguments) -> Result {{\n"
        "    static_assert(sizeof...(Parameters) == {1}, \"the kernel takes {1} arguments\");\n"
        "{2}"
        "    if (!{0}_wanted() || !{0}_proven(arguments...)) return old(arguments...);\n"
        "    using New = decltype({3});\n"
        "    if constexpr (std::is_void_v<Result>) {{\n"
        "      {3};\n"
        "    }} else if constexpr (std::is_void_v<New>) {{\n"
        "      {3};\n"
        "      return Result();\n"
        "    }} else {{\n"
        "      return static_cast<Result>({3});\n"
        "    }}\n"
        "  }};\n"
        "}}\n\n"
        "}} // namespace ako_port\n",
        m_source.kernel, m_source.args.size() + (takes_stream() ? 1 : 0), element_checks(), call);
  }

  bool takes_stream() const {
    return m_contract.kernel.lane == model::Lane::cuda ||
           m_contract.kernel.lane == model::Lane::cutlass;
  }

  const model::Contract& m_contract;
  const model::PortSpec& m_port;
  const Proven& m_proven;
  const DispatchSource& m_source;
  Symbol m_symbol;
  std::string m_renamed;
};

} // namespace

base::Expected<std::string> native_dispatch(const model::Contract& contract,
                                            const model::PortSpec& port, const Proven& proven,
                                            const DispatchSource& source) {
  return Native(contract, port, proven, source).text();
}

} // namespace ako::loop
