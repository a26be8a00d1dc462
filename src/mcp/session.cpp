#include "mcp/session.hpp"

#include "mcp/library.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace ako::mcp {
namespace {

using base::Json;

constexpr std::array k_levels = {"debug", "info",     "notice", "warning",
                                 "error", "critical", "alert",  "emergency"};
constexpr int k_info = 1;
constexpr double k_stop_seconds = 10;
constexpr std::size_t k_list_page = 64, k_text_bytes = 1200;

Tool more_tool() {
  Tool out;
  out.name = "more";
  out.title = "More of an answer";
  out.description =
      "Pages of an answer that was cut to size: an answer's \"more\" names its result "
      "and the places that were cut. Runs nothing again.";
  out.parameters = {{"result", Type::text, "name of the answer, such as r3", true},
                    {"at", Type::text, "place in it, such as /data/rows; the whole when left out"},
                    {"cursor", Type::integer, "\"next_cursor\" of the page before"},
                    {"bytes", Type::integer, "size of a page, 512 to 65536 (default 4096)"}};
  out.data_schema = {{"value", Json::object()},
                     {"next_cursor", {{"type", Json::array({"integer", "null"})}}},
                     {"of", {{"type", "integer"}}},
                     {"too_large", {{"type", "array"}, {"items", {{"type", "string"}}}}}};
  return out;
}

/// An answer that is no command's.
Json plain_envelope(Json data) {
  return {{"exit", 0},        {"outcome", nullptr},
          {"fault", "none"},  {"data", std::move(data)},
          {"error", nullptr}, {"warnings", Json::array()}};
}

Json error_envelope(const base::Error& error) {
  return {{"exit", error.kind == base::ErrorKind::interrupted ? 130 : 2},
          {"outcome", nullptr},
          {"fault", error.kind == base::ErrorKind::internal ? "ako" : "task"},
          {"data", nullptr},
          {"error",
           {{"kind", base::to_string(error.kind)},
            {"message", error.message},
            {"where", error.where},
            {"found", error.found},
            {"allowed", error.allowed},
            {"next", error.next}}},
          {"warnings", Json::array()}};
}

bool is_known(const std::string& method) {
  static constexpr std::array k_methods = {"tools/list",
                                           "tools/call",
                                           "resources/list",
                                           "resources/read",
                                           "resources/templates/list",
                                           "prompts/list",
                                           "prompts/get",
                                           "logging/setLevel"};
  return std::find(k_methods.begin(), k_methods.end(), method) != k_methods.end();
}

const Tool* find_tool(const std::vector<Tool>& tools, const std::string& name) {
  for (const Tool& tool : tools)
    if (tool.name == name) return &tool;
  return nullptr;
}

} // namespace

Session::Session(const Site& site, std::function<void(const Json&)> send)
    : m_site(site), m_send(std::move(send)), m_more(more_tool()), m_dialect(dialect("2025-03-26")) {
}

// --- lines to messages ---

void Session::take_line(const Line& line, std::size_t most) {
  if (line.too_long) {
    m_send(error_response(
        {}, {k_parse_error, fmt::format("a line of more than {} bytes was dropped", most), {}}));
    return;
  }
  if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
  Parsed parsed = parse_line(line.text);
  if (parsed.batch && !m_dialect.batches) {
    m_send(error_response(
        {},
        {k_invalid_request, "protocol " + m_dialect.version + " has no lists of messages", {}}));
    return;
  }
  auto batch = parsed.batch ? std::make_shared<Batch>() : nullptr;
  if (batch) batch->open = 1; // closed below, when all have been looked at
  for (const Message& message : parsed.messages) take(message, batch);
  if (batch) done(batch);
}

void Session::take_rest(const std::string& text) {
  if (auto json = base::parse_json(text, "line")) take_line({text, false}, text.size());
}

void Session::take(const Message& message, const std::shared_ptr<Batch>& batch) {
  if (message.kind == Message::Kind::notification) return take_notification(message);
  if (message.kind == Message::Kind::response) return; // nothing is ever asked of the client
  Asker asker{message.id, batch};
  if (batch) ++batch->open;
  if (message.kind == Message::Kind::invalid) return error(asker, message.error);
  for (const Running& running : m_jobs)
    if (running.asker.id == message.id && !running.cancelled)
      return error(asker,
                   {k_invalid_request, "this id belongs to a request that is still open", {}});
  take_request(message, std::move(asker));
}

