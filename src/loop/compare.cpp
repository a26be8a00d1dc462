#include "loop/compare.hpp"

#include "base/cpp_scan.hpp"
#include "loop/contract_line.hpp"
#include "loop/environment.hpp"
#include "loop/recipes.hpp"
#include "model/contract_toml.hpp"
#include "workspace/snapshot.hpp"

#include <fmt/format.h>
#include <set>
#include <sstream>
#include <utility>

namespace ako::loop {
namespace {

using base::fs::path;

base::Status copy_with_includes(const path& file, const path& into, std::set<path>& done);

/// Modules and packages beside a Python file that it imports by name.
base::Status copy_imports(const path& file, const std::string& text, const path& into,
                          std::set<path>& done) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, name;
    words >> first >> name;
    if (first != "import" && first != "from") continue;
    name = name.substr(name.starts_with('.') ? 1 : 0);
    name = name.substr(0, name.find_first_of(".,;"));
    if (name.empty()) continue;
    const path module = file.parent_path() / (name + ".py"), package = file.parent_path() / name;
    std::error_code ignored;
    if (base::fs::is_regular_file(module, ignored))
      AKO_TRY_STATUS(copy_with_includes(module, into / (name + ".py"), done));
    if (!base::fs::is_regular_file(package / "__init__.py", ignored)) continue;
    AKO_TRY(const auto files, base::list_files(package));
    for (const auto& each : files)
      if (each.extension() == ".py")
        AKO_TRY_STATUS(copy_with_includes(package / each, into / name / each, done));
  }
  return {};
}

/// Copies a file and what it includes by quotes, or imports, from its own folder downwards, keeping
/// the layout.
base::Status copy_with_includes(const path& file, const path& into, std::set<path>& done) {
  if (!done.insert(into).second) return {};
  AKO_TRY(std::string text, base::read_file(file));
  AKO_TRY_STATUS(base::write_file_atomic(into, text));
  if (file.extension() == ".py") return copy_imports(file, text, into.parent_path(), done);
  for (const auto& include : base::find_includes(text)) {
    std::error_code ignored;
    const path below = file.parent_path() / include.name;
    if (!include.quoted || !base::fs::exists(below, ignored)) continue;
    const path name(include.name);
    if (name.is_absolute() || include.name.find("..") != std::string::npos)
      return base::fail(base::ErrorKind::invalid, "an include leads out of the file's folder",
                        {.where = fmt::format("{}:{}", file.string(), include.line),
                         .found = include.name,
                         .allowed = "quoted includes below the file's own folder",
                         .next = "make a task of it: ako new --from REPO:path::symbol"});
    AKO_TRY_STATUS(copy_with_includes(below, into.parent_path() / name, done));
  }
  return {};
}

/// Given by ako itself.
bool is_stream(const base::Parameter& parameter) {
  return parameter.type.find("cudaStream_t") != std::string::npos ||
         parameter.type.find("CUstream") != std::string::npos;
}

/// Whether one of the two files includes a header of CUTLASS or CuTe.
bool includes_cutlass(const CompareRequest& request) {
  for (const auto& file : {request.old_file, request.new_file})
    if (const auto text = base::read_file(file))
      for (const auto& include : base::find_includes(*text))
        if (include.name.starts_with("cutlass/") || include.name.starts_with("cute/")) return true;
  return false;
}

/// Whether one of the two Python files imports the CuTe DSL, whose module is cutlass.
bool imports_cute_dsl(const CompareRequest& request) {
  for (const auto& file : {request.old_file, request.new_file})
    if (const auto text = base::read_file(file)) {
      std::istringstream lines(*text);
      for (std::string line; std::getline(lines, line);)
        for (const char* start : {"import cutlass", "from cutlass"})
          if (line.starts_with(start)) return true;
    }
  return false;
}

/// The lane of the files, by the new one's name and what they include. What the cutlass lane builds
/// is more than what the cuda lane builds.
model::Lane lane_of(const CompareRequest& request) {
  if (request.lane) return *request.lane;
  const std::string ending = request.new_file.extension().string();
  if (ending == ".py")
    return imports_cute_dsl(request) ? model::Lane::cute_dsl : model::Lane::triton;
  if (ending != ".cu" && ending != ".cuh") return model::Lane::cpu;
  return includes_cutlass(request) ? model::Lane::cutlass : model::Lane::cuda;
}

/// "name(x: DTYPE[...], y: DTYPE[...]) @ M=..." of the last function of a Python file that is no
/// kernel: kernels stand before what launches them.
std::string suggest_python_line(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  bool decorated = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("@")) decorated = true;
    if (!line.starts_with("def ")) continue;
    const bool kernel = std::exchange(decorated, false);
    const auto open = line.find('('), close = line.find(')');
    if (kernel || open == std::string::npos || close == std::string::npos) continue;
    out = line.substr(4, open - 4) + "(";
    std::istringstream names(line.substr(open + 1, close - open - 1));
    for (std::string name; std::getline(names, name, ',');) {
      name = name.substr(std::min(name.find_first_not_of(' '), name.size()));
      out += fmt::format("{}{}: DTYPE[...]", out.ends_with('(') ? "" : ", ",
                         name.substr(0, name.find_first_of(":=")));
    }
    out += ") @ M=...";
  }
  return out;
}

