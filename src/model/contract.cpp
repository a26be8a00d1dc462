#include "model/contract.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

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

namespace {

bool is_tensor_word(std::string_view text) {
  return !text.empty() && text.find_first_of(",=:; ") == std::string_view::npos;
}

std::optional<PropertySpec> parse_clause(std::string_view text) {
  using Kind = PropertySpec::Kind;
  if (text == "sorted") return PropertySpec{Kind::sorted, {}, 0};
  if (text == "sorted_descending") return PropertySpec{Kind::sorted_descending, {}, 0};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view kind = text.substr(0, colon), rest = text.substr(colon + 1);
  PropertySpec out;
  if (kind == "row_sum") {
    out.kind = Kind::row_sum;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), out.sum);
    if (code != std::errc() || end != rest.data() + rest.size() || !std::isfinite(out.sum))
      return std::nullopt;
    return out;
  }
  if (kind == "product") {
    out.kind = Kind::product;
    const std::size_t equals = rest.find('='), comma = rest.find(',');
    if (equals == std::string_view::npos || comma == std::string_view::npos || comma > equals)
      return std::nullopt;
    for (const auto part : {rest.substr(0, comma), rest.substr(comma + 1, equals - comma - 1),
                            rest.substr(equals + 1)})
      out.tensors.emplace_back(part);
  } else if (kind == "permutation_of" || kind == "sampled_from" || kind == "picks") {
    out.kind = kind == "permutation_of" ? Kind::permutation_of
               : kind == "sampled_from" ? Kind::sampled_from
                                        : Kind::picks;
    out.tensors.emplace_back(rest);
  } else {
    return std::nullopt;
  }
  const bool named = std::all_of(out.tensors.begin(), out.tensors.end(), is_tensor_word);
  return named ? std::optional(out) : std::nullopt;
}

} // namespace

Expected<std::vector<PropertySpec>> parse_property(std::string_view text) {
  std::vector<PropertySpec> out;
  for (std::string_view left = text;;) {
    const std::size_t end = left.find(';');
    std::string_view clause = left.substr(0, end);
    while (!clause.empty() && clause.front() == ' ') clause.remove_prefix(1);
    while (!clause.empty() && clause.back() == ' ') clause.remove_suffix(1);
    const auto parsed = parse_clause(clause);
    if (!parsed)
      return fail(ErrorKind::invalid,
                  out.empty() && end == std::string_view::npos
                      ? "unknown property"
                      : "unknown clause '" + std::string(clause) + "' of a property",
                  {.where = "property",
                   .found = "'" + std::string(text) + "'",
                   .allowed = "permutation_of:T, sampled_from:T, picks:T, product:A,B=C, sorted, "
                              "sorted_descending, row_sum:NUMBER; several with ';' between",
                   .next = {}});
    out.push_back(*parsed);
    if (end == std::string_view::npos) return out;
    left.remove_prefix(end + 1);
  }
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
