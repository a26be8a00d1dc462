#include "profiles/diagnose.hpp"
#include "cli/command.hpp"

namespace ako::cli {
namespace {

base::Expected<Reply> run(const Context& context, const Arguments& arguments) {
  AKO_TRY(std::filesystem::path path, named_file(arguments.text("file"), context.dir));
  profiles::DiagnoseOptions options;
  options.lane = arguments.text("lane");
  options.kernel = arguments.text("kernel");
  AKO_TRY(model::DiagnosisReport report, profiles::diagnose_file(path, options));
  Reply reply;
  reply.text = profiles::to_text(report);
  reply.data = model::to_json(report);
  return reply;
}

} // namespace

extern const Command k_diagnose{
    "diagnose",
    "name what limits a kernel, from a saved profile",
    "Nsight Compute CSV (raw or details page), Nsight Systems CSV or sqlite, torch-profiler "
    "traces.\n"
    "Needs no GPU. The cause comes first, with the numbers that prove it, what to try next and "
    "what\n"
    "that could win at most.",
    {{"file", "the saved profile"}},
    {{"kernel", "TEXT", "only kernels whose name holds this"},
     {"lane", "LANE", "only moves of this lane: cuda, cutlass, triton, cute-dsl"}},
    {"ako diagnose capture.raw.csv", "ako diagnose capture.raw.csv --kernel gemm --json"},
    run};

} // namespace ako::cli
