#include "mcp/library.hpp"

#include "loop/brief.hpp"
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
const std::vector<std::string> k_plain = {"contract", "log", "notes", "iterations", "report"};

/// ako://NAME[/REST][?task=DIR]
struct Address {
  std::string name, rest, task;
};

tl::unexpected<base::Error> no_such(const std::string& uri, const std::string& allowed,
                                    const std::string& next) {
  return base::fail(base::ErrorKind::usage, "there is no such resource",
                    {.where = uri, .found = {}, .allowed = allowed, .next = next});
}

Expected<Address> address_of(const std::string& uri) {
  static const std::string k_scheme = "ako://";
  if (uri.rfind(k_scheme, 0) != 0)
    return no_such(uri, "names that begin with ako://", "resources/list");
  Address out;
  std::string rest = uri.substr(k_scheme.size());
  if (const std::size_t at = rest.find("?task="); at != std::string::npos) {
    out.task = rest.substr(at + 6);
    rest.resize(at);
  }
  const std::size_t slash = rest.find('/');
  out.name = rest.substr(0, slash);
  if (slash != std::string::npos) out.rest = rest.substr(slash + 1);
  return out;
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
  AKO_TRY(auto rows, reader.page(k_log_rows));
  const auto whose = session.whose_record();
  return (whose ? *whose + "\n" : "") + report::log_page(rows, standing.iterations);
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
  const bool whole = address.name == "contract" || address.name == "notes";
  AKO_TRY(loop::Session session,
          loop::Session::open(dir, whole ? loop::Need::contract : loop::Need::record));
  if (address.name == "contract") return base::read_file(session.workdir().contract());
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
  out.push_back(entry("ako://log", "log", "what was tried and how it ended", "text/plain"));
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
      {one("ako://iteration/{number}", "iteration", "one iteration in full, with its diff",
           "text/plain"),
       one("ako://profile/{event}", "profile",
           "a capture or inference on record, with its diagnosis", "application/json"),
       one("ako://guide/{id}", "guide", "a guide of the reference library", "text/markdown"),
       one("ako://{name}?task={dir}", "another task",
           "contract, log, notes, iterations or report of the task in dir", "text/plain")});
}

Expected<Json> read_resource(const fs::path& dir, const std::string& uri) {
  AKO_TRY(const Address address, address_of(uri));
  const bool numbered = address.name == "iteration" || address.name == "profile";
  const bool plain = std::find(k_plain.begin(), k_plain.end(), address.name) != k_plain.end();
  std::string text;
  const char* type = address.name == "contract"                             ? "application/toml"
                     : address.name == "profile"                            ? "application/json"
                     : address.name == "log" || address.name == "iteration" ? "text/plain"
                                                                            : "text/markdown";
  if (address.name == "guide") {
    AKO_TRY(text, guide_text(address.rest, uri));
  } else if (numbered || (plain && address.rest.empty())) {
    AKO_TRY(text, task_text(address.task.empty() ? dir : dir / address.task, address, uri));
  } else {
    return no_such(uri, model::join(k_plain) + ", iteration/N, profile/EVENT, guide/ID",
                   model::did_you_mean(address.name, k_plain));
  }
  return Json{{"contents", Json::array({{{"uri", uri}, {"mimeType", type}, {"text", text}}})}};
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

Expected<Json> get_prompt(const fs::path& dir, const std::string& name, const Json& arguments) {
  if (name != "iteration")
    return base::fail(base::ErrorKind::usage, "there is no such prompt",
                      {.where = "prompts/get", .found = name, .allowed = "iteration", .next = {}});
  const std::string task = base::get_or<std::string>(arguments, "task", "");
  const std::string idea = base::get_or<std::string>(arguments, "idea", "");
  AKO_TRY(loop::Session session,
          loop::Session::open(task.empty() ? dir : dir / task, loop::Need::contract));
  AKO_TRY(loop::Brief brief, loop::brief_of(session));
  std::string text = loop::to_text(brief);
  text += "\n## The next iteration\n\n"
          "Make one change to the candidate's files, from one hypothesis that the diagnosis, a "
          "guide or the log supports. Nothing else in the task is yours to edit. Then call `try` "
          "with the hypothesis as one sentence (what was changed, why it should be faster) and, "
          "where you dare, predict_gain in percent. Correctness is judged first, on inputs and "
          "sizes that you have not seen; a win must be seen twice. What is not better is reverted "
          "for you. `compare`, `bench`, `profile` and `diagnose` are free at any time.\n";
  if (brief.stalled)
    text += "The last three were correct and not better: `try` needs a `direction` that none of "
            "them took.\n";
  if (!idea.empty()) text += "\nStart from this idea: " + idea + "\n";
  return Json{{"description", "one iteration of " + brief.task},
              {"messages",
               Json::array({{{"role", "user"}, {"content", {{"type", "text"}, {"text", text}}}}})}};
}

} // namespace ako::mcp
