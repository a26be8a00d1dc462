// One evaluation from loaded libraries to a verdict: the only room that talks to children.
#pragma once

#include "evaluation/request.hpp"

namespace ako::evaluation {

/// Load, judge, measure, and before a win counts a second opinion on fresh processes, seed and
/// placements. Errors are ako's or the machine's; everything else is an outcome.
base::Expected<Report> evaluate(const Request& request, const StageFactory& make_stage);

} // namespace ako::evaluation
