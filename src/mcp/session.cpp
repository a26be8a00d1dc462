#include "mcp/session.hpp"

#include "mcp/envelope.hpp"
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

RpcError ends(const char* what) {
  return {k_internal,
          std::string("the server ends: ") + what,
          {{"next", "start a server and ask for `status`: it says what is on record"}}};
}

bool is_cacheable(const std::string& method) {
  static constexpr std::array k_methods = {
      "tools/list",   "resources/list",           "resources/read",
      "prompts/list", "resources/templates/list", "server/discover"};
  return std::find(k_methods.begin(), k_methods.end(), method) != k_methods.end();
}

/// Of a call or a prompt; clients that have none to give may say so with null.
Json arguments_in(const Json& params) {
  Json given = base::get_or<Json>(params, "arguments", Json::object());
  return given.is_null() ? Json::object() : given;
}

std::optional<int> level_number(const std::string& level) {
  const auto found = std::find(k_levels.begin(), k_levels.end(), level);
  if (found == k_levels.end()) return std::nullopt;
  return static_cast<int>(found - k_levels.begin());
}

/// Of a request that says itself which log lines it wants.
std::optional<int> level_of(const Json& params) {
  return level_number(base::get_or<std::string>(meta_of(params), k_meta_level, ""));
}

Json progress_token(const Json& params) { return meta_of(params).value("progressToken", Json()); }

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
  Asker asker{message.id, batch, is_cacheable(message.method)};
  if (batch) ++batch->open;
  if (message.kind == Message::Kind::invalid) return error(asker, message.error);
  if (is_open(message.id))
    return error(asker, {k_invalid_request, "this id belongs to a request that is still open", {}});
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
  if (!admit(message, asker)) return;
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
  if (method == "logging/setLevel" && !m_dialect.enveloped) return set_level(message, asker);
  const base::fs::path dir = m_site.dir;
  Call call{std::move(asker), progress_token(message.params), {}, nullptr, method,
            Detail::full,     level_of(message.params)};
  if (method == "resources/list") {
    call.work = [dir] { return list_resources(dir); };
    return start(std::move(call));
  }
  if (method == "resources/read" || method == "prompts/get") {
    const bool reads = method == "resources/read";
    auto name = base::get<std::string>(message.params, reads ? "uri" : "name");
    if (!name) return error(call.asker, rpc_error(k_invalid_params, name.error()));
    call.work = [dir, reads, name = *name, arguments = arguments_in(message.params)] {
      return reads ? read_resource(dir, name) : get_prompt(dir, name, arguments);
    };
    return start(std::move(call));
  }
  error(call.asker, {k_no_method, "there is no method \"" + shorten(method, 80) + "\"", {}});
}

void Session::result(const Asker& asker, Json value) {
  if (m_dialect.enveloped) {
    value["resultType"] = "complete";
    value["_meta"][k_meta_server] = server_info();
    // What a task holds changes with every step.
    if (asker.cacheable) value["ttlMs"] = 0, value["cacheScope"] = "private";
  }
  answer(asker, response(asker.id, std::move(value)));
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
  const auto number = level_number(level);
  if (!number)
    return error(asker, {k_invalid_params,
                         "there is no such level",
                         {{"allowed", fmt::format("{}", fmt::join(k_levels, ", "))}}});
  m_level = *number;
  result(asker, Json::object());
}

void Session::take_notification(const Message& message) {
  if (message.method == "notifications/cancelled" && message.params.contains("requestId"))
    cancel(message.params["requestId"]);
}

void Session::cancel(const Json& id) {
  for (Running& running : m_jobs)
    if (running.call.asker.id == id && !running.cancelled) {
      running.cancelled = true;
      running.job.stop(k_stop_seconds);
    }
  for (auto at = m_queue.begin(); at != m_queue.end();) {
    if (at->asker.id != id) {
      ++at;
      continue;
    }
    const auto batch = at->asker.batch;
    at = m_queue.erase(at);
    if (batch) done(batch);
  }
}

// --- tools ---

void Session::call_tool(const Message& message, Asker asker) {
  auto name = base::get<std::string>(message.params, "name");
  if (!name) return error(asker, rpc_error(k_invalid_params, name.error()));
  const Json arguments = arguments_in(message.params);
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
  start({std::move(asker), progress_token(message.params), std::move(work), tool, message.method,
         full ? Detail::full : Detail::brief, level_of(message.params)});
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
                   static_cast<std::size_t>(bytes) - 300 - stamp_bytes());
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