/// What the user could type as a contract line, from the function that both files define.
std::string suggest_line(const path& old_file) {
  auto text = base::read_file(old_file);
  if (!text) return {};
  if (old_file.extension() == ".py") return suggest_python_line(*text);
  for (const auto& function : base::find_functions(*text)) {
    if (function.is_static || function.is_template || function.parameters.empty()) continue;
    if (function.returns.find("__global__") != std::string::npos ||
        function.returns.find("__device__") != std::string::npos)
      continue;
    std::string out = function.qualified + "(";
    for (const auto& parameter : function.parameters) {
      if (is_stream(parameter)) continue;
      if (!out.ends_with('(')) out += ", ";
      using Kind = base::Parameter::Kind;
      if (parameter.kind == Kind::pointer)
        out += fmt::format("{}: {}DTYPE[...]", parameter.name, parameter.is_const ? "" : "out ");
      else if (parameter.kind == Kind::floating)
        out += fmt::format("{}: float32=...", parameter.name);
      else out += parameter.name;
    }
    return out + ") @ M=...";
  }
  return {};
}

struct Prepared {
  std::optional<base::TemporaryDir> folder; ///< keeps the stand-in task alive
  std::optional<workspace::Workdir> workdir;
  model::Contract contract;
  std::string judged_by;
};

/// A task in a temporary folder: old/ and new/ with the two files, judge/ with the reference.
base::Expected<Prepared> prepare(const CompareRequest& request) {
  AKO_TRY(base::TemporaryDir folder, base::TemporaryDir::make("ako-compare"));
  const path root = folder.path();
  std::set<path> done;
  LineFiles files;
  files.lane = lane_of(request);
  files.baseline_file = "old/" + request.old_file.filename().string();
  files.entry_file = "solution/" + request.new_file.filename().string();
  AKO_TRY_STATUS(copy_with_includes(request.old_file, root / files.baseline_file, done));
  AKO_TRY_STATUS(copy_with_includes(request.new_file, root / files.entry_file, done));
  Prepared out;
  if (request.reference) {
    files.reference_file = "judge/" + request.reference->filename().string();
    files.precision = request.precision;
    AKO_TRY_STATUS(copy_with_includes(*request.reference, root / files.reference_file, done));
    out.judged_by = request.reference->filename().string();
  } else {
    files.reference_file = files.baseline_file;
    out.judged_by = "the old file, in its own precision";
  }
  if (!request.contract_line) {
    std::string line = suggest_line(request.old_file);
    return base::fail(
        base::ErrorKind::usage, "two files alone do not say what they are called with",
        {.where = "ako compare",
         .found = "no --contract, and no task.toml at or above here",
         .allowed = "--contract \"name(x: bfloat16[M,H], y: out bfloat16[M,H], M, H) "
                    "@ M=512 H=4096\"",
         .next = line.empty() ? "ako compare --help" : "fill in: --contract \"" + line + "\""});
  }
  AKO_TRY(const ExpandedLine expanded, expand_contract_line(*request.contract_line, files));
  AKO_TRY_STATUS(base::write_file_atomic(root / "task.toml", expanded.toml));
  AKO_TRY(workspace::Workdir workdir, workspace::Workdir::at(root));
  auto contract = model::load_contract(root);
  if (!contract)
    return tl::unexpected(
        expanded.told(std::move(contract).error(), (root / "task.toml").string()));
  out.contract = std::move(*contract);
  out.workdir.emplace(std::move(workdir));
  out.folder.emplace(std::move(folder));
  return out;
}

/// Inside a task: its contract, with the two files as incumbent and candidate.
base::Expected<Prepared> prepare_in_task(const CompareRequest& request,
                                         const workspace::Workdir& task) {
  AKO_TRY(base::TemporaryDir folder, base::TemporaryDir::make("ako-compare"));
  AKO_TRY(model::Contract contract, model::load_contract(task.task()));
  std::error_code error;
  for (const char* part : {"task.toml", "input", "solution", "include"})
    if (base::fs::exists(task.task() / part, error))
      base::fs::copy(task.task() / part, folder.path() / part, base::fs::copy_options::recursive,
                     error);
  if (error)
    return base::fail(
        base::ErrorKind::io, "could not copy the task",
        {.where = task.task().string(),
         .found = error.message(),
         .allowed = "a task whose files can be read, and room in the temporary folder",
         .next = "make them readable, or set TMPDIR to a folder with room"});
  std::set<path> done;
  AKO_TRY_STATUS(
      copy_with_includes(request.new_file, folder.path() / contract.kernel.entry.file, done));
  const std::string old_file = "old/" + request.old_file.filename().string();
  AKO_TRY_STATUS(copy_with_includes(request.old_file, folder.path() / old_file, done));
  contract.baselines = {model::BaselineSpec{}};
  contract.baselines[0].name = "old";
  contract.baselines[0].lane = contract.kernel.lane;
  contract.baselines[0].entry = {old_file, contract.kernel.entry.symbol};
  contract.baselines[0].flags = contract.kernel.flags;
  Prepared out;
  out.contract = std::move(contract);
  out.judged_by = out.contract.reference.entry.file;
  AKO_TRY(workspace::Workdir workdir, workspace::Workdir::at(folder.path()));
  out.workdir.emplace(std::move(workdir));
  out.folder.emplace(std::move(folder));
  return out;
}

