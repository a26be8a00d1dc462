#include "guides/library.hpp"

#include "base/time.hpp"
#include "guides/front_matter.hpp"
#include "model/nearest.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sys/stat.h>

namespace ako::guides {

namespace fs = base::fs;

namespace {

base::Expected<Guide> read_guide(const fs::path& file) {
  Guide out;
  out.file = file;
  AKO_TRY(out.text, base::read_file(file, 1u << 20));
  AKO_TRY(const FrontMatter head, read_front_matter(out.text, file.string()));
  out.id = head.word("id");
  out.title = head.word("title");
  if (out.id != file.stem().string())
    return base::fail(base::ErrorKind::invalid, "a guide's id is its file's name",
                      {.where = file.string(),
                       .found = out.id,
                       .allowed = file.stem().string(),
                       .next = "run tools/references/check.py"});
  out.lanes = head.list("lanes");
  out.architectures = head.list("architectures");
  out.families = head.list("families");
  out.findings = head.list("findings");
  out.body = head.body;
  out.hash = base::sha256(out.text);
  out.lines = static_cast<std::size_t>(std::count(out.text.begin(), out.text.end(), '\n'));
  return out;
}

/// Differs when a file was written, replaced, added or removed. Empty while one is so young that a
/// write after this look could bear the same time.
std::string state_of(const std::vector<fs::path>& files) {
  constexpr std::int64_t k_young_ns = 1'000'000'000;
  std::string out;
  for (const auto& file : files) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return {};
    const std::int64_t changed = info.st_ctim.tv_sec * 1'000'000'000ll + info.st_ctim.tv_nsec;
    if (changed > base::wall_ns() - k_young_ns) return {};
    out += fmt::format("{} {} {} {}\n", file.string(), info.st_ino, info.st_size, changed);
  }
  return out;
}

} // namespace

std::vector<fs::path> places_of(const char* variable, const std::string& name) {
  std::vector<fs::path> out;
  if (const char* chosen = std::getenv(variable); chosen != nullptr && *chosen != '\0') {
    out.emplace_back(chosen);
    return out;
  }
  std::error_code why;
  const fs::path program = fs::read_symlink("/proc/self/exe", why).parent_path();
  out.push_back(program / ".." / "share" / "ako" / name);
  for (fs::path at = program; at != at.root_path() && !at.empty(); at = at.parent_path())
    out.push_back(at / name);
  return out;
}

base::Expected<fs::path> Library::find_folder() {
  std::error_code why;
  const auto places = places_of("AKO_REFERENCES", "references");
  for (const auto& place : places)
    if (fs::is_regular_file(place / "routing.toml", why)) return place.lexically_normal();
  return base::fail(base::ErrorKind::environment, "the guides were not found",
                    {.where = "references/routing.toml",
                     .found = "nothing of that name in " + places.front().string(),
                     .allowed = "the folder that was installed with ako",
                     .next = "set AKO_REFERENCES to the folder, or install ako again"});
}

base::Expected<Library> Library::load(const fs::path& folder) {
  std::error_code why;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, why)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".md" && name[0] >= 'a' && name[0] <= 'z')
      files.push_back(entry.path());
  }
  if (why || files.empty())
    return base::fail(base::ErrorKind::environment, "there are no guides here",
                      {.where = folder.string(),
                       .found = why ? why.message() : "no guide",
                       .allowed = "guides named <id>.md",
                       .next = "set AKO_REFERENCES to the folder, or install ako again"});
  std::sort(files.begin(), files.end());
  static std::mutex s_guard;
  static std::map<fs::path, std::pair<std::string, Library>> s_read;
  const std::string state = state_of(files); // before they are read: a later change shows
  {
    const std::lock_guard hold(s_guard);
    const auto found = s_read.find(folder);
    if (found != s_read.end() && !state.empty() && found->second.first == state)
      return found->second.second;
  }
  Library out;
  out.m_folder = folder;
  for (const auto& file : files) {
    AKO_TRY(Guide guide, read_guide(file));
    out.m_guides.push_back(std::move(guide));
  }
  const std::lock_guard hold(s_guard);
  s_read[folder] = {state, out};
  return out;
}

const Guide* Library::find(std::string_view id) const {
  for (const Guide& guide : m_guides)
    if (guide.id == id) return &guide;
  return nullptr;
}

base::Expected<const Guide*> Library::get(const std::string& id) const {
  if (const Guide* found = find(id)) return found;
  return base::fail(base::ErrorKind::usage, "there is no such guide",
                    {.where = m_folder.string(),
                     .found = id,
                     .allowed = model::join(ids()),
                     .next = model::did_you_mean(id, ids())});
}

std::vector<std::string> Library::ids() const {
  std::vector<std::string> out;
  for (const Guide& guide : m_guides) out.push_back(guide.id);
  return out;
}

std::vector<const Guide*> Library::answering(std::string_view finding) const {
  std::vector<const Guide*> out;
  for (const Guide& guide : m_guides)
    if (std::find(guide.findings.begin(), guide.findings.end(), finding) != guide.findings.end())
      out.push_back(&guide);
  return out;
}

} // namespace ako::guides
