#include "stats/best_of.hpp"

namespace ako::stats {

Claim winner_rule(int candidates, Evidence evidence) {
  return candidates > 1 && evidence == Evidence::selection ? Claim::measure_again : Claim::stands;
}

} // namespace ako::stats
