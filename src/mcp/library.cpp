#include "mcp/library.hpp"

#include "loop/brief.hpp"
#include "mcp/address.hpp"
#include "model/contract_toml.hpp"
#include "model/nearest.hpp"
#include "report/markdown.hpp"
#include "report/text/tables.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ako::mcp {
namespace {

using base::Expected;
using base::Json;
namespace fs = base::fs;

constexpr std::int64_t k_log_rows = 200, k_listed = 20;
const std::vector<std::string> k_plain = {"brief", "contract",   "log",
                                          "notes", "iterations", "report"};

tl::unexpected<base::Error> no_such(const std::string& uri, const std::string& allowed,
                                    const std::string& next) {
  return base::fail(base::ErrorKind::usage, "there is no such resource",
                    {.where = uri, .found = {}, .allowed = allowed, .next = next});
}

Expected<std::int64_t> number_of(const std::string& uri, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 1)
    return no_such(uri, "a number from 1", "resources/list");
  return value;
}

Json entry(const std::string& uri, const std::string& name, const std::string& description,
           const char* type) {
  return {{"uri", uri}, {"name", name}, {"description", description}, {"mimeType", type}};
}

Expected<std::string> log_text(const loop::Session& session) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(ledger::Standing standing, reader.standing());
  AKO_TRY(const auto rows, reader.page(k_log_rows));
  if (rows.empty()) return std::string("no iterations on record\n");
  const auto whose = session.whose_record();
  std::string out = (whose ? *whose + "\n" : "") + report::log_head();
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) out += report::log_line(*row);
  if (rows.front().number > 1)
    out += fmt::format("{} earlier of {}: ako log --all\n", rows.front().number - 1,
                       standing.iterations);
  return out;
}

Expected<std::string> brief_text(const loop::Session& session) {
  AKO_TRY(const loop::Brief brief, loop::brief_of(session));
  return loop::to_text(brief);
}

Expected<std::string> iteration_text(const loop::Session& session, std::int64_t number,
                                     const std::string& uri) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(auto recorded, reader.iteration(number));
  if (!recorded) return no_such(uri, "the number of an iteration on record", "read ako://log");
  AKO_TRY(std::string commit, reader.commit_of(number));
  std::string diff, evaluation = "{}";
  for (const auto& blob : recorded->event.blobs) {
    if (blob.name == "diff") {
      AKO_TRY(diff, reader.blob(blob.hash));
    }
    if (blob.name == "evaluation") {
      AKO_TRY(evaluation, reader.blob(blob.hash));
    }
  }
  AKO_TRY(const Json judged, base::parse_json(evaluation, "evaluation"));
  return report::show_iteration(*recorded, judged, commit, diff);
}

Expected<std::string> profile_text(const loop::Session& session, std::int64_t event,
                                   const std::string& uri) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(auto recorded, reader.event(event));
  if (!recorded || recorded->kind != ledger::EventKind::profile)
    return no_such(uri, "the number of a profile event", "resources/list names the last ones");
  Json out = recorded->payload;
  for (const auto& blob : recorded->blobs)
    if (blob.name == "diagnosis" || blob.name == "scope") {
      AKO_TRY(std::string bytes, reader.blob(blob.hash));
      if (auto parsed = base::parse_json(bytes, blob.name)) out[blob.name] = std::move(*parsed);
    }
  return base::dump_json(out, 1);
}

Expected<std::string> report_text(const loop::Session& session) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(report::Data data, report::collect(reader, k_log_rows));
  return report::report_md(data);
}

Expected<std::string> guide_text(const std::string& id, const std::string& uri) {
  std::vector<std::string> known;
  for (const auto& guide : loop::guide_files()) {
    if (guide.id == id) return base::read_file(guide.path, 1u << 20);
    known.push_back(guide.id);
  }
  return no_such(
      uri, known.empty() ? "none: no guides were found beside the program" : model::join(known),
      model::did_you_mean(id, known));
}