void Session::answer(const Asker& asker, const Json& reply) {
  if (!asker.batch) return m_send(reply);
  asker.batch->answers.push_back(reply);
  done(asker.batch);
}

void Session::done(const std::shared_ptr<Batch>& batch) {
  if (--batch->open > 0) return;
  if (!batch->answers.empty()) m_send(batch->answers);
}

// --- requests ---

void Session::take_request(const Message& message, Asker asker) {
  const std::string& method = message.method;
  if (method == "initialize") return initialize(message, asker);
  if (method == "ping") return result(asker, Json::object());
  // A newer client may ask first for what this server does not know, and takes "no method" for an
  // answer.
  if (!m_initialized && is_known(method))
    return error(asker,
                 {k_invalid_request, "\"initialize\" comes first", {{"next", "initialize"}}});
  if (method == "tools/list") {
    Json tools = Json::array();
    for (const Tool& tool : m_site.tools) tools.push_back(describe(tool, m_dialect));
    tools.push_back(describe(m_more, m_dialect));
    return list(message, asker, "tools", std::move(tools));
  }
  if (method == "tools/call") return call_tool(message, std::move(asker));
  if (method == "resources/templates/list")
    return list(message, asker, "resourceTemplates", resource_templates());
  if (method == "prompts/list") return list(message, asker, "prompts", list_prompts());
  if (method == "logging/setLevel") return set_level(message, asker);
  const base::fs::path dir = m_site.dir;
  if (method == "resources/list")
    return start(
        std::move(asker), message.params, [dir] { return list_resources(dir); }, nullptr, method,
        Detail::full);
  if (method == "resources/read" || method == "prompts/get") {
    const bool reads = method == "resources/read";
    auto name = base::get<std::string>(message.params, reads ? "uri" : "name");
    if (!name) return error(asker, rpc_error(k_invalid_params, name.error()));
    const Json arguments = base::get_or<Json>(message.params, "arguments", Json::object());
    Job::Work work = [dir, reads, name = *name, arguments] {
      return reads ? read_resource(dir, name) : get_prompt(dir, name, arguments);
    };
    return start(std::move(asker), message.params, std::move(work), nullptr, method, Detail::full);
  }
  error(asker, {k_no_method, "there is no method \"" + shorten(method, 80) + "\"", {}});
}

void Session::initialize(const Message& message, const Asker& asker) {
  if (m_initialized)
    return error(asker, {k_invalid_request, "this conversation is initialized already", {}});
  auto wanted = base::get<std::string>(message.params, "protocolVersion");
  if (!wanted)
    return error(
        asker,
        {k_invalid_params, "\"protocolVersion\" is missing", {{"allowed", known_versions()}}});
  m_dialect = dialect(*wanted);
  m_initialized = true;
  Json capabilities = {{"tools", {{"listChanged", false}}},
                       {"resources", {{"subscribe", false}, {"listChanged", false}}},
                       {"prompts", {{"listChanged", false}}},
                       {"logging", Json::object()}};
  Json server = {{"name", "ako"}, {"version", m_site.version}};
  if (m_dialect.structured) server["title"] = "ako: judged and measured kernel optimisation";
  result(asker, {{"protocolVersion", m_dialect.version},
                 {"capabilities", std::move(capabilities)},
                 {"serverInfo", std::move(server)},
                 {"instructions", m_site.instructions}});
}

void Session::list(const Message& message, const Asker& asker, const char* member, Json entries) {
  std::size_t from = 0;
  if (message.params.contains("cursor")) {
    const Json& cursor = message.params["cursor"];
    const std::string text = cursor.is_string() ? cursor.get<std::string>() : std::string();
    const bool digits =
        !text.empty() && text.size() < 8 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    from = digits ? std::stoul(text) : entries.size();
    if (from >= entries.size() || from % k_list_page != 0)
      return error(
          asker,
          {k_invalid_params, "this cursor is none of ours", {{"next", "ask again without it"}}});
  }
  Json out = {{member, Json::array()}};
  const std::size_t end = std::min(entries.size(), from + k_list_page);
  for (std::size_t i = from; i < end; ++i) out[member].push_back(std::move(entries[i]));
  if (end < entries.size()) out["nextCursor"] = std::to_string(end);
  result(asker, std::move(out));
}

void Session::set_level(const Message& message, const Asker& asker) {
  const std::string level = base::get_or<std::string>(message.params, "level", "");
  const auto found = std::find(k_levels.begin(), k_levels.end(), level);
  if (found == k_levels.end())
    return error(asker, {k_invalid_params,
                         "there is no such level",
                         {{"allowed", fmt::format("{}", fmt::join(k_levels, ", "))}}});
  m_level = static_cast<int>(found - k_levels.begin());
  result(asker, Json::object());
}