void replace_word(std::string& text, std::string_view word, std::string_view by) {
  std::size_t at = 0;
  while ((at = text.find(word, at)) != std::string::npos) {
    const bool part = at > 0 && std::string_view(" '\"(").find(text[at - 1]) == std::string::npos;
    if (!part) text.replace(at, word.size(), by);
    at += part ? word.size() : by.size();
  }
}

/// An error of building, in the words of who named two files: the stand-in task and its keys are
/// nobody's business.
base::Error as_named(base::Error error, const CompareRequest& request, const Prepared& prepared) {
  const bool alike = request.old_file.filename() == request.new_file.filename();
  const auto name = [&](const path& file) {
    return alike ? file.string() : file.filename().string();
  };
  const std::string old_name = "old/" + request.old_file.filename().string();
  for (std::string* text : {&error.where, &error.message, &error.found, &error.allowed}) {
    replace_word(*text, prepared.contract.kernel.entry.file, name(request.new_file));
    replace_word(*text, old_name, name(request.old_file));
    if (!request.contract_line) continue;
    for (const char* folder : {"solution/", "old/", "judge/"}) replace_word(*text, folder, "");
  }
  if (request.contract_line && error.where == "entry.file") error.where = "ako compare";
  if (request.contract_line)
    for (const char* key : {"kernel.entry.symbol", "reference.entry.symbol",
                            "entry.symbol of its [[baseline]]", "kernel.args"})
      replace_word(error.next, key, "--contract");
  return error;
}

void note_resources(const Sides& sides, CompareResult& out) {
  out.old_resources = sides.incumbent.artifact.resources;
  out.new_resources = sides.candidate.artifact.resources;
  const auto code = [](const base::Json& report) {
    return base::get_or<std::string>(report, "code_hash", {});
  };
  const std::string old_code = code(out.old_resources);
  out.same_device_code = !out.identical && !old_code.empty() && old_code == code(out.new_resources);
}

} // namespace

base::Expected<CompareResult> compare_files(const CompareRequest& request) {
  std::optional<workspace::Workdir> task;
  if (!request.contract_line)
    if (auto found = workspace::Workdir::find(request.dir)) task.emplace(std::move(*found));
  AKO_TRY(Prepared prepared, task ? prepare_in_task(request, *task) : prepare(request));
  const model::Contract& contract = prepared.contract;
  AKO_TRY(std::vector<model::ResolvedShape> shapes, model::resolve_all(contract));
  AKO_TRY(const Target target, find_free_target(contract.kernel.lane, request.device));
  Builder builder(*prepared.workdir, contract, target.architecture());
  CompareResult out;
  out.judged_by = prepared.judged_by;
  Sides sides;
  auto old_side = begin_build([&] { return builder.baseline("old"); });
  auto judge = begin_build([&] { return builder.reference(); });
  auto new_side = builder.candidate();
  auto old_built = must_build(old_side.get());
  if (!old_built) return tl::unexpected(as_named(std::move(old_built).error(), request, prepared));
  sides.incumbent = std::move(*old_built);
  if (!new_side) return tl::unexpected(as_named(std::move(new_side).error(), request, prepared));
  BuildOutcome& candidate = *new_side;
  if (!candidate.built) {
    out.report.verdict.outcome = candidate.result.outcome;
    if (candidate.result.error)
      out.report.verdict.outcome.reason =
          as_named(*candidate.result.error, request, prepared).text();
    return out;
  }
  sides.candidate = std::move(*candidate.built);
  auto reference = must_build(judge.get());
  if (!reference) return tl::unexpected(as_named(std::move(reference).error(), request, prepared));
  sides.reference = std::move(*reference);
  sides.against = request.old_file.filename().string();
  out.build_seconds = sides.candidate.artifact.build_seconds;
  out.identical = sides.candidate.artifact.library_hash == sides.incumbent.artifact.library_hash;
  note_resources(sides, out);
  AKO_TRY(executors::Lease lease, take_lease(target));
  auto setup = set_up(*prepared.workdir, contract, shapes, sides, {inputs::Recipe::plain},
                      Scope::whole, target);
  AKO_TRY(out.report, evaluation::evaluate(setup.request, setup.make_stage));
  note_compiled(out.report, sides.candidate);
  out.new_resources = sides.candidate.artifact.resources;
  out.compare.old_name = request.old_file.filename().string();
  out.compare.new_name = request.new_file.filename().string();
  out.compare.old_snapshot = sides.incumbent.sources.snapshot.hash;
  out.compare.new_snapshot = sides.candidate.sources.snapshot.hash;
  out.compare.judged = true;
  out.compare.verdict = out.report.verdict;
  out.compare.how = how_taken(out.report, target);
  return out;
}

} // namespace ako::loop
