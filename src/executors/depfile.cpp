#include "executors/build.hpp"

namespace ako::executors {

// rule = targets ":" { blank | "\" newline | name };  name = { char | "\ " | "\#" | "$$" }
std::vector<std::string> read_depfile(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  bool in_targets = true;
  const auto finish = [&] {
    if (!name.empty() && !in_targets) names.push_back(name);
    name.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && (next == '\n' || next == '\r')) {
      finish();
      i += next == '\r' && i + 2 < text.size() && text[i + 2] == '\n' ? 2 : 1;
    } else if (c == '\\' && (next == ' ' || next == '#' || next == '\\' || next == ':')) {
      name += next;
      ++i;
    } else if (c == '$' && next == '$') {
      name += '$';
      ++i;
    } else if (in_targets && c == ':' && (next == ' ' || next == '\n' || next == '\\')) {
      name.clear();
      in_targets = false;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      finish();
      if (c == '\n') in_targets = true;
    } else {
      name += c;
    }
  }
  finish();
  return names;
}

} // namespace ako::executors
