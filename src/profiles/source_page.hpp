// ncu's page `source` as CSV: counters and stall samples by line of source and by instruction.
//
//   file   = { kernel | file-name | table }
//   kernel = "Kernel Name","NAME"             file-name = "File Name","PATH"
//   table  = header { row }                   header holds "Source" and "Address" or "Line No"
#pragma once

#include "base/error.hpp"
#include "model/profile.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ako::profiles {

struct SourceRow {
  std::string place; ///< "kernel.cu:15", or an instruction's address "0x7f...10"
  std::string text;  ///< the line or the instruction
  bool is_line = false;
  std::map<std::string, double, std::less<>> counters; ///< non-zero ones by their column's name
};

struct SourceKernel {
  std::string name;
  std::vector<SourceRow> rows; ///< lines and instructions, in the file's order
};

/// Kernels that appear in several tables are joined by name. invalid: no table.
base::Expected<std::vector<SourceKernel>> read_source_page(std::string_view text,
                                                           const std::string& where);

/// Writes the hottest places into the findings that they explain: by the counter that belongs to
/// the finding, else by stall samples. Lines of source where the page has them, else instructions.
void add_source_lines(const std::vector<SourceKernel>& source, model::DiagnosisReport& report);

} // namespace ako::profiles
