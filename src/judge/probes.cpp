#include "judge/probes.hpp"

#include "inputs/codec.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ako::judge {

const char* to_string(Probe probe) {
  switch (probe) {
  case Probe::zeros: return "probe:zeros";
  case Probe::ones: return "probe:ones";
  case Probe::row_mean: return "probe:row_mean";
  case Probe::copy_of_input: return "probe:copy_of_input";
  case Probe::other_seed: return "probe:other_seed";
  }
  return "probe";
}

const char* to_string(Mutant mutant) {
  switch (mutant) {
  case Mutant::scaled_072: return "mutant:scaled_0.72";
  case Mutant::scaled_101: return "mutant:scaled_1.01";
  case Mutant::negated: return "mutant:negated";
  case Mutant::row_zeroed: return "mutant:row_zeroed";
  case Mutant::tile_wrong: return "mutant:tile_wrong";
  case Mutant::last_element: return "mutant:last_element";
  case Mutant::short_sum: return "mutant:short_sum";
  case Mutant::swapped_operands: return "mutant:swapped_operands";
  case Mutant::truncated: return "mutant:truncated";
  }
  return "mutant";
}

const std::vector<Probe>& all_probes() {
  static const std::vector<Probe> all = {Probe::zeros, Probe::ones, Probe::row_mean,
                                         Probe::copy_of_input, Probe::other_seed};
  return all;
}

const std::vector<Mutant>& all_mutants() {
  static const std::vector<Mutant> all = {
      Mutant::scaled_072, Mutant::scaled_101,       Mutant::negated,
      Mutant::row_zeroed, Mutant::tile_wrong,       Mutant::last_element,
      Mutant::short_sum,  Mutant::swapped_operands, Mutant::truncated};
  return all;
}

inputs::Recipe recipe_for(Mutant mutant) {
  switch (mutant) {
  case Mutant::short_sum: return inputs::Recipe::tail_mass;
  case Mutant::swapped_operands: return inputs::Recipe::asymmetric;
  case Mutant::truncated: return inputs::Recipe::ties;
  default: return inputs::Recipe::scaled_shifted;
  }
}

inputs::Recipe recipe_for(Probe) { return inputs::Recipe::scaled_shifted; }

namespace {

/// Wide integers may be offsets or indices, which another tensor's content would lead outside.
bool holds_data(model::Dtype dtype) {
  return model::class_of(dtype) == model::DtypeClass::floating || model::bits_of(dtype) <= 8;
}

using Views = std::span<const std::span<std::byte>>;

bool is_input(const model::ResolvedShape& shape, Views tensors, std::size_t t) {
  return shape.tensors[t].role == model::TensorRole::in && tensors[t].size() > 0;
}

bool swap_two(const model::ResolvedShape& shape, Views tensors) {
  for (std::size_t a = 0; a < shape.tensors.size(); ++a)
    for (std::size_t b = a + 1; b < shape.tensors.size(); ++b) {
      const auto &left = shape.tensors[a], &right = shape.tensors[b];
      if (!is_input(shape, tensors, a) || !is_input(shape, tensors, b) ||
          left.dtype != right.dtype || left.bytes != right.bytes || !holds_data(left.dtype))
        continue;
      std::swap_ranges(tensors[a].begin(), tensors[a].begin() + left.bytes, tensors[b].begin());
      return true;
    }
  return false;
}

bool transpose_first_square(const model::ResolvedShape& shape, Views tensors) {
  for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
    const auto& tensor = shape.tensors[t];
    const auto& extents = tensor.shape;
    if (!is_input(shape, tensors, t) || extents.size() < 2 || !tensor.contiguous ||
        extents[extents.size() - 1] != extents[extents.size() - 2] || extents.back() < 2 ||
        !holds_data(tensor.dtype))
      continue;
    const std::int64_t n = extents.back();
    for (std::int64_t at = 0; at < tensor.elements; at += n * n)
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = i + 1; j < n; ++j) {
          const auto x = inputs::load_code(tensor.dtype, tensors[t], at + i * n + j);
          const auto y = inputs::load_code(tensor.dtype, tensors[t], at + j * n + i);
          inputs::store_code(tensor.dtype, tensors[t], at + i * n + j, y);
          inputs::store_code(tensor.dtype, tensors[t], at + j * n + i, x);
        }
    return true;
  }
  return false;
}

