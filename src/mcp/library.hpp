// Resources: what a task's folder and record hold, and the guides, under ako:// names.
//
//   ako://contract  ako://log  ako://notes  ako://iterations  ako://report
//   ako://iteration/N  ako://profile/EVENT  ako://guide/ID       each with ?task=DIR for another
//   task
#pragma once

#include "base/fs.hpp"
#include "base/json.hpp"

#include <string>

namespace ako::mcp {

/// Entries of resources/list: those that exist. Outside a task the guides alone.
base::Expected<base::Json> list_resources(const base::fs::path& dir);
base::Json resource_templates();
/// {"contents": [...]}. Kind usage for a name that does not exist, with the nearest.
base::Expected<base::Json> read_resource(const base::fs::path& dir, const std::string& uri);

base::Json list_prompts();
/// The prompt of one iteration: the task on a page and the rules of the next step.
base::Expected<base::Json> get_prompt(const base::fs::path& dir, const std::string& name,
                                      const base::Json& arguments);

} // namespace ako::mcp
