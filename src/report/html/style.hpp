// The page's style sheet.
#pragma once

namespace ako::report {
extern const char* const k_style;
} // namespace ako::report