void Session::start(Call call) {
  if (m_jobs.size() < k_most_jobs) return begin(std::move(call));
  if (m_queue.size() >= k_most_queued)
    return error(call.asker, {k_internal,
                              fmt::format("{} calls are running and {} are waiting already",
                                          k_most_jobs, k_most_queued),
                              {{"next", "wait for some of them, or cancel some"}}});
  m_queue.push_back(std::move(call));
}

void Session::begin(Call call) {
  auto job = Job::start(call.work);
  if (!job) return error(call.asker, rpc_error(k_internal, job.error()));
  m_jobs.push_back({std::move(*job), std::move(call), false, -1});
}

bool Session::is_open(const Json& id) const {
  for (const Running& running : m_jobs)
    if (running.call.asker.id == id && !running.cancelled) return true;
  for (const Call& call : m_queue)
    if (call.asker.id == id) return true;
  return false;
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
  while (!m_queue.empty() && m_jobs.size() < k_most_jobs) {
    Call next = std::move(m_queue.front());
    m_queue.pop_front();
    begin(std::move(next));
  }
}

void Session::tell(Running& running, const Job::News& news) {
  for (const Job::Progress& each : news.progress) {
    // The protocol wants rising numbers; phases each begin at nought.
    if (running.call.progress_token.is_null()) break;
    running.shown = std::max(each.fraction, running.shown + 1e-6);
    Json params = {{"progressToken", running.call.progress_token}, {"progress", running.shown}};
    if (m_dialect.progress_text) params["message"] = each.text;
    m_send(notification("notifications/progress", std::move(params)));
  }
  // Without a greeting a request that names no level wants no lines.
  const int most = m_dialect.enveloped ? running.call.level.value_or(k_info + 1) : m_level;
  if (most > k_info) return;
  for (const std::string& line : news.log)
    m_send(notification("notifications/message",
                        {{"level", "info"}, {"logger", "ako"}, {"data", shorten(line, 1000)}}));
}

void Session::finish(Running& running, const base::Expected<Json>& outcome) {
  if (running.cancelled) {
    // The client has let go of it; in a list the others' answers still come.
    if (running.call.asker.batch) done(running.call.asker.batch);
    return;
  }
  if (running.call.tool != nullptr)
    return result(running.call.asker, tool_result(outcome, running));
  if (!outcome) {
    const bool missing = outcome.error().kind != base::ErrorKind::internal;
    const bool resource = running.call.method == "resources/read" && !m_dialect.enveloped;
    const int code = !missing ? k_internal : resource ? k_not_found : k_invalid_params;
    return error(running.call.asker, rpc_error(code, outcome.error()));
  }
  if (running.call.method == "resources/list")
    return result(running.call.asker, {{"resources", *outcome}});
  result(running.call.asker, *outcome);
}

Json Session::tool_result(const base::Expected<Json>& outcome, const Running& running) {
  if (!outcome)
    return sized("error: " + outcome.error().text(), error_envelope(outcome.error()), true,
                 k_brief_bytes);
  Json envelope = base::get_or<Json>(*outcome, "envelope", Json::object());
  const std::string text = base::get_or<std::string>(*outcome, "text", "");
  const bool failed = !envelope["error"].is_null();
  return sized(text, std::move(envelope), failed,
               running.call.detail == Detail::full ? k_full_bytes : k_brief_bytes);
}

Json Session::sized(const std::string& text, Json structured, bool failed, std::size_t bytes) {
  static const std::vector<std::string> k_whole = {"exit", "outcome", "fault", "error", "more"};
  const std::string short_text =
      bytes > k_brief_bytes ? shorten(text, bytes / 2) : shorten(text, k_text_bytes);
  bytes -= stamp_bytes();
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
  for (auto at = m_queue.begin(); at != m_queue.end();) {
    if (how == Farewell::let_readers_end && at->reads()) {
      ++at;
      continue;
    }
    error(at->asker, ends("this call had not begun"));
    at = m_queue.erase(at);
  }
  for (Running& running : m_jobs) {
    if (running.call.reads() && how == Farewell::let_readers_end) continue;
    running.job.stop(k_stop_seconds);
  }
}

void Session::abandon() {
  for (const Call& call : m_queue) error(call.asker, ends("this call had not begun"));
  m_queue.clear();
  for (const Running& running : m_jobs)
    if (!running.cancelled)
      error(running.call.asker, ends("this call was ended before it came to an answer"));
    else if (running.call.asker.batch) done(running.call.asker.batch);
  m_jobs.clear();
}

} // namespace ako::mcp
