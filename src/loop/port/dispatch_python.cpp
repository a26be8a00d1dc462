#include "loop/port/dispatch.hpp"

#include "base/fs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::loop {
namespace {

/// An expression of the contract in Python: its division rounds down.
std::string python_expression(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '/' ? std::string("//") : std::string(1, c);
  return out;
}

bool is_bare_axis(const model::Contract& contract, const std::string& text) {
  const auto* axis = model::find_axis(contract, text);
  return axis != nullptr && axis->kind == model::Axis::Kind::var;
}

class Python {
public:
  Python(const model::Contract& contract, const model::PortSpec& port, const Proven& proven,
         const DispatchSource& source)
      : m_contract(contract), m_port(port), m_proven(proven), m_source(source) {}

  base::Expected<std::string> text() {
    AKO_TRY(const std::string tests, guard());
    return head() + tests + dispatch();
  }

private:
  bool is_argument(const std::string& name) const {
    return std::find(m_source.args.begin(), m_source.args.end(), name) != m_source.args.end();
  }

  std::string head() const {
    std::string module = base::fs::path(m_source.entry_file).replace_extension().generic_string();
    std::replace(module.begin(), module.end(), '/', '.');
    return fmt::format(
        "\"\"\"{0} behind a dispatch, written by ako from {1}.\n\n"
        "Not to be edited: what changes here was not measured. Bring changes through the loop.\n\n"
        "Proven for {2}; everything else takes the old path.\n"
        "Measured shapes: {3}\n\"\"\"\n"
        "import functools\nimport os\n\n"
        "from .kernel import {4} as _kernel\n\n\n"
        "def ceildiv(a, b):\n    return -(-a // b)\n\n\n"
        "def wanted():\n"
        "    \"\"\"{5}=old keeps the old path, {5}=new takes the new one.\"\"\"\n"
        "    value = os.environ.get(\"{5}\", \"\")\n"
        "    return value not in (\"old\", \"0\", \"off\", \"no\", \"false\") if value else "
        "{6}\n\n\n{7}",
        m_source.kernel, m_source.origin, text_of(m_proven), fmt::join(m_proven.shapes, "; "),
        module, m_port.switch_name,
        m_port.otherwise == model::PortSpec::Path::new_path ? "True" : "False", device());
  }

  std::string device() const {
    const auto measured = capability_of(m_source.architecture);
    if (!measured) return {};
    return fmt::format(
        "@functools.lru_cache(maxsize=None)\n"
        "def measured_on(device):\n"
        "    \"\"\"Whether a device is of the kind that was measured, {}.\"\"\"\n"
        "    import torch\n\n"
        "    return device.type == \"cuda\" and torch.cuda.get_device_capability(device) == ({}, "
        "{})\n\n\n",
        m_source.architecture, measured->major, measured->minor);
  }

  void test_device() {
    if (device().empty()) return;
    for (const auto& tensor : m_contract.tensors)
      if (is_argument(tensor.name)) test(fmt::format("measured_on({}.device)", tensor.name));
  }

  /// A line `if not (...): return False`.
  void test(const std::string& condition) {
    m_body += fmt::format("    if not ({}):\n        return False\n", condition);
  }

  base::Expected<std::string> guard() {
    for (const auto& tensor : m_contract.tensors)
      if (is_argument(tensor.name)) test_tensor(tensor);
    for (const auto& axis : m_contract.axes)
      if (axis.kind == model::Axis::Kind::var && !is_argument(axis.name) &&
          std::find(m_bound.begin(), m_bound.end(), axis.name) == m_bound.end())
        return base::fail(
            base::ErrorKind::unsupported, "the dispatch cannot see an axis that it must test",
            {.where = "task.toml [axes]",
             .found = "axis " + axis.name + " is neither an argument nor the size of one",
             .allowed = "an axis that stands alone in some tensor's shape",
             .next = "integrate with [port] patches, and test the axis there"});
    // First the boxes: within them no size is one that an expression cannot take.
    test_boxes();
    work_out_axes();
    for (const auto& later : m_later) test(later);
    test_device();
    for (const auto& scalar : m_contract.scalars)
      if (is_argument(scalar.name))
        test(fmt::format("{} == {}", scalar.name,
                         scalar.expression ? python_expression(scalar.expression->text())
                                           : fmt::format("{}", scalar.value)));
    // What is handed over is tested; what is not is known.
    std::string constants;
    for (const auto& axis : m_contract.axes) {
      if (axis.kind != model::Axis::Kind::constant) continue;
      if (is_argument(axis.name)) test(fmt::format("{} == {}", axis.name, axis.value));
      else constants += fmt::format("    {} = {}\n", axis.name, axis.value);
    }
    return fmt::format(
        "def proven({}):\n"
        "    \"\"\"Whether a call is one of those that were judged and measured.\"\"\"\n"
        "{}{}    return True\n\n\n",
        fmt::join(m_source.args, ", "), constants, m_body);
  }

