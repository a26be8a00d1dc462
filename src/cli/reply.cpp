#include "cli/command.hpp"

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

base::Json error_json(const base::Error& error) {
  return {{"kind", base::to_string(error.kind)},
          {"message", error.message},
          {"where", error.where},
          {"found", error.found},
          {"allowed", error.allowed},
          {"next", error.next}};
}

} // namespace

base::Json envelope(const std::string& command, const base::Expected<Reply>& reply, int exit) {
  base::Json out = {{"schema", 1}, {"command", command}, {"exit", exit}};
  if (reply) {
    out["outcome"] = reply->outcome ? base::Json(model::to_string(*reply->outcome)) : base::Json();
    model::Fault fault = reply->fault     ? *reply->fault
                         : reply->outcome ? model::default_fault(*reply->outcome)
                                          : model::Fault::none;
    out["fault"] = model::to_string(fault);
    out["data"] = reply->data;
    out["error"] = base::Json();
    out["warnings"] = reply->warnings;
  } else {
    out["outcome"] = base::Json();
    out["fault"] = fault_of(reply.error().kind);
    out["data"] = base::Json();
    out["error"] = error_json(reply.error());
    out["warnings"] = base::Json::array();
  }
  return out;
}

} // namespace ako::cli