bool is_summable(const model::ResolvedTensor& tensor) {
  return model::class_of(tensor.dtype) == model::DtypeClass::floating &&
         inputs::numbers_of(tensor.dtype).has_zero;
}

/// The last 1 % along the longest axis of every floating input that has an axis of that length.
bool shorten(const model::ResolvedShape& shape, Views tensors) {
  std::int64_t longest = 0;
  for (std::size_t t = 0; t < shape.tensors.size(); ++t)
    if (is_input(shape, tensors, t) && is_summable(shape.tensors[t]))
      for (std::int64_t extent : shape.tensors[t].shape) longest = std::max(longest, extent);
  if (longest < 2) return false;
  bool changed = false;
  for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
    const auto& tensor = shape.tensors[t];
    if (!is_input(shape, tensors, t) || !is_summable(tensor)) continue;
    for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
      if (tensor.shape[axis] != longest) continue;
      std::int64_t inner = 1;
      for (std::size_t k = axis + 1; k < tensor.shape.size(); ++k) inner *= tensor.shape[k];
      const std::int64_t kept = longest - std::max<std::int64_t>(1, longest / 100);
      for (std::int64_t e = 0; e < tensor.elements; ++e)
        if (e / inner % longest >= kept)
          inputs::store(tensor.dtype, tensors[t], offset_of(tensor, e), 0.0);
      changed = true;
      break;
    }
  }
  return changed;
}

} // namespace

bool change_inputs(InputChange change, const model::ResolvedShape& shape, Views tensors) {
  switch (change) {
  case InputChange::none: return true;
  case InputChange::swapped:
    return swap_two(shape, tensors) || transpose_first_square(shape, tensors);
  case InputChange::short_sum: return shorten(shape, tensors);
  }
  return false;
}

namespace {

using Bytes = std::vector<std::byte>;

Bytes blank(const model::ResolvedTensor& tensor) {
  return Bytes(static_cast<std::size_t>(tensor.bytes));
}

/// Fills the answer element by element from a function of (index, right value).
template <class Make>
Bytes from_expected(const model::ResolvedTensor& tensor, const TensorView& expected, Make make) {
  Bytes out = blank(tensor);
  double value = 0;
  for (std::int64_t e = 0; e < tensor.elements; ++e) {
    read_elements(expected, e, std::span(&value, 1));
    inputs::store_code(tensor.dtype, out, offset_of(tensor, e), make(e, value));
  }
  return out;
}

/// Small scalings and roundings show in statistics of the whole, not in one element: fewer elements
/// than these (fp8 and fp4: the second) cannot tell them from honest rounding.
constexpr std::int64_t k_least_for_probes = 1000, k_least_for_narrow = 16384;

std::int64_t row_length(const model::ResolvedTensor& tensor) {
  return tensor.shape.empty() ? 1 : std::max<std::int64_t>(1, tensor.shape.back());
}

/// Off by the tensor's own size, so that a last element near zero does not hide it.
Bytes last_element_off(const model::ResolvedTensor& tensor, const TensorView& expected) {
  double largest = 0;
  return from_expected(tensor, expected, [&](std::int64_t e, double value) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    if (e + 1 < tensor.elements || !std::isfinite(value))
      return inputs::encode(tensor.dtype, value);
    const double off = largest > 0 ? largest : 1;
    return inputs::encode(tensor.dtype, value > 0 ? value - off : value + off,
                          inputs::Overflow::saturate);
  });
}

/// Where hardly anything needs rounding (copies, integers, masks), its kind cannot be told.
Bytes truncated(const model::ResolvedTensor& tensor, const TensorView& expected) {
  std::int64_t differing = 0;
  Bytes out = from_expected(tensor, expected, [&](std::int64_t, double value) {
    const std::uint64_t code = inputs::encode_truncated(tensor.dtype, value);
    differing += code != inputs::encode(tensor.dtype, value);
    return code;
  });
  if (differing * 4 < k_least_for_probes) out.clear();
  return out;
}

} // namespace

