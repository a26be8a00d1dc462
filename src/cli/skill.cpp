#include "base/fs.hpp"
#include "cli/command.hpp"
#include "cli/skill_texts.hpp"
#include "loop/environment.hpp"
#include "model/nearest.hpp"
#include "report/text/marked.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {
namespace {

constexpr const char* k_begin = "<!-- ako:begin skill -->\n";
constexpr const char* k_end = "<!-- ako:end skill -->";

base::Expected<std::vector<SkillPlace>> chosen_places(const Arguments& arguments) {
  std::vector<std::string> names = arguments.all("for"), known;
  for (const auto& place : skill_places()) known.push_back(place.name);
  // Codex and plain AGENTS.md are one file.
  if (names.empty()) names = {"claude", "codex", "cursor"};
  std::vector<SkillPlace> out;
  for (const auto& name : names) {
    const auto found = std::find_if(skill_places().begin(), skill_places().end(),
                                    [&](const SkillPlace& place) { return place.name == name; });
    if (found == skill_places().end())
      return base::fail(base::ErrorKind::usage, "no such agent",
                        {.where = "--for",
                         .found = name,
                         .allowed = model::join(known),
                         .next = model::did_you_mean(name, known)});
    const bool twice = std::any_of(
        out.begin(), out.end(), [&](const SkillPlace& place) { return place.path == found->path; });
    if (!twice) out.push_back(*found);
  }
  return out;
}

base::Expected<std::filesystem::path> target_folder(const Context& context,
                                                    const Arguments& arguments) {
  const std::filesystem::path folder =
      std::filesystem::absolute(context.dir / arguments.text("target", "."));
  std::error_code why;
  if (std::filesystem::is_directory(folder, why)) return folder;
  return base::fail(base::ErrorKind::usage, "there is no such folder",
                    {.where = "--target",
                     .found = folder.string(),
                     .allowed = "the folder that the agent works in",
                     .next = "make it, or name another"});
}

base::Expected<std::string> existing(const std::filesystem::path& path) {
  std::error_code why;
  if (!std::filesystem::exists(path, why)) return std::string();
  return base::read_file(path, 4u << 20);
}

/// The file that `path` names by way of links: it is written, and the links stay.
base::Expected<std::filesystem::path> file_behind(std::filesystem::path path) {
  constexpr int k_most_links = 40;
  const std::filesystem::path named = path;
  std::error_code why;
  for (int links = 0; links < k_most_links; ++links) {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, why))) return path;
    path = (path.parent_path() / std::filesystem::read_symlink(path, why)).lexically_normal();
  }
  return base::fail(base::ErrorKind::invalid, "links lead in a circle here",
                    {.where = named.string(),
                     .found = fmt::format("more than {} links", k_most_links),
                     .allowed = "a file, or a link to one",
                     .next = "remove the link, then install again"});
}

base::Expected<Reply> install(const std::filesystem::path& target,
                              const std::vector<SkillPlace>& places) {
  const std::string block = skill_block(loop::k_ako_version);
  // All are looked at before one is written.
  std::vector<std::pair<std::filesystem::path, std::string>> writes;
  std::vector<std::filesystem::path> folders;
  Reply reply;
  reply.data["files"] = base::Json::array();
  for (const auto& place : places) {
    AKO_TRY(const std::filesystem::path path, file_behind(target / place.path));
    folders.push_back(path.parent_path());
    AKO_TRY(const std::string before, existing(path));
    AKO_TRY(std::string after,
            report::merge_blocks(before, {{"skill", block}}, place.heading, path.string()));
    const char* what = before.empty()    ? "written"
                       : before == after ? "as it was"
                                         : "brought up to date";
    reply.text += fmt::format("{:<10} {:<19} {}\n", place.name, what, path.string());
    reply.data["files"].push_back({{"for", place.name}, {"path", path.string()}, {"state", what}});
    if (before != after) writes.emplace_back(path, std::move(after));
  }
  for (const auto& folder : folders) base::sweep_unfinished(folder);
  for (const auto& [path, text] : writes) AKO_TRY_STATUS(base::write_file_atomic(path, text));
  reply.data["version"] = loop::k_ako_version;
  return reply;
}

