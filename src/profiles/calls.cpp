#include "profiles/calls.hpp"

#include "base/json.hpp"
#include "model/resolved.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace ako::profiles {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

namespace {

/// "torch.bfloat16" and "bfloat16" are one.
std::string plain_dtype(std::string name) {
  if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) name.erase(0, dot + 1);
  return name;
}

std::optional<std::vector<std::int64_t>> sizes_in(const Json& json, const char* key) {
  if (!json.contains(key)) return std::vector<std::int64_t>{};
  if (!json[key].is_array()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const auto& each : json[key]) {
    if (!each.is_number_integer()) return std::nullopt;
    out.push_back(each.get<std::int64_t>());
  }
  return out;
}

std::optional<RecordedArgument> argument_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  RecordedArgument out;
  out.name = base::get_or<std::string>(json, "name", "");
  out.dtype = plain_dtype(base::get_or<std::string>(json, "dtype", ""));
  out.file = base::get_or<std::string>(json, "file", "");
  const auto shape = sizes_in(json, "shape"), strides = sizes_in(json, "strides");
  if (!shape || !strides || out.name.empty()) return std::nullopt;
  out.shape = *shape;
  out.strides = *strides;
  if (json.contains("value") && json["value"].is_number()) out.value = json["value"].get<double>();
  return out;
}

std::optional<RecordedCall> call_of(const Json& json) {
  RecordedCall out;
  out.kernel = base::get_or<std::string>(json, "kernel", "");
  out.count = base::get_or<std::int64_t>(json, "count", 1);
  if (out.kernel.empty() || out.count < 1 || !json.contains("args") || !json["args"].is_array())
    return std::nullopt;
  for (const auto& each : json["args"]) {
    auto argument = argument_of(each);
    if (!argument) return std::nullopt;
    out.arguments.push_back(std::move(*argument));
  }
  return out;
}

/// Recorded files of two equal calls differ in name and not in kind.
std::vector<RecordedArgument> signature_of(const RecordedCall& call) {
  auto out = call.arguments;
  for (auto& each : out) each.file.clear();
  return out;
}

Expected<std::vector<RecordedCall>> calls_of(const std::vector<RecordedCall>& calls,
                                             const std::string& kernel) {
  std::set<std::string> names;
  for (const auto& call : calls) names.insert(call.kernel);
  std::string wanted = kernel;
  if (wanted.empty() && names.size() == 1) wanted = *names.begin();
  std::vector<RecordedCall> out;
  for (const auto& call : calls)
    if (call.kernel == wanted) out.push_back(call);
  if (!out.empty()) return out;
  return fail(ErrorKind::usage, "it is not clear which recorded kernel is meant",
              {.where = "--kernel",
               .found = kernel.empty() ? "none named" : kernel,
               .allowed = names.empty() ? "the file records no call"
                                        : fmt::format("{}", fmt::join(names, ", ")),
               .next = "name one of them with --kernel"});
}

std::string tag_of(const model::ShapeCase& shape) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ",") + text; };
  for (const auto& [name, value] : shape.axes) add(fmt::format("{}={}", name, value));
  for (const auto& [name, dtype] : shape.dtypes)
    add(fmt::format("{}={}", name, model::to_string(dtype)));
  return out.empty() ? "recorded" : out;
}

std::string toml_of(const std::vector<model::ShapeCase>& shapes) {
  std::string out;
  for (const auto& shape : shapes) {
    out += fmt::format("[[shape]]\ntag = \"{}\"\n", shape.tag);
    for (const auto& [name, value] : shape.axes) out += fmt::format("{} = {}\n", name, value);
    for (const auto& [name, dtype] : shape.dtypes)
      out += fmt::format("{} = \"{}\"\n", name, model::to_string(dtype));
    out += fmt::format("weight = {}\n\n", shape.weight);
  }
  return out;
}