void Session::take_notification(const Message& message) {
  if (message.method == "notifications/cancelled" && message.params.contains("requestId"))
    cancel(message.params["requestId"]);
}

void Session::cancel(const Json& id) {
  for (Running& running : m_jobs)
    if (running.asker.id == id && !running.cancelled) {
      running.cancelled = true;
      running.job.stop(k_stop_seconds);
    }
}

// --- tools ---

void Session::call_tool(const Message& message, Asker asker) {
  auto name = base::get<std::string>(message.params, "name");
  if (!name) return error(asker, rpc_error(k_invalid_params, name.error()));
  const Json arguments = base::get_or<Json>(message.params, "arguments", Json::object());
  const Tool* tool = *name == m_more.name ? &m_more : find_tool(m_site.tools, *name);
  if (tool == nullptr)
    return error(asker, {k_invalid_params,
                         "there is no tool \"" + shorten(*name, 80) + "\"",
                         {{"next", "tools/list"}}});
  if (auto fit = check_arguments(*tool, arguments); !fit)
    return result(asker, sized("error: " + fit.error().text(), error_envelope(fit.error()), true,
                               k_brief_bytes));
  if (tool == &m_more) return give_more(arguments, asker);
  const bool full = base::get_or<std::string>(arguments, "detail", "brief") == "full";
  Job::Work work = [this, name = *name, arguments]() -> base::Expected<Json> {
    Answer answer = m_site.call(name, arguments);
    return Json{{"text", std::move(answer.text)}, {"envelope", std::move(answer.envelope)}};
  };
  start(std::move(asker), message.params, std::move(work), tool, message.method,
        full ? Detail::full : Detail::brief);
}

void Session::give_more(const Json& arguments, const Asker& asker) {
  const std::string name = base::get_or<std::string>(arguments, "result", "");
  const auto fail = [&](const base::Error& problem) {
    result(asker, sized("error: " + problem.text(), error_envelope(problem), true, k_brief_bytes));
  };
  const Json* kept = m_kept.find(name);
  if (kept == nullptr)
    return fail({base::ErrorKind::usage, "this answer is not kept (any more)", "more.result", name,
                 m_kept.names(),
                 "call the tool again, with detail = \"full\" when it is to be whole"});
  const auto bytes = std::clamp<std::int64_t>(
      base::get_or<std::int64_t>(arguments, "bytes", k_brief_bytes), 512, 65536);
  const std::string at = base::get_or<std::string>(arguments, "at", "");
  auto part = page(*kept, at, base::get_or<std::int64_t>(arguments, "cursor", 0),
                   static_cast<std::size_t>(bytes) - 300);
  if (!part) return fail(part.error());
  Json data = {{"value", std::move(part->value)},
               {"next_cursor", part->next > 0 ? Json(part->next) : Json()},
               {"of", part->of},
               {"too_large", std::move(part->too_large)}};
  const std::string text =
      part->next > 0 ? fmt::format("a part of {}{}; go on with cursor {}", name, at, part->next)
                     : fmt::format("{}{} to its end", name, at);
  Json out = {{"content", Json::array({{{"type", "text"}, {"text", text}}})}, {"isError", false}};
  if (m_dialect.structured) out["structuredContent"] = plain_envelope(std::move(data));
  else
    out["content"].push_back(
        {{"type", "text"}, {"text", base::dump_json(plain_envelope(std::move(data)))}});
  result(asker, std::move(out));
}

void Session::start(Asker asker, const Json& params, Job::Work work, const Tool* tool,
                    std::string method, Detail detail) {
  if (m_jobs.size() >= k_most_jobs)
    return error(asker, {k_internal,
                         fmt::format("{} calls are running already", k_most_jobs),
                         {{"next", "wait for one of them, or cancel one"}}});
  auto job = Job::start(work);
  if (!job) return error(asker, rpc_error(k_internal, job.error()));
  Json token;
  if (params.contains("_meta") && params["_meta"].is_object())
    token = params["_meta"].value("progressToken", Json());
  m_jobs.push_back({std::move(*job), std::move(asker), std::move(token), tool, std::move(method),
                    detail, false, -1});
}

// --- calls that are running ---

void Session::add_descriptors(std::vector<pollfd>& into) const {
  for (const Running& running : m_jobs)
    for (const int fd : {running.job.result_fd(), running.job.log_fd()})
      into.push_back({fd, POLLIN, 0});
}

