// The kernel templates that come with ako, and how findings, guides and templates name one another.
//
//   templates/<lane>/<name>/NOTES.md   front matter: id (<lane>/<name>), title, families, guides,
//                                      findings; then what limits the kernel
#pragma once

#include "guides/library.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::guides {

struct Template {
  std::string id, title, lane;
  std::vector<std::string> families, guides, findings;
  base::fs::path folder;
};

/// By id. Kind invalid for a folder whose note is missing or broken; no folder at all is no
/// template.
base::Expected<std::vector<Template>> load_templates();
base::Expected<std::vector<Template>> load_templates(const base::fs::path& folder);

/// Templates that speak of a guide or a finding.
std::vector<const Template*> templates_for(const std::vector<Template>& all, std::string_view id);

} // namespace ako::guides
