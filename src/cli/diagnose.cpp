#include "profiles/diagnose.hpp"
#include "base/fs.hpp"
#include "cli/command.hpp"
#include "profiles/code_report.hpp"
#include "profiles/delta.hpp"
#include "profiles/file_kind.hpp"
#include "profiles/source_page.hpp"

namespace ako::cli {
namespace {

base::Status add_source(const std::filesystem::path& path, model::DiagnosisReport& report) {
  AKO_TRY(std::string text, base::read_file(path, std::uint64_t(1) << 30));
  AKO_TRY(auto source, profiles::read_source_page(text, path.string()));
  profiles::add_source_lines(source, report);
  return {};
}

/// Texts about code: disassembly, PTX, resource reports, compute-sanitizer, debuggers. None: it is
/// no such text.
base::Expected<std::optional<Reply>> code_reply(const Context& context, const Arguments& arguments,
                                                const std::filesystem::path& file) {
  AKO_TRY(profiles::FileKind kind, profiles::kind_of_file(file));
  if (kind != profiles::FileKind::text) return std::optional<Reply>();
  AKO_TRY(std::string text, base::read_file(file, profiles::k_most_csv));
  auto code = profiles::read_code_text(text, file.string());
  if (!code) return std::optional<Reply>();
  if (!*code) return tl::unexpected(code->error());
  Reply reply;
  reply.data = profiles::to_json(**code);
  if (auto against = arguments.maybe("against")) {
    AKO_TRY(std::filesystem::path earlier, named_file(*against, context.dir));
    AKO_TRY(std::string old_text, base::read_file(earlier, profiles::k_most_csv));
    auto before = profiles::read_code_text(old_text, earlier.string());
    if (!before)
      return base::fail(base::ErrorKind::invalid, "the earlier file is of another kind",
                        {.where = earlier.string(),
                         .found = {},
                         .allowed = "what the first file is",
                         .next = "make both with the same tool"});
    if (!*before) return tl::unexpected(before->error());
    AKO_TRY(profiles::CodeDelta delta, profiles::code_delta(**before, **code));
    reply.data["delta"] = profiles::to_json(delta);
    reply.text = "against " + *against + "\n" + profiles::to_text(delta) + "\n";
  }
  reply.text += profiles::to_text(**code);
  return std::optional<Reply>(std::move(reply));
}

base::Expected<Reply> run_diagnose(const Context& context, const Arguments& arguments) {
  profiles::DiagnoseOptions options;
  options.lane = arguments.text("lane");
  options.kernel = arguments.text("kernel");
  if (arguments.has("c-locale")) options.locale = profiles::RunLocale::c;
  AKO_TRY(std::filesystem::path file, named_file(arguments.text("file"), context.dir));
  AKO_TRY(std::optional<Reply> code, code_reply(context, arguments, file));
  if (code) return std::move(*code);
  AKO_TRY(profiles::SavedProfile saved, profiles::read_profile(file, options));
  if (auto source = arguments.maybe("source")) {
    AKO_TRY(std::filesystem::path page, named_file(*source, context.dir));
    AKO_TRY_STATUS(add_source(page, saved.report));
  }
  Reply reply;
  reply.data = model::to_json(saved.report);
  if (auto against = arguments.maybe("against")) {
    AKO_TRY(std::filesystem::path earlier, named_file(*against, context.dir));
    AKO_TRY(profiles::SavedProfile before, profiles::read_profile(earlier, options));
    const profiles::Delta delta =
        profiles::delta_of(before.report, saved.report, before.kernels, saved.kernels);
    reply.data["delta"] = profiles::to_json(delta);
    reply.text = "against " + *against + "\n" + profiles::to_text(delta) + "\n";
    reply.warnings = delta.notes;
  }
  reply.text += profiles::to_text(saved.report);
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
    "that could win at most. With --against, what moved since an earlier capture.\n"
    "Disassembly of cuobjdump or nvdisasm, PTX, and reports of ptxas: instruction mix, widths,\n"
    "tensor and TMA use, spills, lines; with --against what the compiler changed. Output of\n"
    "compute-sanitizer and of cuda-gdb: faults with their source lines.",
    {{"file", "the saved profile"}},
    {{"kernel", "TEXT", "only kernels whose name holds this"},
     {"lane", "LANE", "only moves of this lane: cuda, cutlass, triton, cute-dsl"},
     {"against", "FILE", "an earlier capture: which findings went, which came, what moved"},
     {"source", "FILE", "ncu's source page as CSV: findings name their hottest lines"},
     {"c-locale", "", "the file was printed with LC_ALL=C: commas separate thousands",
      Arity::flag}},
    {"ako diagnose capture.raw.csv", "ako diagnose capture.raw.csv --kernel gemm --json",
     "ako diagnose after.raw.csv --against before.raw.csv",
     "ako diagnose capture.raw.csv --source capture.source.csv",
     "ako diagnose new.sass --against old.sass"},
    run_diagnose};

} // namespace ako::cli
