#include "workspace/extract_python.hpp"

#include "base/hash.hpp"
#include "base/installed.hpp"
#include "base/json.hpp"
#include "base/process.hpp"
#include "base/python.hpp"

#include <fmt/format.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;
namespace fs = base::fs;

namespace {

constexpr double k_seconds = 60;

Expected<Json> ask_python(const fs::path& repository, const std::string& path,
                          const ExtractRequest& request, const std::string& origin) {
  AKO_TRY(const fs::path script, base::find_installed("python/ako_worker/extract.py"));
  base::CommandOptions command;
  command.argv = {base::own_python().program,
                  "-B",
                  script.string(),
                  repository.string(),
                  path,
                  request.symbol,
                  request.kernel,
                  origin};
  command.deadline = base::Deadline::after_seconds(k_seconds);
  command.capture_bytes = 64u << 20;
  const auto missing = [&](const std::string& found) {
    return fail(ErrorKind::environment, "a Python file is read by Python, and it did not do it",
                {.where = command.argv[0],
                 .found = found,
                 .allowed = "CPython 3.10 or newer",
                 .next = "install one, or name one in AKO_PYTHON"});
  };
  auto result = base::run_command(command);
  if (!result) return missing(result.error().text());
  if (!result->ok()) return missing(result->ending.text() + ": " + result->err.substr(0, 300));
  auto answer = base::parse_json(result->out, "extract.py");
  if (!answer) return missing(result->out.substr(0, 300));
  const auto refused = base::get<Json>(*answer, "error");
  if (!refused) return std::move(*answer);
  return fail(ErrorKind::invalid, base::get_or<std::string>(*refused, "message", "refused"),
              {.where = fmt::format("{}::{}", path, request.symbol),
               .found = base::get_or<std::string>(*refused, "found", ""),
               .allowed = "one function that is defined in this file",
               .next = base::get_or<std::string>(*refused, "next", "")});
}

std::vector<std::string> strings(const Json& object, const char* key) {
  std::vector<std::string> out;
  for (const auto& each : base::get_or<Json>(object, key, Json::array()))
    if (each.is_string()) out.push_back(each.get<std::string>());
  return out;
}

} // namespace

bool is_python_file(const std::string& path) { return path.ends_with(".py"); }

Expected<Extracted> extract_python(const fs::path& repository, const ExtractRequest& request) {
  AKO_TRY_STATUS(base::resolve_inside(repository, request.path));
  const std::string path = fs::path(request.path).lexically_normal().generic_string();
  Extracted out;
  out.lane = model::Lane::triton;
  record_origin(repository, out);
  ExtractRequest named = request;
  if (named.kernel.empty()) named.kernel = request.symbol;
  out.kernel = named.kernel;
  const std::string origin = out.origin + (out.commit.empty() ? "" : " at " + out.commit);
  AKO_TRY(const Json answer, ask_python(repository, path, named, origin));
  out.function.name = out.function.qualified =
      base::get_or<std::string>(answer, "function", request.symbol);
  out.function.line = static_cast<int>(base::get_or<std::int64_t>(answer, "line", 0));
  out.questions = strings(answer, "questions");
  out.unresolved = strings(answer, "needs");
  out.left_out = strings(answer, "left_out");
  std::string table = fmt::format("# Where this kernel comes from\n\n- repository: {}\n- commit: "
                                  "{}\n- function: {} in {}:{}\n\n| file | "
                                  "sha256 |\n|---|---|\n",
                                  out.origin, out.commit.empty() ? "not under git" : out.commit,
                                  base::get_or<std::string>(answer, "signature", request.symbol),
                                  path, out.function.line);
  for (const auto& file : base::get_or<Json>(answer, "files", Json::array())) {
    const auto name = base::get_or<std::string>(file, "path", "");
    const auto text = base::get_or<std::string>(file, "text", "");
    for (const char* root : {"solution/", "input/"})
      out.files.push_back({root + name, text, false});
    table += fmt::format("| {} | {} |\n", name, base::sha256(text));
  }
  out.files.push_back({"context/origin.md", std::move(table), false});
  out.files.push_back({"task.toml", base::get_or<std::string>(answer, "toml", ""), false});
  return out;
}

} // namespace ako::workspace
