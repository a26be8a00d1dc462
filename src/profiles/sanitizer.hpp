// compute-sanitizer's text output, memcheck, racecheck, initcheck and synccheck.
#pragma once

#include "base/error.hpp"
#include "model/profile.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

enum class FaultKind {
  out_of_bounds,
  misaligned,
  race,
  uninitialised,
  synchronisation,
  leak,
  api_error,
  other
};
const char* to_string(FaultKind kind);

/// One finding; repeats of the same kind at the same place are counted, not listed.
struct SanitizerFinding {
  FaultKind kind = FaultKind::other;
  std::string text;     ///< the tool's own sentence
  std::string function; ///< the kernel
  std::string file;     ///< empty without line information
  int line = 0;
  std::string address_text;  ///< "is out of bounds", "is misaligned", ...
  std::string thread, block; ///< of the first, "(0,0,0)"
  std::int64_t times = 1;
};

struct SanitizerReport {
  std::vector<SanitizerFinding> findings;
  std::int64_t errors = -1; ///< by the tool's summary; -1: there is none (the run was cut off)
};

/// invalid: not the tool's output. environment: the tool says that it cannot work here.
base::Expected<SanitizerReport> read_sanitizer(std::string_view text, const std::string& where);

} // namespace ako::profiles