  void test_boxes() {
    std::string boxes;
    for (const auto& box : m_proven.boxes) {
      std::string one;
      const auto add = [&](const std::string& condition) {
        one += (one.empty() ? "" : " and ") + condition;
      };
      for (const auto& range : box.ranges) {
        add(fmt::format("{} <= {} <= {}", range.low, range.name, range.high));
        if (range.low != range.high && range.multiple > 1)
          add(fmt::format("{} % {} == 0", range.name, range.multiple));
      }
      if (const std::string variants = variant_test(box); !variants.empty()) add(variants);
      if (one.empty()) return;
      boxes += fmt::format("{}({})", boxes.empty() ? "" : "\n            or ", one);
    }
    if (!boxes.empty()) test(boxes);
  }

  /// "(dtype_T, dtype_U) in (...)", of the dtype axes that some argument tells.
  std::string variant_test(const Proven::Box& box) const {
    if (m_dtypes.empty()) return {};
    std::string names, values;
    for (const auto& name : m_dtypes) names += "dtype_" + name + ", ";
    for (const auto& variant : box.variants) {
      std::string one;
      for (const auto& name : m_dtypes)
        one += fmt::format("\"{}\", ", model::to_string(variant.at(name)));
      values += "(" + one + "), ";
    }
    return fmt::format("({}) in ({})", names, values);
  }

  /// All tensors of a dtype axis have the one dtype.
  void bind_dtype(const model::Tensor& tensor) {
    const std::string found = fmt::format("str({}.dtype).split(\".\")[-1]", tensor.name);
    const std::string& axis = tensor.dtype_axis;
    if (std::find(m_dtypes.begin(), m_dtypes.end(), axis) != m_dtypes.end())
      return test(fmt::format("{} == dtype_{}", found, axis));
    m_body += fmt::format("    dtype_{} = {}\n", axis, found);
    m_dtypes.push_back(axis);
  }

  void test_tensor(const model::Tensor& tensor) {
    const std::string& name = tensor.name;
    test(fmt::format("getattr({}, \"ndim\", -1) == {}", name, tensor.shape.size()));
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      const std::string size = fmt::format("{}.shape[{}]", name, i);
      const std::string text = tensor.shape[i].text();
      const bool fresh = is_bare_axis(m_contract, text) && !is_argument(text) &&
                         std::find(m_bound.begin(), m_bound.end(), text) == m_bound.end();
      if (fresh) {
        m_body += fmt::format("    {} = {}\n", text, size);
        m_bound.push_back(text);
      } else {
        m_later.push_back(fmt::format("{} == {}", size, python_expression(text)));
      }
    }
    if (!tensor.dtype_axis.empty()) bind_dtype(tensor);
    else
      test(fmt::format("str({}.dtype).split(\".\")[-1] == \"{}\"", name,
                       model::to_string(*tensor.dtype)));
    if (tensor.strides.empty() && tensor.layout != "column_major")
      test(fmt::format("{}.is_contiguous()", name));
    if (tensor.align > 1) test(fmt::format("{}.data_ptr() % {} == 0", name, tensor.align));
  }

  /// Axes that follow from others, in an order in which each can be worked out.
  void work_out_axes() {
    std::vector<const model::Axis*> waiting;
    for (const auto& axis : m_contract.axes)
      if (axis.kind == model::Axis::Kind::expr) waiting.push_back(&axis);
    while (!waiting.empty()) {
      const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const model::Axis* axis) {
        return std::none_of(waiting.begin(), waiting.end(), [&](const model::Axis* other) {
          const auto& names = axis->expression->names();
          return std::find(names.begin(), names.end(), other->name) != names.end();
        });
      });
      if (ready == waiting.end()) return; // the contract's reader lets no circle through
      const std::string value = python_expression((*ready)->expression->text());
      if (is_argument((*ready)->name)) test((*ready)->name + " == " + value);
      else m_body += fmt::format("    {} = {}\n", (*ready)->name, value);
      waiting.erase(ready);
    }
  }

  std::string dispatch() const {
    std::string symbol = m_contract.kernel.entry.symbol;
    return fmt::format(
        "@functools.lru_cache(maxsize=64)\n"
        "def {0}_or(old):\n"
        "    \"\"\"The new kernel where it was proven and is wanted, else `old`.\"\"\"\n\n"
        "    @functools.wraps(old)\n"
        "    def call(*args, **kwargs):\n"
        "        if not kwargs and len(args) == {1} and wanted() and proven(*args):\n"
        "            return _kernel.{2}(*args)\n"
        "        return old(*args, **kwargs)\n\n"
        "    return call\n",
        m_source.kernel, m_source.args.size(), symbol);
  }

  const model::Contract& m_contract;
  const model::PortSpec& m_port;
  const Proven& m_proven;
  const DispatchSource& m_source;
  std::string m_body;
  std::vector<std::string> m_bound, m_later, m_dtypes;
};

} // namespace

base::Expected<std::string> python_dispatch(const model::Contract& contract,
                                            const model::PortSpec& port, const Proven& proven,
                                            const DispatchSource& source) {
  return Python(contract, port, proven, source).text();
}

} // namespace ako::loop
