// What a library that was built from a custom fill exports; its type is inputs::CustomFill.
#pragma once

namespace ako::inputs {

inline constexpr const char* k_fill_symbol = "ako_fill";

} // namespace ako::inputs
