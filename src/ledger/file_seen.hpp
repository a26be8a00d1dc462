// A file of the task that decides about candidates, as it was when something went on record.
#pragma once

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"

#include <string>
#include <vector>

namespace ako::ledger {

/// What judges candidates, what they are measured against, or what fills their inputs.
struct FileSeen {
  std::string role; ///< "reference", "baseline:<name>", "fill:<tensor>"
  std::string path; ///< relative to the task, '/' between parts
  base::Hash hash;
};

base::Json files_json(const std::vector<FileSeen>& files);
base::Expected<FileSeen> file_from(const base::Json& json);

} // namespace ako::ledger