Expected<std::string> task_text(const fs::path& dir, const Address& address,
                                const std::string& uri) {
  const bool whole =
      address.name == "contract" || address.name == "notes" || address.name == "brief";
  AKO_TRY(loop::Session session,
          loop::Session::open(dir, whole ? loop::Need::contract : loop::Need::record));
  if (address.name == "contract") return base::read_file(session.workdir().contract());
  if (address.name == "brief") return brief_text(session);
  if (address.name == "notes")
    return base::read_file(session.workdir().notes(session.contract().kernel.name));
  if (address.name == "iterations") return base::read_file(session.workdir().iterations());
  if (address.name == "log") return log_text(session);
  if (address.name == "report") return report_text(session);
  AKO_TRY(std::int64_t number, number_of(uri, address.rest));
  return address.name == "iteration" ? iteration_text(session, number, uri)
                                     : profile_text(session, number, uri);
}

base::Status add_record(const loop::Session& session, Json& out) {
  AKO_TRY(ledger::Reader reader, session.reader());
  out.push_back(
      entry("ako://log", "log", "what was tried and how it ended, the newest first", "text/plain"));
  out.push_back(entry("ako://report", "report", "the report, written anew", "text/markdown"));
  AKO_TRY(auto rows, reader.page(k_listed));
  for (const auto& row : rows)
    out.push_back(entry(
        fmt::format("ako://iteration/{}", row.number), fmt::format("iteration {}", row.number),
        fmt::format("{}: {}", model::to_string(row.outcome), row.hypothesis), "text/plain"));
  std::vector<Json> profiles;
  AKO_TRY_STATUS(reader.each(ledger::EventKind::profile, [&](const ledger::Event& event) {
    profiles.push_back(
        entry(fmt::format("ako://profile/{}", event.seq), fmt::format("profile {}", event.seq),
              base::get_or<std::string>(event.payload, "summary", ""), "application/json"));
    return base::Status{};
  }));
  const std::size_t most = static_cast<std::size_t>(k_listed);
  for (std::size_t i = profiles.size() > most ? profiles.size() - most : 0; i < profiles.size();
       ++i)
    out.push_back(std::move(profiles[i]));
  return {};
}

} // namespace

Expected<Json> list_resources(const fs::path& dir) {
  Json out = Json::array();
  if (auto session = loop::Session::open(dir, loop::Need::record)) {
    out.push_back(entry("ako://contract", "contract", "task.toml of " + session->workdir().name(),
                        "application/toml"));
    out.push_back(entry("ako://brief", "brief",
                        "the task on a page: what stands, what limits it, what was tried in vain",
                        "text/markdown"));
    std::error_code ignored;
    if (fs::exists(session->workdir().iterations(), ignored))
      out.push_back(entry("ako://iterations", "ITERATIONS.md", "iterations as people read them",
                          "text/markdown"));
    if (auto whole = loop::Session::open(dir, loop::Need::contract);
        whole && fs::exists(whole->workdir().notes(whole->contract().kernel.name), ignored))
      out.push_back(entry("ako://notes", "notes", "the kernel's notes", "text/markdown"));
    // A task without a record has nothing more to list.
    static_cast<void>(add_record(*session, out));
  }
  for (const auto& guide : loop::guide_files())
    out.push_back(
        entry("ako://guide/" + guide.id, "guide " + guide.id, guide.title, "text/markdown"));
  return out;
}

Json resource_templates() {
  const auto one = [](const char* uri, const char* name, const char* description,
                      const char* type) {
    return Json{
        {"uriTemplate", uri}, {"name", name}, {"description", description}, {"mimeType", type}};
  };
  return Json::array(
      {one("ako://{name}{?task,from,bytes}", "a task's",
           "brief, contract, log, notes, iterations or report; of the task in the folder `task` "
           "(default: the server's); from byte `from` on; at most `bytes` (default 4096)",
           "text/plain"),
       one("ako://iteration/{number}{?task,from,bytes}", "iteration",
           "one iteration in full, with its diff", "text/plain"),
       one("ako://profile/{event}{?task,from,bytes}", "profile",
           "a capture or inference on record, with its diagnosis", "application/json"),
       one("ako://guide/{id}{?from,bytes}", "guide", "a guide of the reference library",
           "text/markdown")});
}

