// report.html: one file that needs nothing else.
#pragma once

#include "report/data.hpp"

#include <string>

namespace ako::report {

/// Light and dark by the reader's preference; everything that came from outside is escaped.
std::string report_html(const Data& data);

} // namespace ako::report
