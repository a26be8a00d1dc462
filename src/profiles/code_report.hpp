// What saved texts about code say: disassembly, PTX, resource reports, the output of
// compute-sanitizer and of a debugger.
#pragma once

#include "base/json.hpp"
#include "profiles/backtrace.hpp"
#include "profiles/sanitizer.hpp"
#include "profiles/sass.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ako::profiles {

using Disassembly = std::vector<CodeFunction>;
struct Ptx {
  std::vector<CodeFunction> functions;
};
using Resources = std::vector<ResourceUse>;
using CodeText = std::variant<Disassembly, Ptx, Resources, SanitizerReport, Backtrace>;

/// Told apart by content; none when the text is neither. A text that begins as one of them and
/// cannot be read is the reader's error.
std::optional<base::Expected<CodeText>> read_code_text(std::string_view text,
                                                       const std::string& where);

std::string to_text(const CodeText& code);
base::Json to_json(const CodeText& code);

/// What the compiler really changed: functions by name, or the two when each text has one. invalid:
/// texts of different kinds.
struct CodeDelta {
  struct Function {
    std::string name;
    std::vector<std::string> changes; ///< "FFMA 128 -> 256", the largest first
  };
  std::vector<Function> functions;
  std::vector<std::string> only_before, only_after;
};
base::Expected<CodeDelta> code_delta(const CodeText& before, const CodeText& after);
std::string to_text(const CodeDelta& delta);
/// "k: FFMA 128 -> 256, ...; g: ...": the `most` largest changes of each function on one line;
/// empty where nothing changed.
std::string summary(const CodeDelta& delta, std::size_t most = 4);
base::Json to_json(const CodeDelta& delta);

} // namespace ako::profiles