namespace {

struct Content {
  std::string text;
  const char* type = "text/markdown";
};

Expected<Content> content_of(const fs::path& dir, const Address& address, const std::string& uri) {
  const std::string& name = address.name;
  const bool numbered = name == "iteration" || name == "profile";
  const bool plain = std::find(k_plain.begin(), k_plain.end(), name) != k_plain.end();
  Content out;
  if (name == "contract") out.type = "application/toml";
  if (name == "profile") out.type = "application/json";
  if (name == "log" || name == "iteration") out.type = "text/plain";
  if (name == "guide") {
    AKO_TRY(out.text, guide_text(address.rest, uri));
  } else if (numbered || (plain && address.rest.empty())) {
    AKO_TRY(out.text, task_text(address.task.empty() ? dir : dir / address.task, address, uri));
  } else {
    return no_such(uri, model::join(k_plain) + ", iteration/N, profile/EVENT, guide/ID",
                   model::did_you_mean(name, k_plain));
  }
  return out;
}

/// What of `content` fits into an answer of address.bytes, from address.from on, and the name of
/// the next part: in "_meta" for programs, as a second content for models.
Expected<Json> part_of(const Content& content, const Address& address, const std::string& uri) {
  const auto of = static_cast<std::int64_t>(content.text.size());
  if (address.from > 0 && address.from >= of)
    return base::fail(base::ErrorKind::usage, "this place lies behind the end",
                      {.where = uri,
                       .found = fmt::format("from={}", address.from),
                       .allowed = fmt::format("0 to {}", std::max<std::int64_t>(0, of - 1)),
                       .next = "read it again without \"from\": it may have become shorter"});
  std::int64_t from = address.from;
  while (from > 0 &&
         (static_cast<unsigned char>(content.text[static_cast<std::size_t>(from)]) & 0xc0) == 0x80)
    --from;
  const auto build = [&](const std::string& text, std::int64_t next) {
    Json first = {{"uri", uri}, {"mimeType", content.type}, {"text", text}};
    Json contents = Json::array({first});
    if (next == 0 && from == 0) return Json{{"contents", std::move(contents)}};
    Json about = {{"ako/from", from}, {"ako/to", next > 0 ? next : of}, {"ako/of", of}};
    if (std::string_view(content.type) == "application/json") // a part of it is none
      contents[0]["mimeType"] = "text/plain";
    if (next > 0) {
      Address following = address;
      following.from = next;
      about["ako/next"] = to_uri(following);
      contents.push_back({{"uri", uri + "#more"},
                          {"mimeType", "text/plain"},
                          {"text", fmt::format("Bytes {} to {} of {}. The next part: {}", from,
                                               next, of, to_uri(following))}});
    }
    contents[0]["_meta"] = std::move(about);
    return Json{{"contents", std::move(contents)}};
  };
  const auto most = static_cast<std::size_t>(address.bytes) - k_stamp_bytes;
  const auto size_of = [](const Json& json) { return base::dump_json(json).size(); };
  const std::string rest = content.text.substr(static_cast<std::size_t>(from));
  Json whole = build(rest, 0);
  if (size_of(whole) <= most) return whole;
  const std::size_t around = size_of(build("", std::max<std::int64_t>(1, of)));
  AKO_TRY(const Page cut, page(Json(rest), "", 0, most > around + 260 ? most - around - 4 : 256));
  return build(cut.value.get<std::string>(), cut.next > 0 ? from + cut.next : 0);
}

} // namespace

Expected<Json> read_resource(const fs::path& dir, const std::string& uri) {
  AKO_TRY(const Address address, parse_address(uri));
  AKO_TRY(const Content content, content_of(dir, address, uri));
  return part_of(content, address, uri);
}