/// One call's axis values, or why there are none.
class Solving {
public:
  Solving(const model::Contract& contract, const RecordedCall& call)
      : m_contract(contract), m_call(call) {}

  bool run() {
    for (const auto& argument : m_call.arguments) {
      const auto tensor =
          std::find_if(m_contract.tensors.begin(), m_contract.tensors.end(),
                       [&](const auto& each) { return each.name == argument.name; });
      if (tensor != m_contract.tensors.end()) take_tensor(*tensor, argument);
      else if (argument.value) take_number(argument);
    }
    for (const auto& axis : m_contract.axes) {
      const bool told = shape.axes.contains(axis.name) || shape.dtypes.contains(axis.name);
      const bool due = axis.kind == model::Axis::Kind::var || axis.kind == model::Axis::Kind::dtype;
      if (due && !told) unknown.push_back(axis.name);
    }
    if (!unknown.empty() || !misfit.empty()) return false;
    check();
    return misfit.empty();
  }

  model::ShapeCase shape;
  std::vector<std::string> unknown;
  std::string misfit;

private:
  void set(const model::Axis& axis, std::int64_t value, const std::string& from) {
    const auto [at, fresh] = shape.axes.emplace(axis.name, value);
    if (!fresh && at->second != value)
      misfit = fmt::format("axis {} is {} and, by {}, {}", axis.name, at->second, from, value);
  }

  void take_tensor(const model::Tensor& tensor, const RecordedArgument& argument) {
    if (tensor.shape.size() != argument.shape.size()) {
      misfit = fmt::format("{} has {} dimensions, the contract says {}", tensor.name,
                           argument.shape.size(), tensor.shape.size());
      return;
    }
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      const auto* axis = model::find_axis(m_contract, tensor.shape[i].text());
      if (axis != nullptr && axis->kind == model::Axis::Kind::var)
        set(*axis, argument.shape[i], fmt::format("{}.shape[{}]", tensor.name, i));
    }
    if (argument.dtype.empty()) return;
    const auto dtype = model::dtype_from(argument.dtype);
    const auto lawful = model::dtypes_of(m_contract, tensor);
    if (!dtype || std::find(lawful.begin(), lawful.end(), *dtype) == lawful.end())
      misfit =
          fmt::format("{} is {}, which the contract does not allow", tensor.name, argument.dtype);
    else if (!tensor.dtype_axis.empty()) shape.dtypes[tensor.dtype_axis] = *dtype;
  }

  void take_number(const RecordedArgument& argument) {
    const auto* axis = model::find_axis(m_contract, argument.name);
    if (axis != nullptr && axis->kind == model::Axis::Kind::var &&
        std::floor(*argument.value) == *argument.value)
      set(*axis, static_cast<std::int64_t>(*argument.value), argument.name);
  }

  /// Sizes that follow from others must be what was recorded.
  void check() {
    shape.tag = tag_of(shape);
    auto resolved = model::resolve(m_contract, shape);
    if (!resolved) {
      misfit = resolved.error().message +
               (resolved.error().found.empty() ? "" : ": " + resolved.error().found);
      return;
    }
    for (const auto& argument : m_call.arguments)
      for (const auto& tensor : resolved->tensors)
        if (tensor.name == argument.name && tensor.shape != argument.shape)
          misfit = fmt::format("{} is [{}], by the contract it would be [{}]", tensor.name,
                               fmt::join(argument.shape, ", "), fmt::join(tensor.shape, ", "));
  }

  const model::Contract& m_contract;
  const RecordedCall& m_call;
};

void note_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

} // namespace

