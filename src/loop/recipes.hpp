// The inputs that this contract is judged on.
#pragma once

#include "inputs/recipe.hpp"
#include "loop/session.hpp"

namespace ako::loop {

/// Plain and those that the last `ako check` of this contract found necessary; plain alone when
/// there is none.
base::Expected<std::vector<inputs::Recipe>> judged_recipes(const Session& session);

} // namespace ako::loop
