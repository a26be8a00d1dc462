#include "model/resolve_parts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;

tl::unexpected<base::Error> wrong_value(std::string where, std::string message, std::string found,
                                        std::string allowed, std::string next) {
  return fail(ErrorKind::invalid, std::move(message),
              {.where = std::move(where),
               .found = std::move(found),
               .allowed = std::move(allowed),
               .next = std::move(next)});
}

namespace {

// Sizes in bits must fit as well.
constexpr std::int64_t k_most_elements = INT64_MAX / 64;

Expected<std::int64_t> value_of(const char* key, const Expression& expression,
                                const AxisValues& axes) {
  auto value = expression.evaluate(axes);
  if (value) return *value;
  const base::Error& error = value.error();
  return wrong_value(key, error.message,
                     error.found.empty() ? error.where : error.where + ": " + error.found,
                     error.allowed, error.next);
}

Status resolve_sizes(const Tensor& tensor, const AxisValues& axes, ResolvedTensor& out) {
  out.elements = 1;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    AKO_TRY(const std::int64_t size, value_of("shape", tensor.shape[i], axes));
    if (size < 1)
      return wrong_value("shape", fmt::format("dimension {} has zero elements or fewer", i),
                         fmt::format("{} = {}", tensor.shape[i].text(), size), "at least 1");
    if (__builtin_mul_overflow(out.elements, size, &out.elements) || out.elements > k_most_elements)
      return wrong_value("shape", "the tensor is too large to be counted",
                         fmt::format("{} = {}", tensor.shape[i].text(), size),
                         fmt::format("at most {} elements", k_most_elements));
    out.shape.push_back(size);
  }
  return {};
}

/// Distances when dimensions are packed in this order, fastest first.
std::vector<std::int64_t> packed(const std::vector<std::int64_t>& shape, bool first_is_fastest) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t step = 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::size_t i = first_is_fastest ? k : shape.size() - 1 - k;
    strides[i] = step;
    step *= shape[i]; // at most the number of elements, which was checked
  }
  return strides;
}

/// True when stepping along each dimension clears all that the shorter steps reach.
bool never_overlaps(const ResolvedTensor& tensor) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i] > 1) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  std::int64_t reach = 0;
  for (const std::size_t i : order) {
    if (tensor.strides[i] <= reach) return false;
    reach += tensor.strides[i] * (tensor.shape[i] - 1); // the span was checked
  }
  return true;
}

std::string numbers_listed(const std::vector<std::int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

Status resolve_strides(const Tensor& tensor, const AxisValues& axes, ResolvedTensor& out) {
  const std::vector<std::int64_t> row_major = packed(out.shape, false);
  if (tensor.strides.empty()) {
    out.strides = tensor.layout == "column_major" ? packed(out.shape, true) : row_major;
  } else {
    if (tensor.strides.size() != out.shape.size())
      return wrong_value("strides", "'strides' and 'shape' differ in length",
                         std::to_string(tensor.strides.size()), std::to_string(out.shape.size()));
    for (const Expression& each : tensor.strides) {
      AKO_TRY(const std::int64_t stride, value_of("strides", each, axes));
      if (stride < 0)
        return wrong_value("strides", "a stride is negative",
                           fmt::format("{} = {}", each.text(), stride), "at least 0");
      out.strides.push_back(stride);
    }
  }
  out.contiguous = true;
  out.span_elements = 1;
  for (std::size_t i = 0; i < out.shape.size(); ++i) {
    if (out.shape[i] > 1 && out.strides[i] != row_major[i]) out.contiguous = false;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(out.shape[i] - 1, out.strides[i], &reach) ||
        __builtin_add_overflow(out.span_elements, reach, &out.span_elements) ||
        out.span_elements > k_most_elements)
      return wrong_value("strides", "the tensor reaches too far to be counted",
                         numbers_listed(out.strides),
                         fmt::format("a span of at most {} elements", k_most_elements));
  }
  if (tensor.role != TensorRole::in && !never_overlaps(out))
    return wrong_value(
        "strides", "the strides make elements overlap",
        fmt::format("shape {}, strides {}", numbers_listed(out.shape), numbers_listed(out.strides)),
        "strides in which each dimension steps over the ones below it",
        "only tensors of role in may overlap");
  return {};
}

Status resolve_limit(const Tensor& tensor, const AxisValues& axes, ResolvedTensor& out) {
  const FillSpec& fill = tensor.fill;
  if (fill.kind == Fill::permutation) {
    const std::int64_t last = out.shape.empty() ? 1 : out.shape.back();
    if (class_of(out.dtype) == DtypeClass::integer &&
        static_cast<double>(last - 1) > integer_range(out.dtype).high)
      return wrong_value("shape", "the last dimension holds more places than the dtype can name",
                         std::to_string(last),
                         fmt::format("at most {:.0f} for {}", integer_range(out.dtype).high + 1,
                                     to_string(out.dtype)));
    return {};
  }
  if (fill.kind != Fill::index && fill.kind != Fill::offsets) return {};
  AKO_TRY(const Expression limit, Expression::parse(fill.limit));
  AKO_TRY(out.fill_limit, value_of("fill.limit", limit, axes));
  // Indices stay below the limit; offsets reach it.
  const std::int64_t largest = fill.kind == Fill::index ? out.fill_limit - 1 : out.fill_limit;
  if (out.fill_limit < 1 || (class_of(out.dtype) == DtypeClass::integer &&
                             static_cast<double>(largest) > integer_range(out.dtype).high))
    return wrong_value("fill.limit", "the limit of the fill is out of range",
                       fmt::format("{} = {}", fill.limit, out.fill_limit),
                       fmt::format("at least 1, and what {} can hold", to_string(out.dtype)));
  return {};
}

} // namespace

Expected<ResolvedTensor> resolve_tensor(const Tensor& tensor, const AxisValues& axes,
                                        const std::map<std::string, Dtype>& dtypes) {
  ResolvedTensor out;
  out.name = tensor.name;
  out.role = tensor.role;
  out.align = tensor.align;
  if (tensor.dtype) {
    out.dtype = *tensor.dtype;
  } else {
    const auto dtype = dtypes.find(tensor.dtype_axis);
    if (dtype == dtypes.end())
      return wrong_value("dtype", "the dtype axis has no value", tensor.dtype_axis, "a dtype");
    out.dtype = dtype->second;
  }
  AKO_TRY_STATUS(resolve_sizes(tensor, axes, out));
  AKO_TRY_STATUS(resolve_strides(tensor, axes, out));
  out.bytes = bytes_of(out.dtype, out.span_elements);
  if (tensor.role == TensorRole::in || tensor.role == TensorRole::inout)
    AKO_TRY_STATUS(resolve_limit(tensor, axes, out));
  return out;
}

Expected<double> resolve_scalar(const Scalar& scalar, const AxisValues& axes) {
  if (!scalar.expression) return scalar.value;
  AKO_TRY(const std::int64_t value, value_of("expr", *scalar.expression, axes));
  const IntegerRange range = integer_range(scalar.dtype);
  const auto as_double = static_cast<double>(value);
  // Scalars travel as doubles: an integer beyond 2^53 would arrive as another one.
  constexpr std::int64_t k_exact = std::int64_t{1} << 53;
  if (value < -k_exact || value > k_exact || as_double < range.low || as_double > range.high)
    return wrong_value("expr", "the scalar does not fit its dtype",
                       fmt::format("{} = {}", scalar.expression->text(), value),
                       fmt::format("what {} can hold, at most 2^53", to_string(scalar.dtype)));
  return as_double;
}

} // namespace ako::model
