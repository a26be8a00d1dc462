// The sentences that go with a decision.
#pragma once

#include "stats/boundary.hpp"
#include "stats/evidence.hpp"
#include "stats/paired_test.hpp"

#include <string>

namespace ako::stats {

/// What an undecided run would need at the spread it saw.
More more_needed(const Decision& decision, const SeriesEvidence& evidence, const Plan& plan,
                 const Boundary& boundary);

/// One sentence: the figure, its interval, the threshold that decided.
std::string reason_for(const Decision& decision, const SeriesEvidence& evidence, const Plan& plan,
                       double surely_gained);

} // namespace ako::stats
