#include "cli/command.hpp"
#include "cli/refs_text.hpp"
#include "loop/capture.hpp"
#include "model/nearest.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<guides::Library> open_library() {
  AKO_TRY(const base::fs::path folder, guides::Library::find_folder());
  return guides::Library::load(folder);
}

/// The task here; nothing when there is none, an error when there is one that cannot be opened.
base::Expected<std::optional<loop::Session>> task_here(const Context& context) {
  if (!workspace::Workdir::find(context.dir)) return std::optional<loop::Session>{};
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  return std::optional<loop::Session>(std::move(session));
}

/// What a task of this lane, family and architecture would have to read: no task is needed.
base::Expected<loop::Reading> imagined(const Arguments& arguments) {
  loop::Reading out;
  AKO_TRY(out.library, open_library());
  AKO_TRY(out.routing, guides::load_routing(out.library));
  out.lane = arguments.text("lane", "cpu");
  const std::vector<std::string> lanes = {"cpu", "cuda", "cutlass", "triton", "cute-dsl"};
  if (std::find(lanes.begin(), lanes.end(), out.lane) == lanes.end())
    return base::fail(base::ErrorKind::usage, "there is no such lane",
                      {.where = "--lane",
                       .found = out.lane,
                       .allowed = model::join(lanes),
                       .next = model::did_you_mean(out.lane, lanes)});
  out.architectures = arguments.all("arch");
  AKO_TRY(out.family, guides::family_of(out.routing, {}, arguments.text("family", "elementwise")));
  out.family.reason = arguments.has("family") ? "as asked" : "unless --family says otherwise";
  guides::Question question{
      out.lane, out.architectures, out.family.id, arguments.text("claim", "iteration"), {}};
  out.items = guides::reading(guides::required(out.routing, out.library, question), {});
  return out;
}

base::Expected<Reply> list(const Context& context, const Arguments& arguments) {
  Reply reply;
  const bool asked = arguments.has("lane") || arguments.has("family") || arguments.has("arch");
  if (!asked && !arguments.has("all")) {
    AKO_TRY(const std::optional<loop::Session> session, task_here(context));
    if (session) {
      AKO_TRY(const loop::Reading reading,
              loop::reading_of(*session, arguments.text("claim", "iteration")));
      reply.text = reading_text(reading);
      reply.data = reading_json(reading);
      return reply;
    }
  }
  if (asked) {
    AKO_TRY(const loop::Reading reading, imagined(arguments));
    reply.text = reading_text(reading);
    reply.data = reading_json(reading);
    return reply;
  }
  AKO_TRY(const guides::Library library, open_library());
  reply.text = library_text(library);
  reply.data = {{"guides", library_json(library)}, {"folder", library.folder().string()}};
  return reply;
}

/// The guides that `read` is to show: those named, or those that are required and unread.
base::Expected<std::vector<std::string>> wanted(const Arguments& arguments,
                                                const std::vector<std::string>& words,
                                                const loop::Reading* reading) {
  if (!arguments.has("required")) {
    if (!words.empty()) return words;
    return base::fail(base::ErrorKind::usage, "which guide is to be shown?",
                      {.where = "ako refs read",
                       .found = "no id",
                       .allowed = "ids of `ako refs --all`, or --required",
                       .next = "ako refs read --required"});
  }
  if (!reading)
    return base::fail(base::ErrorKind::usage, "what is required depends on the task",
                      {.where = "--required",
                       .found = "no task here",
                       .allowed = "run in a task, or name the guides",
                       .next = "ako refs --lane cuda --family gemm --arch sm_90"});
  return guides::to_read(reading->items);
}

base::Expected<Reply> read(const Context& context, const Arguments& arguments,
                           const std::vector<std::string>& words) {
  AKO_TRY(const std::optional<loop::Session> session, task_here(context));
  std::optional<loop::Reading> reading;
  guides::Library library;
  if (session && arguments.has("required")) {
    AKO_TRY(reading, loop::reading_of(*session, arguments.text("claim", "iteration")));
    library = reading->library;
  } else {
    AKO_TRY(library, open_library());
  }
  AKO_TRY(const std::vector<std::string> ids,
          wanted(arguments, words, reading ? &*reading : nullptr));
  std::vector<const guides::Guide*> shown;
  Reply reply;
  base::Json list = base::Json::array();
  for (const auto& id : ids) {
    AKO_TRY(const guides::Guide* guide, library.get(id));
    shown.push_back(guide);
    reply.text += std::string(guide->shown()) + "\n";
    list.push_back({{"id", guide->id},
                    {"title", guide->title},
                    {"hash", guide->hash},
                    {"text", std::string(guide->shown())}});
  }
  if (session) AKO_TRY_STATUS(loop::record_reading(*session, shown));
  else reply.warnings.push_back("there is no task here: nothing was put on record");
  reply.text += shown.empty()
                    ? "everything that is required is read\n"
                    : fmt::format("-- {} shown{}: {}\n", shown.size(),
                                  session ? " and on record as read" : "", model::join(ids));
  reply.data = {{"guides", std::move(list)}, {"recorded", session.has_value()}};
  return reply;
}

