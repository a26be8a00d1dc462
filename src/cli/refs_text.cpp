#include "cli/refs_text.hpp"

#include "base/time.hpp"
#include "model/nearest.hpp"
#include "profiles/playbook.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {

using base::Json;

namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

void add_once(std::vector<std::string>& list, const std::string& word) {
  if (!holds(list, word)) list.push_back(word);
}

std::string lines_of(const char* head, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string out = std::string(head) + "\n";
  for (const auto& line : lines) out += "  " + line + "\n";
  return out;
}

} // namespace

std::string reading_text(const loop::Reading& reading) {
  std::string out =
      fmt::format("lane {}, architecture {}, family {}: {}\n", reading.lane,
                  reading.architectures.empty() ? "unknown" : joined(reading.architectures, " "),
                  reading.family.id.empty() ? "unknown" : reading.family.id, reading.family.reason);
  std::size_t read = 0, width = 0;
  for (const auto& item : reading.items) width = std::max(width, item.guide->id.size());
  for (const auto& item : reading.items) {
    const bool done = item.state == guides::ReadState::read;
    read += done;
    const char* state = done                                       ? "read"
                        : item.state == guides::ReadState::changed ? "CHANGED"
                                                                   : "not read";
    out += fmt::format("  {:<8}  {:<{}}  {} ({} lines; {})\n", state, item.guide->id, width,
                       item.guide->title, item.guide->lines, joined(item.why, "; "));
  }
  out += fmt::format("{} of {} read", read, reading.items.size());
  const bool plain = reading.claim.empty() || reading.claim == "iteration";
  const std::string claim = plain ? "" : " --claim " + reading.claim;
  return out +
         (read == reading.items.size() ? "\n" : "; next: ako refs read --required" + claim + "\n");
}

Json reading_json(const loop::Reading& reading) {
  Json items = Json::array();
  for (const auto& item : reading.items)
    items.push_back({{"id", item.guide->id},
                     {"title", item.guide->title},
                     {"state", guides::to_string(item.state)},
                     {"why", item.why},
                     {"lines", item.guide->lines},
                     {"hash", item.guide->hash},
                     {"file", "references/" + item.guide->id + ".md"},
                     {"read", item.read_ns ? Json(base::iso_time(item.read_ns)) : Json()}});
  return {{"lane", reading.lane},
          {"architectures", reading.architectures},
          {"family", reading.family.id},
          {"family_reason", reading.family.reason},
          {"required", std::move(items)}};
}

std::string library_text(const guides::Library& library) {
  std::string out;
  std::size_t width = 0;
  for (const auto& guide : library.guides()) width = std::max(width, guide.id.size());
  for (const auto& guide : library.guides())
    out += fmt::format("{:<{}}  {} ({}; {})\n", guide.id, width, guide.title,
                       joined(guide.lanes, ", "), joined(guide.families, ", "));
  return out;
}

Json library_json(const guides::Library& library) {
  Json out = Json::array();
  for (const auto& guide : library.guides())
    out.push_back({{"id", guide.id},
                   {"title", guide.title},
                   {"lanes", guide.lanes},
                   {"architectures", guide.architectures},
                   {"families", guide.families},
                   {"findings", guide.findings},
                   {"lines", guide.lines},
                   {"hash", guide.hash}});
  return out;
}

std::string hits_text(const std::vector<guides::Hit>& hits) {
  std::string out;
  for (const auto& hit : hits) {
    out += fmt::format("{}:{}  {}\n    {}\n", hit.file, hit.line, hit.heading, hit.excerpt);
    if (!hit.id.empty()) out += fmt::format("    ako refs read {}\n", hit.id);
  }
  return out.empty() ? "nothing was found\n" : out;
}

Json hits_json(const std::vector<guides::Hit>& hits) {
  Json out = Json::array();
  for (const auto& hit : hits)
    out.push_back({{"source", hit.source == guides::Hit::Source::guide ? "guide" : "toolkit"},
                   {"id", hit.id},
                   {"file", hit.file},
                   {"heading", hit.heading},
                   {"line", hit.line},
                   {"excerpt", hit.excerpt},
                   {"score", base::number_or_null(hit.score)}});
  return out;
}

base::Expected<Related> related_to(const std::string& id, const guides::Library& library,
                                   const std::vector<guides::Template>& templates,
                                   const std::string& lane) {
  Related out{id, {}, {}, {}, {}, {}};
  const auto title_of = [&](const std::string& guide) {
    const auto* found = library.find(guide);
    return guide + (found ? "  " + found->title : std::string());
  };
  if (const auto kind = profiles::kind_of(id); !kind.empty()) {
    out.title = fmt::format("a finding of `ako diagnose`, of kind {}", kind);
    for (const auto& move : profiles::moves_for(id, 0, lane)) {
      out.moves.push_back(fmt::format("{}{} ({})", move.lane.empty() ? "" : move.lane + ": ",
                                      move.text, move.guide));
      add_once(out.guides, title_of(move.guide));
    }
    for (const auto* guide : library.answering(id)) add_once(out.guides, title_of(guide->id));
  } else if (const auto* guide = library.find(id)) {
    out.title = "the guide \"" + guide->title + "\"";
    out.findings = guide->findings;
  } else {
    std::vector<std::string> known = library.ids();
    for (const auto one : profiles::finding_ids()) known.emplace_back(one);
    for (const auto& one : templates) known.push_back(one.id);
    for (const auto& one : templates) {
      if (one.id != id) continue;
      out.title = "the template \"" + one.title + "\"";
      for (const auto& named : one.guides) out.guides.push_back(title_of(named));
      out.findings = one.findings;
      return out;
    }
    return base::fail(base::ErrorKind::usage,
                      "there is neither a finding, a guide nor a template of this id",
                      {.where = "ako refs for",
                       .found = id,
                       .allowed = "a finding of `ako diagnose`, an id of `ako refs --all`, a "
                                  "template of `ako new --templates`",
                       .next = model::did_you_mean(id, known)});
  }
  for (const auto* one : guides::templates_for(templates, id))
    if (lane.empty() || one->lane == lane) out.templates.push_back(one->id + "  " + one->title);
  return out;
}

std::string related_text(const Related& related) {
  return fmt::format("{}: {}\n", related.id, related.title) +
         lines_of("what to try:", related.moves) + lines_of("guides:", related.guides) +
         lines_of("answers the findings:", related.findings) +
         lines_of("templates to start from (ako new NAME --template ID):", related.templates);
}

Json related_json(const Related& related) {
  return {
      {"id", related.id},         {"title", related.title},       {"moves", related.moves},
      {"guides", related.guides}, {"findings", related.findings}, {"templates", related.templates}};
}

} // namespace ako::cli
