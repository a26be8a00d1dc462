// What a generated entry (ako_call) returns where the kernel itself could not.
#pragma once

namespace ako::model {

inline constexpr int k_range_status = -7301; ///< an axis value did not fit the entry's parameter
inline constexpr int k_exception_status = -7302; ///< an exception left the entry

} // namespace ako::model
