// The sources of one candidate, reference or baseline with their bytes, as they were at one moment.
#pragma once

#include "model/artifact.hpp"

#include <string>
#include <vector>

namespace ako::model {

struct SourceText {
  std::string path; ///< relative to the task folder, '/' between parts
  std::string content;
  bool executable = false;
};

/// What is built is these bytes, never the folder as it may look a moment later.
struct Sources {
  Snapshot snapshot;             ///< names and hashes of `texts`, same order
  std::vector<SourceText> texts; ///< sorted by path
  const SourceText* find(std::string_view path) const {
    for (const auto& text : texts)
      if (text.path == path) return &text;
    return nullptr;
  }
};

} // namespace ako::model