std::vector<std::byte> ideal_answer(const model::ResolvedTensor& tensor,
                                    const TensorView& expected) {
  return from_expected(tensor, expected, [&](std::int64_t, double value) {
    return inputs::encode(tensor.dtype, value);
  });
}

std::vector<std::byte> probe_answer(Probe probe, const model::ResolvedTensor& tensor,
                                    const TensorView& expected, std::span<const TensorView> inputs,
                                    const TensorView& other_seed) {
  auto constant = [&](double value) {
    return from_expected(tensor, expected,
                         [&](std::int64_t, double) { return inputs::encode(tensor.dtype, value); });
  };
  switch (probe) {
  case Probe::zeros: return constant(0);
  case Probe::ones: return constant(1);
  case Probe::row_mean: {
    const std::int64_t length = row_length(tensor);
    if (length < 2) return {};
    std::vector<double> row(static_cast<std::size_t>(length));
    Bytes out = blank(tensor);
    for (std::int64_t first = 0; first < tensor.elements; first += length) {
      read_elements(expected, first, row);
      double mean = 0;
      for (double value : row) mean += value / static_cast<double>(length);
      for (std::int64_t e = first; e < first + length; ++e)
        inputs::store(tensor.dtype, out, offset_of(tensor, e), mean);
    }
    return out;
  }
  case Probe::copy_of_input:
    for (const TensorView& input : inputs)
      if (input.tensor->elements == tensor.elements)
        return from_expected(tensor, expected, [&](std::int64_t e, double) {
          double value = 0;
          read_elements(input, e, std::span(&value, 1));
          return inputs::encode(tensor.dtype, value);
        });
    return {};
  case Probe::other_seed: return ideal_answer(tensor, other_seed);
  }
  return {};
}

std::vector<std::byte> mutant_answer(Mutant mutant, const model::ResolvedTensor& tensor,
                                     const TensorView& expected, const TensorView& changed) {
  const std::int64_t length = row_length(tensor), rows = tensor.elements / length;
  auto scaled = [&](double factor) {
    return from_expected(tensor, expected, [&](std::int64_t, double value) {
      return inputs::encode(tensor.dtype, value * factor);
    });
  };
  switch (mutant) {
  case Mutant::scaled_072: return scaled(0.72);
  case Mutant::scaled_101:
    if (model::class_of(tensor.dtype) != model::DtypeClass::floating ||
        tensor.dtype == model::Dtype::float8_e8m0fnu ||
        (model::bits_of(tensor.dtype) < 32 && tensor.elements < k_least_for_probes) ||
        (model::bits_of(tensor.dtype) <= 8 && tensor.elements < k_least_for_narrow))
      return {};
    return scaled(1.01);
  case Mutant::negated: return inputs::numbers_of(tensor.dtype).has_sign ? scaled(-1) : Bytes{};
  case Mutant::row_zeroed: { // of statistics: an axis of one element may hold a zero
    const RowPlan plan = plan_rows(tensor);
    return from_expected(tensor, expected, [&](std::int64_t e, double value) {
      return inputs::encode(tensor.dtype, e / plan.length == plan.rows / 2 ? 0 : value);
    });
  }
  case Mutant::tile_wrong: {
    if (tensor.elements < 4) return {};
    // Half as much again is one step in fp4: there the sign is wrong.
    const bool coarse =
        model::bits_of(tensor.dtype) <= 8 && inputs::numbers_of(tensor.dtype).has_sign;
    const double factor = coarse ? -1 : 1.5;
    return from_expected(tensor, expected, [&](std::int64_t e, double value) {
      const bool inside = e % length >= length / 2 && e % length < length / 2 + 16 &&
                          e / length >= rows / 2 && e / length < rows / 2 + 16;
      return inputs::encode(tensor.dtype, inside ? value * factor : value);
    });
  }
  case Mutant::last_element: return last_element_off(tensor, expected);
  case Mutant::short_sum:
  case Mutant::swapped_operands:
    return changed.bytes.empty() ? Bytes{} : ideal_answer(tensor, changed);
  case Mutant::truncated:
    if (model::class_of(tensor.dtype) != model::DtypeClass::floating ||
        model::bits_of(tensor.dtype) >= 32 || tensor.elements < k_least_for_probes)
      return {};
    return truncated(tensor, expected);
  }
  return {};
}

} // namespace ako::judge