Json list_prompts() {
  const auto argument = [](const char* name, const char* help) {
    return Json{{"name", name}, {"description", help}, {"required", false}};
  };
  return Json::array({{{"name", "iteration"},
                       {"description", "the task on a page, and the rules of the next iteration"},
                       {"arguments", Json::array({argument("task", "the task's folder"),
                                                  argument("idea", "what to try first")})}}});
}

namespace {

constexpr std::size_t k_most_idea = 1000; ///< as JSON, so that the page has room beside it

std::size_t bytes_of(const Json& value) { return base::dump_json(value).size(); }

/// The page as far as it fits beside what else is said; where it does not, the name of what is
/// left.
std::string brief_part(const std::string& text, std::size_t beside, const std::string& task) {
  Address rest;
  rest.name = "brief";
  rest.task = task;
  rest.from = static_cast<std::int64_t>(text.size());
  // What the protocol adds, and the words about the rest.
  const std::size_t around = k_stamp_bytes + 260 + to_uri(rest).size();
  const std::size_t room = k_brief_bytes - std::min(k_brief_bytes - 256, around + beside);
  if (bytes_of(Json(text)) <= room) return text;
  const auto cut = page(Json(text), "", 0, room);
  if (!cut || cut->next == 0) return text;
  rest.from = cut->next;
  return cut->value.get<std::string>() +
         fmt::format(
             "…\n\n(Bytes 0 to {} of {}. The rest of this page: resource {}; `status`, `log` "
             "and `show` tell it as well.)\n",
             cut->next, text.size(), to_uri(rest));
}

/// A person's words go in whole or not at all.
base::Status check_idea(const std::string& idea) {
  const std::size_t bytes = bytes_of(Json(idea));
  if (bytes <= k_most_idea) return {};
  return base::fail(base::ErrorKind::usage, "the idea is too long for the prompt",
                    {.where = "prompts/get: idea",
                     .found = fmt::format("{} bytes as JSON", bytes),
                     .allowed = fmt::format("at most {} bytes", k_most_idea),
                     .next = "say it shorter here, and the rest beside the prompt"});
}

} // namespace

Expected<Json> get_prompt(const fs::path& dir, const std::string& name, const Json& arguments) {
  if (name != "iteration")
    return base::fail(base::ErrorKind::usage, "there is no such prompt",
                      {.where = "prompts/get", .found = name, .allowed = "iteration", .next = {}});
  const std::string task = base::get_or<std::string>(arguments, "task", "");
  const std::string idea = base::get_or<std::string>(arguments, "idea", "");
  AKO_TRY_STATUS(check_idea(idea));
  AKO_TRY(loop::Session session,
          loop::Session::open(task.empty() ? dir : dir / task, loop::Need::contract));
  AKO_TRY(const loop::Brief brief, loop::brief_of(session));
  std::string rules =
      "\n## The next iteration\n\n"
      "Make one change to the candidate's files, from one hypothesis that the diagnosis, a "
      "guide or the log supports. Nothing else in the task is yours to edit. Then call `try` "
      "with the hypothesis as one sentence (what was changed, why it should be faster) and, "
      "where you dare, predict_gain in percent. Correctness is judged first, on inputs and "
      "sizes that you have not seen; a win must be seen twice. What is not better is reverted "
      "for you. `compare`, `bench`, `profile` and `diagnose` are free at any time.\n";
  if (brief.stalled)
    rules += "The last three were correct and not better: `try` needs a `direction` that none of "
             "them took.\n";
  if (!idea.empty()) rules += "\nStart from this idea: " + idea + "\n";
  const auto saying = [&](const std::string& text) {
    return Json{{"description", "one iteration of " + brief.task},
                {"messages", Json::array({{{"role", "user"},
                                           {"content", {{"type", "text"}, {"text", text}}}}})}};
  };
  return saying(brief_part(loop::to_text(brief), bytes_of(saying(rules)), task) + rules);
}

} // namespace ako::mcp
