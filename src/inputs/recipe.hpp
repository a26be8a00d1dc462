// What goes into the tensors. A fill says what a tensor holds (contract); a recipe bends the values
// of uniform and normal fills so that a certain kind of wrong kernel cannot hide. Uniform fills are
// a promise about the domain: recipes never leave [low, high] there.
#pragma once

#include "base/error.hpp"
#include "inputs/generator.hpp"
#include "model/resolved.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ako::inputs {

// clang-format off
//      enumerator        spelling           what it shows
#define AKO_RECIPES(X)                                                                              \
  X(plain,           "plain")           /* the fill as declared                                  */ \
  X(scaled_shifted,  "scaled_shifted")  /* rows of their own scale and mean: identity as a norm  */ \
  X(tail_mass,       "tail_mass")       /* mass in the last 1 % of the last axis: short sums     */ \
  X(cancelling,      "cancelling")      /* neighbours nearly cancel: lost compensation           */ \
  X(ill_conditioned, "ill_conditioned") /* magnitudes over 2^16 within a row: narrow accumulators*/ \
  X(large,           "large")           /* large magnitude, still finite: overflow, saturation   */ \
  X(tiny,            "tiny")            /* near the epsilons kernels add: dropped small values   */ \
  X(asymmetric,      "asymmetric")      /* every operand and axis its own ramp: swaps, transposes*/ \
  X(ties,            "ties")            /* odd last bits, half quanta: wrong rounding            */
// clang-format on

enum class Recipe {
#define AKO_X(name, text) name,
  AKO_RECIPES(AKO_X)
#undef AKO_X
};
std::string_view to_string(Recipe recipe);
std::optional<Recipe> recipe_from(std::string_view spelling);
const std::vector<Recipe>& all_recipes();

/// A fill written by the task: fills `bytes` bytes of row-major elements; 0 = done.
using CustomFill = int (*)(void* data, std::int64_t bytes, const std::int64_t* shape, int rank,
                           std::uint64_t seed);

/// What a fill needs from outside.
struct FillSources {
  std::span<const std::byte> recorded; ///< the whole file: .npy (by its magic) or raw elements
  std::string_view recorded_name;      ///< for messages
  CustomFill custom = nullptr;
};

/// Prepared fill of one tensor at one shape. Element e of the span depends on (fill, recipe,
/// stream, e) alone. Data fills (uniform, normal, index) of strided tensors fill the whole span,
/// gaps included; offsets, permutation, recorded and custom go by logical row-major index and leave
/// gaps zero. Offsets: sorted, the first 0, the last the limit. Integer uniform: both ends
/// included.
class Filler {
public:
  /// Kind invalid: recorded file of another dtype or shape, limit below 1, low above high, custom
  /// without function. Keeps a copy of what it needs except sources.recorded, which must outlive
  /// it.
  static base::Expected<Filler> make(const model::ResolvedTensor& tensor,
                                     const model::FillSpec& fill, Recipe recipe,
                                     const FillSources& sources = {});
  Filler(Filler&&) noexcept;
  Filler& operator=(Filler&&) noexcept;
  ~Filler();

  /// destination.size() >= tensor.bytes; kind invalid when it is not, or when a custom fill fails.
  base::Status fill(std::span<std::byte> destination, const StreamId& stream) const;
  /// Span elements [first, first + count) alone, for several threads; whole-tensor fills (custom)
  /// are done by the call whose first is 0. `first` is a multiple of 64.
  base::Status fill_part(std::span<std::byte> destination, const StreamId& stream,
                         std::int64_t first, std::int64_t count) const;

  struct State;

private:
  explicit Filler(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

/// Filler::make and fill in one.
base::Status fill(std::span<std::byte> destination, const model::ResolvedTensor& tensor,
                  const model::FillSpec& spec, Recipe recipe, const StreamId& stream,
                  const FillSources& sources = {});

/// Raw or .npy (version 1, 2 or 3, little endian, C order) bytes as elements of `tensor`: the data
/// part. Kind invalid naming what differs.
base::Expected<std::span<const std::byte>> recorded_data(std::span<const std::byte> file,
                                                         std::string_view name,
                                                         const model::ResolvedTensor& tensor);

} // namespace ako::inputs
