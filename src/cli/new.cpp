#include "cli/command.hpp"
#include "ledger/writer.hpp"
#include "loop/environment.hpp"
#include "workspace/create.hpp"
#include "workspace/extract.hpp"
#include "workspace/workdir.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

struct Start {
  std::vector<model::SourceText> files;
  std::string kernel, origin;
  std::string lane;
  std::vector<std::string> questions, unresolved, left_out;
};

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
  out.lane = arguments.text("lane", "cpu");
  AKO_TRY(out.files, workspace::starting_files(out.lane, name));
  out.kernel = name;
  out.origin = "template " + out.lane;
  return out;
}

base::Expected<Reply> run(const Context& context, const Arguments& arguments) {
  const std::string name = arguments.text("name");
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
    {{"name", "folder and task name"}},
    {{"from", "REPO:path::symbol", "extract a C++ or CUDA kernel with the local includes it needs"},
     {"include", "DIR", "folder inside REPO that is searched for includes", Arity::many},
     {"lane", "LANE", "starting task of this lane (default cpu)"}},
    {"ako new rmsnorm", "ako new softmax --lane cuda",
     "ako new rms --from ../vllm:csrc/layernorm_kernels.cu::vllm::rms_norm_kernel",
     "ako new rmsnorm --from ../llm:src/norm.cpp::rms_norm",
     "ako -C ~/kernels new softmax --from ../engine:csrc/softmax.cpp::eng::softmax --include "
     "include"},
    run};

} // namespace ako::cli