base::Expected<Reply> search(const Arguments& arguments, const std::vector<std::string>& words) {
  AKO_TRY(const std::int64_t limit, arguments.integer("limit", 5));
  if (limit < 1 || limit > 100)
    return base::fail(
        base::ErrorKind::usage, "so many results are not shown",
        {.where = "--limit", .found = std::to_string(limit), .allowed = "1 to 100", .next = {}});
  AKO_TRY(const guides::Library library, open_library());
  std::optional<guides::ToolkitPlace> toolkit;
  if (!arguments.has("guides-only")) {
    toolkit = guides::find_toolkit();
    if (toolkit->ncu.empty())
      if (auto ncu = loop::find_ncu()) toolkit->ncu = *ncu;
  }
  guides::Search search(workspace::Workdir::cache_root() / "refs");
  AKO_TRY(const std::vector<guides::Hit> hits,
          search.find(library, toolkit, words, static_cast<std::size_t>(limit)));
  Reply reply;
  reply.text = hits_text(hits);
  reply.data = {{"hits", hits_json(hits)},
                {"toolkit", toolkit ? toolkit->root.string() : std::string()}};
  return reply;
}

base::Expected<Reply> related(const Arguments& arguments, const std::vector<std::string>& words) {
  AKO_TRY(const guides::Library library, open_library());
  AKO_TRY(const std::vector<guides::Template> templates, guides::load_templates());
  Reply reply;
  base::Json all = base::Json::array();
  for (const auto& id : words) {
    AKO_TRY(const Related one, related_to(id, library, templates, arguments.text("lane")));
    reply.text += related_text(one);
    all.push_back(related_json(one));
  }
  reply.data = {{"related", std::move(all)}};
  return reply;
}

base::Expected<Reply> run_refs(const Context& context, const Arguments& arguments) {
  std::vector<std::string> words = arguments.all("words");
  const std::string verb = words.empty() ? "list" : words.front();
  if (!words.empty()) words.erase(words.begin());
  if (verb == "list") return list(context, arguments);
  if (verb == "read") return read(context, arguments, words);
  if (verb == "search") return search(arguments, words);
  if (verb == "for" && !words.empty()) return related(arguments, words);
  const std::vector<std::string> known = {"list", "read", "search", "for"};
  return base::fail(base::ErrorKind::usage,
                    verb == "for" ? "what for?" : "`ako refs` does no such thing",
                    {.where = "ako refs " + verb,
                     .found = verb == "for" ? "no finding, guide or template" : verb,
                     .allowed = "list; read ID...; search WORDS...; for FINDING",
                     .next = model::did_you_mean(verb, known)});
}

} // namespace

extern const Command k_refs{
    "refs",
    "what must be read, reading it, and looking things up",
    "Without a word: the guides that this task requires, by lane, architecture, family and what "
    "its\n"
    "sources use, and which of them are on record as read. An iteration on record needs the "
    "reading.\n"
    "  read ID...       shows guides and puts on record which edition was read; a guide that "
    "changes\n"
    "                   is to be read again\n"
    "  search WORDS...  full text over the guides, the CUDA toolkit's headers and Nsight "
    "Compute's\n"
    "                   metrics; offline; a quoted phrase is searched as one\n"
    "  for ID...        from a finding of `ako diagnose` to guides and templates, and back",
    {{"words", "list (default), read, search or for, and what it is about", Arity::many, false}},
    {{"required", "", "read: what this task requires and has not read yet", Arity::flag},
     {"all", "", "list: every guide", Arity::flag},
     {"claim", "CLAIM", "what is to be claimed: iteration (default), port, report"},
     {"lane", "LANE", "list: what a task of this lane would require; for: of this lane only"},
     {"family", "FAMILY", "list: and of this family of kernels, such as gemm"},
     {"arch", "ARCH", "list: and of this architecture, such as sm_90", Arity::many},
     {"guides-only", "", "search: not in the toolkit", Arity::flag},
     {"limit", "N", "search: results of each kind (default 5)"}},
    {"ako refs", "ako refs read --required", "ako refs read --required --claim port",
     "ako refs read memory-access numerics", "ako refs search bank conflicts",
     "ako refs search cp.async.bulk.tensor --limit 3", "ako refs for shared_bank_conflicts",
     "ako refs for cuda/transpose", "ako refs --lane cuda --family gemm --arch sm_90"},
    run_refs};

} // namespace ako::cli
