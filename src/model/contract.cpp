#include "model/contract.hpp"

#include <algorithm>
#include <cmath>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;

IntegerRange integer_range(Dtype dtype) {
  switch (dtype) {
  case Dtype::boolean: return {0, 1};
  case Dtype::uint8:
  case Dtype::uint16:
  case Dtype::uint32:
  case Dtype::uint64: return {0, std::ldexp(1.0, bits_of(dtype)) - 1};
  default: break;
  }
  AKO_CHECK(class_of(dtype) == DtypeClass::integer, "only integers have an integer range");
  const double half = std::ldexp(1.0, bits_of(dtype) - 1);
  return {-half, half - 1};
}

FillSpec default_fill(Dtype dtype) {
  FillSpec fill;
  if (dtype == Dtype::float8_e8m0fnu) { // a scale: positive powers of two alone
    fill.kind = Fill::uniform;
    fill.low = 0.0625;
    fill.high = 16;
  } else if (class_of(dtype) != DtypeClass::floating) {
    // Wide integers keep a byte's range, so that sums of products in the kernel do not overflow.
    const IntegerRange range = integer_range(dtype);
    fill.kind = Fill::uniform;
    fill.low = std::max(range.low, -128.0);
    fill.high = range.low < 0 ? std::min(range.high, 127.0) : std::min(range.high, 255.0);
  }
  return fill;
}

Compare default_compare(Dtype dtype) {
  return class_of(dtype) == DtypeClass::floating ? Compare::close : Compare::exact;
}

Accept default_accept(Lane lane) {
  Accept accept;
  accept.min_gain = lane == Lane::cpu ? 0.02 : 0.005;
  return accept;
}

Expected<PropertySpec> parse_property(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorKind::invalid, "unknown property",
                {.where = "property",
                 .found = "'" + std::string(text) + "'",
                 .allowed = "permutation_of:T, sampled_from:T, product:A,B=C",
                 .next = {}});
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return wrong();
  const std::string_view kind = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 1);
  PropertySpec out;
  if (kind == "product") {
    out.kind = PropertySpec::Kind::product;
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return wrong();
    std::string_view factors = rest.substr(0, equals);
    for (;;) {
      const std::size_t comma = factors.find(',');
      out.tensors.emplace_back(factors.substr(0, comma));
      if (comma == std::string_view::npos) break;
      factors.remove_prefix(comma + 1);
    }
    rest.remove_prefix(equals + 1);
    if (out.tensors.size() < 2) return wrong();
  } else if (kind == "permutation_of") {
    out.kind = PropertySpec::Kind::permutation_of;
  } else if (kind == "sampled_from") {
    out.kind = PropertySpec::Kind::sampled_from;
  } else {
    return wrong();
  }
  out.tensors.emplace_back(rest);
  for (const std::string& each : out.tensors)
    if (each.empty() || each.find_first_of(",=: ") != std::string::npos) return wrong();
  return out;
}

const Axis* find_axis(const Contract& contract, std::string_view name) {
  for (const Axis& each : contract.axes)
    if (each.name == name) return &each;
  return nullptr;
}

std::vector<Dtype> dtypes_of(const Contract& contract, const Tensor& tensor) {
  if (tensor.dtype) return {*tensor.dtype};
  const Axis* axis = find_axis(contract, tensor.dtype_axis);
  return axis ? axis->dtypes : std::vector<Dtype>{};
}

} // namespace ako::model
