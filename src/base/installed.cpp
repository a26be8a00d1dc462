#include "base/installed.hpp"

#include <fmt/format.h>

namespace ako::base {

Expected<fs::path> find_installed(const fs::path& relative) {
  std::error_code why;
  const fs::path folder = fs::read_symlink("/proc/self/exe", why).parent_path();
  std::vector<fs::path> places = {folder / ".." / "share" / "ako"};
  for (fs::path at = folder; at != at.root_path() && !at.empty(); at = at.parent_path())
    places.push_back(at);
  for (const auto& place : places)
    if (fs::exists(place / relative, why)) return fs::weakly_canonical(place / relative, why);
  return fail(ErrorKind::environment, "a part of ako is missing",
              {.where = folder.string(),
               .found = fmt::format("no {}", relative.string()),
               .allowed = "below ../share/ako",
               .next = "install ako again"});
}

} // namespace ako::base