void Session::read_jobs() {
  for (auto at = m_jobs.begin(); at != m_jobs.end();) {
    at->job.enforce();
    const Job::News news = at->job.read();
    if (!at->cancelled) tell(*at, news);
    if (!news.result) {
      ++at;
      continue;
    }
    finish(*at, *news.result);
    at = m_jobs.erase(at);
  }
}

void Session::tell(Running& running, const Job::News& news) {
  for (const Job::Progress& each : news.progress) {
    // The protocol wants rising numbers; phases each begin at nought.
    if (running.progress_token.is_null()) break;
    running.shown = std::max(each.fraction, running.shown + 1e-6);
    Json params = {{"progressToken", running.progress_token}, {"progress", running.shown}};
    if (m_dialect.progress_text) params["message"] = each.text;
    m_send(notification("notifications/progress", std::move(params)));
  }
  if (m_level > k_info) return;
  for (const std::string& line : news.log)
    m_send(notification("notifications/message",
                        {{"level", "info"}, {"logger", "ako"}, {"data", shorten(line, 1000)}}));
}

void Session::finish(Running& running, const base::Expected<Json>& outcome) {
  if (running.cancelled) {
    // The client has let go of it; in a list the others' answers still come.
    if (running.asker.batch) done(running.asker.batch);
    return;
  }
  if (running.tool != nullptr) return result(running.asker, tool_result(outcome, running));
  if (!outcome) {
    const bool missing = outcome.error().kind != base::ErrorKind::internal;
    const int code = !missing                             ? k_internal
                     : running.method == "resources/read" ? k_not_found
                                                          : k_invalid_params;
    return error(running.asker, rpc_error(code, outcome.error()));
  }
  if (running.method == "resources/list") return result(running.asker, {{"resources", *outcome}});
  result(running.asker, *outcome);
}

Json Session::tool_result(const base::Expected<Json>& outcome, const Running& running) {
  if (!outcome)
    return sized("error: " + outcome.error().text(), error_envelope(outcome.error()), true,
                 k_brief_bytes);
  Json envelope = base::get_or<Json>(*outcome, "envelope", Json::object());
  const std::string text = base::get_or<std::string>(*outcome, "text", "");
  const bool failed = !envelope["error"].is_null();
  return sized(text, std::move(envelope), failed,
               running.detail == Detail::full ? k_full_bytes : k_brief_bytes);
}

Json Session::sized(const std::string& text, Json structured, bool failed, std::size_t bytes) {
  static const std::vector<std::string> k_whole = {"exit", "outcome", "fault", "error", "more"};
  const std::string short_text =
      bytes > k_brief_bytes ? shorten(text, bytes / 2) : shorten(text, k_text_bytes);
  const auto build = [&](const Json& content) {
    Json out = {{"content", Json::array({{{"type", "text"}, {"text", short_text}}})}};
    if (m_dialect.structured) out["structuredContent"] = content;
    else out["content"].push_back({{"type", "text"}, {"text", base::dump_json(content)}});
    out["isError"] = failed;
    return out;
  };
  Json out = build(structured);
  std::size_t size = base::dump_json(out).size();
  if (size <= bytes && short_text.size() == text.size()) return out;
  const std::size_t whole = base::dump_json(structured).size();
  Json kept = structured;
  if (short_text.size() < text.size()) kept["text"] = text;
  const std::string name = m_kept.add(std::move(kept));
  std::size_t room = bytes > 700 ? bytes - 700 - std::min(short_text.size(), bytes - 700) : 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    Brief cut = brief(structured, room, k_whole);
    Json places = Json::array();
    for (const Cut& each : cut.cuts)
      places.push_back(fmt::format("{} ({} of {})", each.path, each.kept, each.of));
    if (short_text.size() < text.size()) places.push_back("/text");
    cut.value["more"] = {{"result", name}, {"bytes", whole}, {"cut", std::move(places)}};
    out = build(cut.value);
    size = base::dump_json(out).size();
    if (size <= bytes) break;
    room -= std::min(room, size - bytes + 16);
  }
  return out;
}

void Session::farewell(Farewell how) {
  for (Running& running : m_jobs) {
    const bool reads = running.tool == nullptr || running.tool->effect == Effect::reads;
    if (reads && how == Farewell::let_readers_end) continue;
    running.job.stop(k_stop_seconds);
  }
}

} // namespace ako::mcp
