#include "loop/recipes.hpp"

#include <algorithm>

namespace ako::loop {

base::Expected<std::vector<inputs::Recipe>> judged_recipes(const Session& session) {
  std::vector<inputs::Recipe> out = {inputs::Recipe::plain};
  AKO_TRY(ledger::Standing standing, session.standing());
  if (!standing.self_test_event) return out;
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(auto test, reader.last<ledger::SelfTest>());
  if (!test || test->payload.contract != session.contract().hash) return out;
  for (const std::string& name : test->payload.recipes) {
    auto recipe = inputs::recipe_from(name);
    if (recipe && std::find(out.begin(), out.end(), *recipe) == out.end()) out.push_back(*recipe);
  }
  return out;
}

} // namespace ako::loop
