// The one change that leads a call to the dispatch. Pure: text in, text out.
#pragma once

#include "base/error.hpp"

#include <string>
#include <vector>

namespace ako::loop {

struct CallSite {
  std::string path;     ///< in the repository
  std::string call;     ///< callee as it is written, "engine::halve"
  std::string dispatch; ///< "ako_port::halve_or" or "halve_or"
  std::string include;  ///< the whole line that brings the dispatch in
};

struct Rewritten {
  std::string text;
  std::vector<int> lines; ///< of the calls, before the change
};

/// C++ and CUDA: calls inside function bodies; declarations, definitions, comments and strings
/// stay. Kind refused when there is no such call, or when it is led to the dispatch already.
base::Expected<Rewritten> rewrite_native(const std::string& text, const CallSite& site);
/// Python: calls anywhere but in comments, strings, `def` lines and decorators.
base::Expected<Rewritten> rewrite_python(const std::string& text, const CallSite& site);

} // namespace ako::loop
