#include "model/artifact.hpp"

#include "model/enum_names.hpp"

#include <climits>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

namespace {

Expected<Json> list_at(const Json& json, std::string_view key) {
  AKO_TRY(Json value, base::get<Json>(json, key));
  if (!value.is_array())
    return fail(
        ErrorKind::invalid, "must be a list",
        {.where = std::string(key), .found = value.type_name(), .allowed = "array", .next = {}});
  return value;
}

Expected<int> place(const Json& json, std::string_view key) {
  AKO_TRY(const std::int64_t value, base::get<std::int64_t>(json, key));
  if (value < 0 || value > INT_MAX)
    return fail(ErrorKind::invalid, "not a place in a file",
                {.where = std::string(key),
                 .found = std::to_string(value),
                 .allowed = "0 to 2147483647",
                 .next = {}});
  return static_cast<int>(value);
}

Expected<CompilerMessage> message_from(const Json& json) {
  CompilerMessage message;
  AKO_TRY(message.file, base::get<std::string>(json, "file"));
  AKO_TRY(message.line, place(json, "line"));
  AKO_TRY(message.column, place(json, "column"));
  AKO_TRY(message.severity, base::get<std::string>(json, "severity"));
  AKO_TRY(message.text, base::get<std::string>(json, "text"));
  AKO_TRY(message.source_line, base::get<std::string>(json, "source_line"));
  return message;
}

} // namespace

Json to_json(const Snapshot& snapshot) {
  Json files = Json::array();
  for (const SourceFile& each : snapshot.files)
    files.push_back({{"path", each.path}, {"hash", each.hash}, {"bytes", each.bytes}});
  return Json{
      {"hash", snapshot.hash}, {"git_tree", snapshot.git_tree}, {"files", std::move(files)}};
}

Expected<Snapshot> snapshot_from_json(const Json& json) {
  Snapshot snapshot;
  AKO_TRY(snapshot.hash, base::get<std::string>(json, "hash"));
  AKO_TRY(snapshot.git_tree, base::get<std::string>(json, "git_tree"));
  AKO_TRY(const Json files, list_at(json, "files"));
  for (const Json& each : files) {
    SourceFile file;
    AKO_TRY(file.path, base::get<std::string>(each, "path"));
    AKO_TRY(file.hash, base::get<std::string>(each, "hash"));
    AKO_TRY(file.bytes, base::get<std::int64_t>(each, "bytes"));
    snapshot.files.push_back(std::move(file));
  }
  return snapshot;
}

Json to_json(const Artifact& artifact) {
  Json messages = Json::array();
  for (const CompilerMessage& each : artifact.messages)
    messages.push_back({{"file", each.file},
                        {"line", each.line},
                        {"column", each.column},
                        {"severity", each.severity},
                        {"text", each.text},
                        {"source_line", each.source_line}});
  return Json{{"snapshot", artifact.snapshot},
              {"library_hash", artifact.library_hash},
              {"library_path", artifact.library_path},
              {"cache_key", artifact.cache_key},
              {"compile_line", artifact.compile_line},
              {"compiler_identity", artifact.compiler_identity},
              {"messages", std::move(messages)},
              {"build_seconds", base::number_or_null(artifact.build_seconds)},
              {"from_cache", artifact.from_cache},
              {"resources", artifact.resources}};
}

Expected<Artifact> artifact_from_json(const Json& json) {
  Artifact artifact;
  AKO_TRY(artifact.snapshot, base::get<std::string>(json, "snapshot"));
  AKO_TRY(artifact.library_hash, base::get<std::string>(json, "library_hash"));
  AKO_TRY(artifact.library_path, base::get<std::string>(json, "library_path"));
  AKO_TRY(artifact.cache_key, base::get<std::string>(json, "cache_key"));
  AKO_TRY(artifact.compile_line, base::get<std::string>(json, "compile_line"));
  AKO_TRY(artifact.compiler_identity, base::get<std::string>(json, "compiler_identity"));
  AKO_TRY(const Json messages, list_at(json, "messages"));
  for (const Json& each : messages) {
    AKO_TRY(CompilerMessage message, message_from(each));
    artifact.messages.push_back(std::move(message));
  }
  AKO_TRY(artifact.build_seconds, base::get<double>(json, "build_seconds"));
  AKO_TRY(artifact.from_cache, base::get<bool>(json, "from_cache"));
  AKO_TRY(artifact.resources, base::get<Json>(json, "resources"));
  return artifact;
}

Json to_json(const LaunchSpec& spec) {
  Json environment = Json::object();
  for (const auto& [name, value] : spec.environment) environment[name] = value;
  return Json{{"lane", to_string(spec.lane)},          {"label", spec.label},
              {"library_path", spec.library_path},     {"library_hash", spec.library_hash},
              {"has_prepare", spec.has_prepare},       {"has_plan", spec.has_plan},
              {"environment", std::move(environment)}, {"host", spec.host},
              {"read_paths", spec.read_paths},         {"keep_dir", spec.keep_dir}};
}

namespace {

base::Status read_words(const Json& json, const char* key, std::vector<std::string>& into) {
  for (const Json& each : base::get_or<Json>(json, key, Json::array())) {
    if (!each.is_string())
      return fail(ErrorKind::invalid, "not a list of words",
                  {.where = key, .found = each.type_name(), .allowed = "strings", .next = {}});
    into.push_back(each.get<std::string>());
  }
  return {};
}

} // namespace

Expected<LaunchSpec> launch_spec_from_json(const Json& json) {
  LaunchSpec spec;
  AKO_TRY(const std::string lane, base::get<std::string>(json, "lane"));
  const auto known = lane_from(lane);
  if (!known)
    return fail(ErrorKind::invalid, "unknown lane",
                {.where = "lane", .found = lane, .allowed = enum_list<Lane>(), .next = {}});
  spec.lane = *known;
  AKO_TRY(spec.label, base::get<std::string>(json, "label"));
  AKO_TRY(spec.library_path, base::get<std::string>(json, "library_path"));
  AKO_TRY(spec.library_hash, base::get<std::string>(json, "library_hash"));
  AKO_TRY(spec.has_prepare, base::get<bool>(json, "has_prepare"));
  AKO_TRY(spec.has_plan, base::get<bool>(json, "has_plan"));
  AKO_TRY(const Json environment, base::get<Json>(json, "environment"));
  if (!environment.is_object())
    return fail(ErrorKind::invalid, "environment must be a table",
                {.where = "environment",
                 .found = environment.type_name(),
                 .allowed = "object",
                 .next = {}});
  for (const auto& [name, value] : environment.items()) {
    if (!value.is_string())
      return fail(ErrorKind::invalid, "an environment variable must be text",
                  {.where = name, .found = value.type_name(), .allowed = "string", .next = {}});
    spec.environment[name] = value.get<std::string>();
  }
  AKO_TRY_STATUS(read_words(json, "host", spec.host));
  AKO_TRY_STATUS(read_words(json, "read_paths", spec.read_paths));
  spec.keep_dir = base::get_or<std::string>(json, "keep_dir", {});
  return spec;
}

} // namespace ako::model
