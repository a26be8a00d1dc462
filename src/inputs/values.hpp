// Values of data fills: random bits to numbers, and what recipes make of them.
#pragma once

#include "inputs/recipe.hpp"

namespace ako::inputs {

/// Random bits an element takes: 16 for types up to 16 bits, else the type's width.
int random_bits_of(model::Dtype dtype);

/// Where an element lies: recipes bend by row and column.
struct Spot {
  std::int64_t row = 0, column = 0, rows = 1, row_length = 1;
};

/// One data fill (uniform, normal, index) of a tensor under a stream.
class Values {
public:
  Values(const model::ResolvedTensor& tensor, const model::FillSpec& fill, Recipe recipe);
  /// The fill's value of these bits, without recipe.
  double plain(std::uint64_t bits) const;
  std::uint64_t plain_code(std::uint64_t bits) const;
  /// With recipe. `before` are the bits of element index - 1 (index > 0), `keys` two words of the
  /// stream's recipe bits.
  std::uint64_t code(std::uint64_t bits, std::uint64_t before, std::int64_t index,
                     const StreamId& stream, std::uint64_t keys) const;
  bool bends() const { return m_bends; } ///< the recipe changes something here
  /// Whether a code follows from its own bits alone: neither place nor neighbour bends it.
  bool by_bits() const;
  /// Whether floats() serves: the codes of a plain float32 fill, many at a time.
  bool draws_floats() const;
  /// `random` holds four bytes for each of `count` values.
  void floats(const std::byte* random, std::int64_t count, float* out) const;

private:
  double bent_normal(double value, double before, const Spot& spot, std::uint64_t row_bits,
                     std::uint64_t element_bits, std::uint32_t tensor) const;
  double bent_uniform(double value, double before, const Spot& spot, std::uint64_t row_bits,
                      std::uint64_t element_bits, std::uint32_t tensor) const;
  std::uint64_t to_code(double value) const;

  model::Dtype m_dtype;
  model::Fill m_kind;
  Recipe m_recipe;
  bool m_bends = false, m_whole = false;
  int m_width;
  double m_low, m_high, m_mean, m_stddev;
  std::uint64_t m_count = 1; ///< whole numbers to choose from (index, integer uniform)
  std::int64_t m_row_length = 1, m_rows = 1;
};

} // namespace ako::inputs
