// Resources: what a task's folder and record hold, and the guides, under ako:// names.
//
//   ako://brief  ako://contract  ako://log  ako://notes  ako://iterations  ako://report
//   ako://iteration/N  ako://profile/EVENT  ako://guide/ID
//
// each with ?task=DIR for another task (not the guides), ?from=BYTE for what did not fit, and
// ?bytes=N for larger answers than k_brief_bytes (mcp/address.hpp).
#pragma once

#include "base/fs.hpp"
#include "base/json.hpp"

#include <string>

namespace ako::mcp {

/// Entries of resources/list: those that exist. Outside a task the guides alone.
base::Expected<base::Json> list_resources(const base::fs::path& dir);
base::Json resource_templates();
/// {"contents": [...]}, at most as large as the name asks for; a part says in "_meta" where it
/// stands
/// ("ako/from", "ako/to", "ako/of") and what is next ("ako/next"). Kind usage for a name that does
/// not exist, with the nearest.
base::Expected<base::Json> read_resource(const base::fs::path& dir, const std::string& uri);

base::Json list_prompts();
/// The prompt of one iteration: the task on a page and the rules of the next step.
base::Expected<base::Json> get_prompt(const base::fs::path& dir, const std::string& name,
                                      const base::Json& arguments);

} // namespace ako::mcp