Expected<std::vector<RecordedCall>> read_calls(std::string_view text, std::string_view where) {
  std::vector<RecordedCall> out;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string place = fmt::format("{}:{}", where, number);
    AKO_TRY(const Json json, base::parse_json(line, place));
    auto call = json.is_object() ? call_of(json) : std::nullopt;
    if (!call)
      return fail(
          ErrorKind::invalid, "a line is no recorded call",
          {.where = place,
           .found = std::string(line.substr(0, 120)),
           .allowed = "{\"kernel\", \"count\", \"args\": [{\"name\", \"dtype\", \"shape\"}, ...]}",
           .next = "record with python/ako_record or include/ako/record.h"});
    const auto same = std::find_if(out.begin(), out.end(), [&](const auto& other) {
      return other.kernel == call->kernel && signature_of(other) == signature_of(*call);
    });
    if (same == out.end()) out.push_back(std::move(*call));
    else same->count += call->count;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return out;
}

Expected<CallShapes> shapes_of_calls(const model::Contract& contract,
                                     const std::vector<RecordedCall>& calls,
                                     const std::string& kernel, std::size_t most) {
  AKO_TRY(const auto chosen, calls_of(calls, kernel));
  CallShapes out;
  for (const auto& call : chosen) {
    out.calls += call.count;
    Solving solving(contract, call);
    if (!solving.run()) {
      for (const auto& axis : solving.unknown)
        note_once(out.unknown,
                  fmt::format("axis {}: no recorded argument tells it; record the argument that "
                              "holds it, or write it into each [[shape]]",
                              axis));
      if (!solving.misfit.empty())
        note_once(out.misfits, fmt::format("{} calls: {}", call.count, solving.misfit));
      continue;
    }
    auto same = std::find_if(out.shapes.begin(), out.shapes.end(), [&](const auto& each) {
      return each.axes == solving.shape.axes && each.dtypes == solving.shape.dtypes;
    });
    if (same != out.shapes.end()) same->weight += static_cast<double>(call.count);
    else {
      solving.shape.weight = static_cast<double>(call.count);
      out.shapes.push_back(std::move(solving.shape));
    }
  }
  std::stable_sort(out.shapes.begin(), out.shapes.end(),
                   [](const auto& a, const auto& b) { return a.weight > b.weight; });
  if (out.shapes.size() > most) out.shapes.resize(most);
  for (const auto& each : out.shapes) out.covered += static_cast<std::int64_t>(each.weight);
  out.toml = toml_of(out.shapes);
  return out;
}

Expected<CallShapes> draft_shapes(const std::vector<RecordedCall>& calls, const std::string& kernel,
                                  std::size_t most) {
  AKO_TRY(const auto chosen, calls_of(calls, kernel));
  CallShapes out;
  // A size that is the same in every call is a constant and no axis of a shape.
  std::map<std::string, std::set<std::int64_t>> seen;
  const auto sizes_of = [](const RecordedCall& call) {
    std::map<std::string, std::int64_t> sizes;
    for (const auto& argument : call.arguments)
      for (std::size_t i = 0; i < argument.shape.size(); ++i)
        sizes[fmt::format("{}_{}", argument.name, i)] = argument.shape[i];
    return sizes;
  };
  for (const auto& call : chosen)
    for (const auto& [name, size] : sizes_of(call)) seen[name].insert(size);
  for (const auto& call : chosen) {
    out.calls += call.count;
    model::ShapeCase shape;
    for (const auto& [name, size] : sizes_of(call))
      if (seen[name].size() > 1) shape.axes[name] = size;
    shape.weight = static_cast<double>(call.count);
    shape.tag = tag_of(shape);
    if (out.shapes.size() < most) out.shapes.push_back(std::move(shape));
  }
  for (const auto& each : out.shapes) out.covered += static_cast<std::int64_t>(each.weight);
  for (const auto& [name, sizes] : seen)
    out.unknown.push_back(fmt::format(
        "{}: {}", name,
        sizes.size() == 1 ? fmt::format("always {}: a constant of [axes]", *sizes.begin())
                          : fmt::format("{} sizes: which axis is it?", sizes.size())));
  out.toml = toml_of(out.shapes);
  return out;
}

} // namespace ako::profiles
