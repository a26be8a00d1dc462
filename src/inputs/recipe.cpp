#include "inputs/recipe.hpp"

namespace ako::inputs {

std::string_view to_string(Recipe recipe) {
  switch (recipe) {
#define AKO_X(name, text)                                                                          \
  case Recipe::name: return text;
    AKO_RECIPES(AKO_X)
#undef AKO_X
  }
  return "plain";
}

std::optional<Recipe> recipe_from(std::string_view spelling) {
  for (const Recipe recipe : all_recipes()) {
    if (to_string(recipe) == spelling) return recipe;
  }
  return std::nullopt;
}

const std::vector<Recipe>& all_recipes() {
  static const std::vector<Recipe> all = {
#define AKO_X(name, text) Recipe::name,
      AKO_RECIPES(AKO_X)
#undef AKO_X
  };
  return all;
}

} // namespace ako::inputs
