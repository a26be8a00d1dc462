#include "cli/command.hpp"
#include "guides/templates.hpp"
#include "ledger/writer.hpp"
#include "loop/environment.hpp"
#include "model/nearest.hpp"
#include "workspace/create.hpp"
#include "workspace/extract.hpp"
#include "workspace/workdir.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::cli {
namespace {

struct Start {
  std::vector<model::SourceText> files;
  std::string kernel, origin;
  std::string lane;
  std::vector<std::string> questions, unresolved, left_out;
};

base::Expected<Start> from_template(const std::string& id, const std::string& name) {
  AKO_TRY(const std::vector<guides::Template> all, guides::load_templates());
  std::vector<std::string> ids;
  for (const auto& one : all) {
    ids.push_back(one.id);
    if (one.id != id) continue;
    Start out;
    out.lane = one.lane;
    AKO_TRY(out.files, workspace::starting_files(id, name));
    out.kernel = name;
    out.origin = "template " + id;
    return out;
  }
  return base::fail(base::ErrorKind::usage, "there is no such template",
                    {.where = "--template",
                     .found = id,
                     .allowed = model::join(ids),
                     .next = model::did_you_mean(id, ids)});
}

base::Expected<Start> starting_point(const Arguments& arguments, const std::string& name) {
  Start out;
  if (auto from = arguments.maybe("from")) {
    AKO_TRY(workspace::ExtractRequest request, workspace::parse_from(*from));
    request.kernel = name;
    request.include_dirs = arguments.all("include");
    AKO_TRY(workspace::Extracted extracted, workspace::extract_kernel(request));
    out.files = std::move(extracted.files);
    out.kernel = extracted.kernel;
    out.origin = *from;
    out.questions = std::move(extracted.questions);
    out.unresolved = std::move(extracted.unresolved);
    out.left_out = std::move(extracted.left_out);
    out.lane = model::to_string(extracted.lane);
    return out;
  }
  if (const auto id = arguments.maybe("template")) return from_template(*id, name);
  out.lane = arguments.text("lane", "cpu");
  AKO_TRY(out.files, workspace::starting_files(out.lane, name));
  out.kernel = name;
  out.origin = "template " + out.lane;
  return out;
}

/// The templates that there are, instead of a task.
base::Expected<Reply> list_templates(const Arguments& arguments) {
  AKO_TRY(const std::vector<guides::Template> all, guides::load_templates());
  const auto lane = arguments.maybe("lane");
  if (lane) {
    AKO_TRY(const auto lanes, workspace::starting_lanes());
    if (std::find(lanes.begin(), lanes.end(), *lane) == lanes.end())
      return workspace::no_such_lane(*lane, lanes);
  }
  Reply reply;
  base::Json list = base::Json::array();
  std::size_t width = 0;
  for (const auto& one : all) width = std::max(width, one.id.size());
  for (const auto& one : all) {
    if (lane && *lane != one.lane) continue;
    reply.text += fmt::format("{:<{}}  {}\n", one.id, width, one.title);
    list.push_back({{"id", one.id},
                    {"title", one.title},
                    {"lane", one.lane},
                    {"families", one.families},
                    {"guides", one.guides},
                    {"findings", one.findings}});
  }
  if (list.empty())
    reply.text = fmt::format("lane {} has its starting task alone: ako new NAME --lane {}\n",
                             lane.value_or("cpu"), lane.value_or("cpu"));
  else reply.text += "ako new NAME --template ID\n";
  reply.data = {{"templates", std::move(list)}};
  return reply;
}

base::Expected<Reply> run_new(const Context& context, const Arguments& arguments) {
  if (arguments.has("templates")) return list_templates(arguments);
  const std::string name = arguments.text("name");
  if (name.empty())
    return base::fail(base::ErrorKind::usage, "a task needs a name",
                      {.where = "ako new",
                       .found = "no name",
                       .allowed = "a name, or --templates",
                       .next = "ako new NAME"});
  AKO_TRY(Start start, starting_point(arguments, name));
  workspace::CreateRequest request;
  request.base_dir = context.dir;
  request.name = name;
  request.files = start.files;
  AKO_TRY(workspace::Created created, workspace::create_task(request));
  AKO_TRY(workspace::Workdir workdir, workspace::Workdir::at(created.task));
  AKO_TRY(base::fs::path path, workdir.ledger());
  AKO_TRY(ledger::Writer writer, ledger::Writer::open(path, ledger::Open::create));
  ledger::TaskCreated event{name, start.kernel, start.lane, start.origin, loop::k_ako_version};
  AKO_TRY_STATUS(writer.append(event).map([](const auto&) {}));
  Reply reply;
  reply.text = fmt::format("task {} on branch {}\n", created.task.string(), created.branch);
  for (const auto& file : created.files) reply.text += "  " + file + "\n";
  if (!start.questions.empty()) {
    reply.text += "only you can answer, in task.toml:\n";
    for (const auto& question : start.questions) reply.text += "  " + question + "\n";
  }
  for (const auto& include : start.unresolved)
    reply.warnings.push_back("include not found in the repository, taken as the system's: " +
                             include);
  for (const auto& thing : start.left_out)
    reply.warnings.push_back("left out, as neither the repository nor the CUDA toolkit has it: " +
                             thing);
  reply.text += fmt::format("next: ako -C {} check\n", created.task.string());
  reply.data = {{"task", created.task.string()}, {"branch", created.branch},
                {"commit", created.commit},      {"in_ako4all", created.in_ako4all},
                {"files", created.files},        {"questions", start.questions},
                {"left_out", start.left_out},    {"lane", start.lane},
                {"origin", start.origin}};
  return reply;
}

} // namespace

extern const Command k_new{
    "new",
    "make a task: a folder with contract, input, solution and a record",
    "With an AKO4ALL checkout in the folder the task is a worktree beside it on a branch "
    "ako/NAME;\n"
    "otherwise a git repository of its own. Nothing that exists is touched; no network is used.",
    {{"name", "folder and task name", Arity::one, false}},
    {{"from", "REPO:path::symbol", "extract a C++ or CUDA kernel with the local includes it needs"},
     {"include", "DIR", "folder inside REPO that is searched for includes", Arity::many},
     {"lane", "LANE", "starting task of this lane (default cpu)"},
     {"template", "ID",
      "kernel template to start from: contract, reference, baseline, kernel, note"},
     {"templates", "", "list the kernel templates (of --lane) and make nothing", Arity::flag}},
    {"ako new rmsnorm", "ako new softmax --lane cuda", "ako new --templates",
     "ako new norm --template cuda/norm",
     "ako new rms --from ../vllm:csrc/layernorm_kernels.cu::vllm::rms_norm_kernel",
     "ako new rmsnorm --from ../llm:src/norm.cpp::rms_norm",
     "ako -C ~/kernels new softmax --from ../engine:csrc/softmax.cpp::eng::softmax --include "
     "include"},
    run_new};

} // namespace ako::cli
