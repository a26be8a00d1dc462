// What cuda-gdb or gdb printed in batch mode about a program that ended badly.
#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

struct Frame {
  std::string function; ///< without its arguments' values
  std::string file;     ///< empty without line information
  int line = 0;
};

struct Backtrace {
  std::string signal; ///< "CUDA_EXCEPTION_14", "SIGSEGV"; empty: the program ended by itself
  std::string text;   ///< the debugger's own words: "Warp Illegal Address"
  bool on_device = false;
  std::string thread, block; ///< of the device's thread in focus, "(0,0,0)"
  std::string address;       ///< that was accessed, where the debugger says so
  std::string trigger_file;  ///< of the instruction that raised it; where it stopped may be later
  int trigger_line = 0;
  std::vector<Frame> frames; ///< the innermost first
  int exit_code = 0;         ///< where it ended by itself
};

/// invalid: no output of a debugger that ran something. environment: the debugger says that it
/// cannot work here.
base::Expected<Backtrace> read_backtrace(std::string_view text, const std::string& where);

} // namespace ako::profiles
