// Where the tools of a CUDA installation are looked for.
#pragma once

#include "base/error.hpp"

#include <string>
#include <vector>

namespace ako::loop {

struct VendorTool {
  const char* program;               ///< "ncu"
  const char* variable;              ///< names the program instead: "AKO_NCU"
  const char* what;                  ///< "Nsight Compute (ncu)"
  const char* allowed;               ///< "ncu 2022 or newer"
  const char* next;                  ///< how to come by it
  std::vector<std::string> beside{}; ///< further folders, below which it may lie
};

const VendorTool& ncu_tool();
const VendorTool& sanitizer_tool();
const VendorTool& debugger_tool();

/// The variable, PATH, then the usual folders of a toolkit; environment when there is none.
base::Expected<std::string> find_vendor_tool(const VendorTool& tool);

} // namespace ako::loop
