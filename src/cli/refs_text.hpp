// What `ako refs` prints.
#pragma once

#include "base/json.hpp"
#include "guides/search.hpp"
#include "guides/templates.hpp"
#include "loop/reading.hpp"

#include <string>
#include <vector>

namespace ako::cli {

/// The reading list of a task: what it is taken for, each guide with its state and why.
std::string reading_text(const loop::Reading& reading);
base::Json reading_json(const loop::Reading& reading);

/// Every guide on a line of its own.
std::string library_text(const guides::Library& library);
base::Json library_json(const guides::Library& library);

std::string hits_text(const std::vector<guides::Hit>& hits);
base::Json hits_json(const std::vector<guides::Hit>& hits);

/// Everything that a finding, a guide or a template names and is named by.
struct Related {
  std::string id, title; ///< what was asked for
  std::vector<std::string> moves, guides, findings, templates;
};
/// Kind usage with the nearest id when there is neither a finding, nor a guide, nor a template of
/// it.
base::Expected<Related> related_to(const std::string& id, const guides::Library& library,
                                   const std::vector<guides::Template>& templates,
                                   const std::string& lane);
std::string related_text(const Related& related);
base::Json related_json(const Related& related);

} // namespace ako::cli
