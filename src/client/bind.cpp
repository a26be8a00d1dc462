// Arguments of a call: where each tensor lies in each set, and the integers and scalars.
#include "client/worker.hpp"

#include <fmt/format.h>

namespace ako::client {
namespace {

base::Expected<std::vector<std::int64_t>> integers_of(const model::Contract& contract,
                                                      const model::ResolvedShape& shape) {
  std::vector<std::int64_t> integers;
  for (const auto& axis : contract.axes) {
    if (axis.kind == model::Axis::Kind::dtype) {
      const auto at = shape.dtypes.find(axis.name);
      if (at == shape.dtypes.end())
        return base::fail(base::ErrorKind::internal, "a shape without a dtype axis",
                          {.where = axis.name});
      integers.push_back(static_cast<std::int64_t>(at->second));
      continue;
    }
    const auto at = shape.axes.find(axis.name);
    if (at == shape.axes.end())
      return base::fail(base::ErrorKind::internal, "a shape without an axis", {.where = axis.name});
    integers.push_back(at->second);
  }
  return integers;
}

/// As an interpreter sees them; the reference's own tensors come in its precision.
base::Json described(const model::Contract& contract, const model::ResolvedShape& shape,
                     const Arena* own) {
  base::Json tensors = base::Json::array(), axes = base::Json::array(),
             scalars = base::Json::array();
  for (std::size_t i = 0; i < shape.tensors.size(); ++i) {
    const auto& tensor = shape.tensors[i];
    const auto dtype =
        own ? model::reference_dtype(contract, shape, static_cast<int>(i)) : tensor.dtype;
    tensors.push_back({{"name", tensor.name},
                       {"role", model::to_string(tensor.role)},
                       {"dtype", std::string(model::to_string(dtype))},
                       {"shape", tensor.shape},
                       {"strides", tensor.strides}});
  }
  for (const auto& axis : contract.axes) axes.push_back(axis.name);
  for (const auto& scalar : contract.scalars)
    scalars.push_back(
        {{"name", scalar.name}, {"dtype", std::string(model::to_string(scalar.dtype))}});
  return {{"tensors", std::move(tensors)},
          {"axes", std::move(axes)},
          {"scalars", std::move(scalars)},
          {"tag", shape.tag}};
}

base::Expected<Binding> bind_all(const model::Contract& contract, const model::ResolvedShape& shape,
                                 const Arena& shared, const Arena* own) {
  Binding binding;
  binding.tag = shape.tag;
  AKO_TRY(binding.integers, integers_of(contract, shape));
  binding.scalars = shape.scalars;
  binding.described = described(contract, shape, own);
  for (int set = 0; set < shared.plan().sets; ++set) {
    auto& pointers = binding.pointers.emplace_back();
    for (int tensor = 0; tensor < static_cast<int>(shape.tensors.size()); ++tensor) {
      const Arena* arena = own && own->has(tensor, set) ? own : &shared;
      const auto* place = find_place(arena->plan(), tensor, set);
      if (!place)
        return base::fail(
            base::ErrorKind::internal, "a tensor lies in no arena",
            {.where = fmt::format("{} set {}", shape.tensors[static_cast<std::size_t>(tensor)].name,
                                  set)});
      pointers.push_back(arena->address(tensor, set));
      if (set == 0) binding.bytes.push_back(place->bytes);
    }
  }
  return binding;
}

} // namespace

base::Expected<Binding> bind(const model::Contract& contract, const model::ResolvedShape& shape,
                             const Arena& arena) {
  return bind_all(contract, shape, arena, nullptr);
}

base::Expected<Binding> bind_reference(const model::Contract& contract,
                                       const model::ResolvedShape& shape, const Arena& shared,
                                       const Arena& own) {
  return bind_all(contract, shape, shared, &own);
}

} // namespace ako::client
