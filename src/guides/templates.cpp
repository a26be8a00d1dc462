#include "guides/templates.hpp"

#include "guides/front_matter.hpp"

#include <algorithm>

namespace ako::guides {

namespace fs = base::fs;

namespace {

base::Expected<Template> read_template(const fs::path& folder) {
  const fs::path file = folder / "NOTES.md";
  AKO_TRY(const std::string text, base::read_file(file, 1u << 20));
  AKO_TRY(const FrontMatter head, read_front_matter(text, file.string()));
  Template out;
  out.folder = folder;
  out.lane = folder.parent_path().filename().string();
  out.id = out.lane + "/" + folder.filename().string();
  if (head.word("id") != out.id)
    return base::fail(base::ErrorKind::invalid, "a template's id is its lane and its folder",
                      {.where = file.string(),
                       .found = head.word("id"),
                       .allowed = out.id,
                       .next = "mend the note's head"});
  out.title = head.word("title");
  out.families = head.list("families");
  out.guides = head.list("guides");
  out.findings = head.list("findings");
  return out;
}

std::vector<fs::path> folders_of(const fs::path& parent) {
  std::vector<fs::path> out;
  std::error_code why;
  for (const auto& entry : fs::directory_iterator(parent, why))
    if (entry.is_directory(why)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

base::Expected<std::vector<Template>> load_templates(const fs::path& folder) {
  std::vector<Template> out;
  std::error_code why;
  for (const auto& lane : folders_of(folder))
    for (const auto& one : folders_of(lane)) {
      if (!fs::is_regular_file(one / "task.toml", why))
        continue; // input/ and solution/ of the lane's own
      AKO_TRY(Template made, read_template(one));
      out.push_back(std::move(made));
    }
  return out;
}

base::Expected<std::vector<Template>> load_templates() {
  std::error_code why;
  for (const auto& place : places_of("AKO_TEMPLATES", "templates"))
    if (fs::is_regular_file(place / "cpu" / "task.toml", why)) return load_templates(place);
  return std::vector<Template>{};
}

std::vector<const Template*> templates_for(const std::vector<Template>& all, std::string_view id) {
  std::vector<const Template*> out;
  const auto holds = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (const Template& one : all)
    if (holds(one.guides) || holds(one.findings)) out.push_back(&one);
  return out;
}

} // namespace ako::guides
