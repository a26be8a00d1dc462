// report.md
#pragma once

#include "report/data.hpp"

#include <string>

namespace ako::report {

std::string report_md(const Data& data);

} // namespace ako::report