/// The text between ako's marks; nothing where there are none.
std::optional<std::string> block_of(const std::string& text) {
  const std::size_t begin = text.find(k_begin);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t from = begin + std::string(k_begin).size();
  const std::size_t end = text.find(k_end, from);
  if (end == std::string::npos) return std::nullopt;
  return text.substr(from, end - from);
}

struct Checked {
  std::string state, version;
};

Checked check_text(const std::string& text) {
  const auto block = block_of(text);
  if (!block) return {"not installed", ""};
  const std::string version = skill_version(*block);
  if (version != loop::k_ako_version) return {"another version", version};
  return {*block == skill_block(loop::k_ako_version) ? "current" : "edited", version};
}

base::Expected<Reply> check(const std::filesystem::path& target,
                            const std::vector<SkillPlace>& places) {
  Reply reply;
  reply.data["files"] = base::Json::array();
  std::string stale;
  std::size_t there = 0;
  for (const auto& place : places) {
    const std::filesystem::path path = target / place.path;
    AKO_TRY(const std::string text, existing(path));
    const Checked found = check_text(text);
    there += found.state != "not installed";
    if (found.state == "another version" || found.state == "edited")
      stale += fmt::format("{}{}: {} {}", stale.empty() ? "" : "; ", place.path, found.state,
                           found.version);
    reply.text += fmt::format("{:<10} {:<16} {:<8} {}\n", place.name, found.state, found.version,
                              path.string());
    reply.data["files"].push_back({{"for", place.name},
                                   {"path", path.string()},
                                   {"state", found.state},
                                   {"version", found.version}});
  }
  reply.data["version"] = loop::k_ako_version;
  if (!stale.empty())
    return base::fail(base::ErrorKind::stale, "the installed page is not this ako's",
                      {.where = target.string(),
                       .found = stale,
                       .allowed = std::string("the page of ako ") + loop::k_ako_version,
                       .next = "ako skill install --target " + target.string()});
  if (there == 0)
    return base::fail(base::ErrorKind::invalid, "the page is not installed here",
                      {.where = target.string(),
                       .found = "no block of ako's in any of the places",
                       .allowed = "at least one",
                       .next = "ako skill install --target " + target.string()});
  return reply;
}

base::Expected<Reply> run_skill(const Context& context, const Arguments& arguments) {
  const std::string what = arguments.text("action");
  AKO_TRY(const std::vector<SkillPlace> places, chosen_places(arguments));
  if (what == "print") {
    Reply reply;
    reply.text = skill_block(loop::k_ako_version);
    reply.data = {{"version", loop::k_ako_version}, {"text", reply.text}};
    return reply;
  }
  AKO_TRY(const std::filesystem::path target, target_folder(context, arguments));
  if (what == "install") return install(target, places);
  if (what == "check") return check(target, places);
  return base::fail(base::ErrorKind::usage, "no such action",
                    {.where = "ako skill",
                     .found = what,
                     .allowed = "install, check, print",
                     .next = model::did_you_mean(what, {"install", "check", "print"})});
}

} // namespace

extern const Command k_skill{
    "skill",
    "the page that tells a coding agent how to use ako: install it, check its version",
    "Writes one page into the places that Claude Code (.claude/skills/ako/SKILL.md), Codex and\n"
    "others (AGENTS.md) and Cursor (.cursor/rules/ako.mdc) read, between marks of its own: what\n"
    "people wrote around them stays. check exits 14 when the page there is of another ako or "
    "edited.",
    {{"action", "install, check or print"}},
    {{"target", "DIR", "the folder that the agent works in (default: this one)"},
     {"for", "NAME", "claude, codex, cursor or agents; may be given again (default: all)",
      Arity::many}},
    {"ako skill install --target .", "ako skill install --target ../engine --for claude",
     "ako skill check --target ../engine", "ako skill print"},
    run_skill};

} // namespace ako::cli
