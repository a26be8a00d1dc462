#include "cli/command.hpp"
#include "cli/whole.hpp"
#include "report/text/words.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {

int exit_code(const base::Error& error) {
  switch (error.kind) {
  case base::ErrorKind::usage:
  case base::ErrorKind::invalid: return 2;
  case base::ErrorKind::environment:
  case base::ErrorKind::unsupported:
  case base::ErrorKind::io:
  case base::ErrorKind::timeout: return 3;
  case base::ErrorKind::refused: return 4;
  case base::ErrorKind::stale: return 14;
  case base::ErrorKind::interrupted: return 130;
  case base::ErrorKind::internal: return 70;
  }
  return 70;
}

namespace {

const char* fault_of(base::ErrorKind kind) {
  switch (kind) {
  case base::ErrorKind::usage:
  case base::ErrorKind::invalid:
  case base::ErrorKind::refused:
  case base::ErrorKind::unsupported: return "task";
  case base::ErrorKind::internal: return "ako";
  case base::ErrorKind::interrupted: return "none";
  default: return "machine";
  }
}

/// What is allowed, where all that is known is the kind.
const char* allowed_of(base::ErrorKind kind) {
  switch (kind) {
  case base::ErrorKind::usage: return "the words that --help shows";
  case base::ErrorKind::invalid: return "what docs/task-toml.md describes";
  case base::ErrorKind::environment:
  case base::ErrorKind::unsupported: return "a machine that has it: ako doctor";
  case base::ErrorKind::io: return "a place that can be read and written";
  case base::ErrorKind::timeout: return "an end in time";
  case base::ErrorKind::refused: return "what is on record already";
  case base::ErrorKind::stale: return "the bytes that are on record";
  case base::ErrorKind::interrupted: return "";
  case base::ErrorKind::internal: return "no such state: this is a bug in ako";
  }
  return "";
}

std::string next_of(base::ErrorKind kind, const std::string& command) {
  switch (kind) {
  case base::ErrorKind::environment:
  case base::ErrorKind::unsupported: return "ako doctor says what is there and what is missing";
  case base::ErrorKind::io: return "mend what is named, then run the same command again";
  case base::ErrorKind::timeout:
  case base::ErrorKind::interrupted: return "run the same command again";
  case base::ErrorKind::stale: return "ako verify";
  case base::ErrorKind::internal: return "report it with the command and this message";
  default: return command.empty() ? "ako --help" : "ako " + command + " --help";
  }
}

base::Json error_json(const base::Error& error) {
  return {{"kind", base::to_string(error.kind)},
          {"message", error.message},
          {"where", error.where},
          {"found", error.found},
          {"allowed", error.allowed},
          {"next", error.next}};
}

} // namespace

base::Error whole(base::Error error, const std::string& command) {
  if (error.where.empty()) error.where = command.empty() ? "ako" : "ako " + command;
  if (error.allowed.empty()) error.allowed = allowed_of(error.kind);
  if (error.next.empty()) error.next = next_of(error.kind, command);
  return error;
}

std::string closing_text(const base::Error& error) {
  const std::pair<const char*, const std::string*> parts[] = {{"where:", &error.where},
                                                              {"found:", &error.found},
                                                              {"allowed:", &error.allowed},
                                                              {"next:", &error.next}};
  std::string text = error.message + "\n";
  for (const auto& [name, said] : parts)
    if (!said->empty()) text += fmt::format("  {:<8} {}\n", name, *said);
  return text;
}

std::string printable(std::string_view text) {
  const auto harmless = [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t'; };
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto end =
        std::find_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; });
    const std::string_view part(text.data(), static_cast<std::size_t>(end - text.begin()));
    if (std::all_of(part.begin(), part.end(), harmless)) out += part;
    else out += report::printable(part);
    if (end != text.end()) out += *end;
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return out;
}

base::Json envelope(const std::string& command, const base::Expected<Reply>& reply, int exit) {
  base::Json out = {{"schema", 1}, {"command", command}, {"exit", exit}};
  if (reply) {
    out["outcome"] = reply->outcome ? base::Json(model::to_string(*reply->outcome)) : base::Json();
    model::Fault fault = reply->fault     ? *reply->fault
                         : reply->outcome ? model::default_fault(*reply->outcome)
                                          : model::Fault::none;
    out["fault"] = model::to_string(fault);
    out["data"] = reply->data;
    out["error"] = reply->error ? error_json(whole(*reply->error, command)) : base::Json();
    out["warnings"] = reply->warnings;
  } else {
    out["outcome"] = base::Json();
    out["fault"] = fault_of(reply.error().kind);
    out["data"] = base::Json();
    out["error"] = error_json(whole(reply.error(), command));
    out["warnings"] = base::Json::array();
  }
  return out;
}

} // namespace ako::cli
