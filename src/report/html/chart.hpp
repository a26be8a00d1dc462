// Gain over iterations, drawn as SVG by ako itself.
#pragma once

#include "report/data.hpp"

#include <string>

namespace ako::report {

/// Points with intervals against the incumbent of their moment (hollow where reverted, filled where
/// kept), and the measured gain against the baseline as a stepped line. Colours come from the
/// page's CSS variables. Empty when nothing was timed.
std::string gain_chart(const Data& data);

} // namespace ako::report
