#include "series_builder.hpp"

#include <random>

namespace ako::stats {

Series build(const Recipe& recipe) {
  std::mt19937_64 engine(recipe.seed);
  std::normal_distribution<double> normal;
  Series series;
  for (std::size_t s = 0; s < recipe.gains.size(); ++s)
    series.shapes.push_back({"shape" + std::to_string(s), recipe.weights[s]});
  for (int p = 0; p < recipe.placements; ++p) {
    Placement placement;
    for (std::size_t s = 0; s < recipe.gains.size(); ++s) {
      const double before = recipe.base_ns[s] * (1 + recipe.placement * normal(engine));
      const double after =
          recipe.base_ns[s] * (1 - recipe.gains[s]) * (1 + recipe.placement * normal(engine));
      std::vector<Pair> pairs;
      for (int i = 0; i < recipe.pairs; ++i) {
        Pair pair;
        pair.order = (engine() & 1) ? Order::old_first : Order::new_first;
        pair.old_ns = before * (1 + recipe.noise * normal(engine));
        pair.new_ns = after * (1 + recipe.noise * normal(engine));
        pairs.push_back(pair);
      }
      placement.pairs.push_back(std::move(pairs));
    }
    series.placements.push_back(std::move(placement));
  }
  return series;
}

} // namespace ako::stats
