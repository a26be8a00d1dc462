#include "loop/ahead.hpp"

#include "evaluation/blocks.hpp"
#include "evaluation/correctness.hpp"
#include "evaluation/failures.hpp"
#include "lanes/cuda/resources.hpp"

#include <algorithm>

namespace ako::loop {
namespace {

using model::Side;

/// The interpreter walks over programs one by one.
constexpr std::int64_t k_interpreted_bytes = 1ll << 20;

/// Registers and spills as the image's own headers have them: without a device nobody else knows.
void add_image_facts(base::Json& kernel, const base::fs::path& keep) {
  const auto file = base::get_or<std::string>(kernel, "cubin_file", {});
  if (file.empty()) return;
  const auto image = base::read_file(keep / file);
  if (!image) return;
  for (const auto& facts : lanes::cuda::read_images(*image)) {
    if (facts.mangled != base::get_or<std::string>(kernel, "kernel", {})) continue;
    kernel["registers"] = facts.registers;
    kernel["stack_bytes"] = std::max(0, facts.stack_bytes);
    kernel["code_bytes"] = facts.code_bytes;
  }
}

} // namespace

bool compiles_at_run(const Built& side) { return !side.spec.keep_dir.empty(); }

base::Expected<AheadReport> compile_ahead(const workspace::Workdir& workdir,
                                          const model::Contract& contract,
                                          const std::vector<model::ResolvedShape>& shapes,
                                          const Built& side, const std::string& architecture) {
  evaluation::ChildStageOptions options;
  options.contract = &contract;
  options.task_dir = workdir.task();
  options.candidate = side.spec;
  options.candidate->environment["AKO_COMPILE_FOR"] = architecture;
  AKO_TRY(auto stage, evaluation::make_child_stage(options));
  AheadReport out{side.artifact.resources, std::nullopt};
  if (auto loaded = stage->load(Side::candidate); !loaded) {
    out.trouble = evaluation::outcome_of(loaded.error(), Side::candidate, "");
    return out;
  }
  for (const auto& shape : shapes) {
    AKO_TRY_STATUS(stage->open(shape, 1, 0));
    auto called = stage->call(Side::candidate, 0);
    if (called) continue;
    out.trouble = evaluation::outcome_of(called.error(), Side::candidate, shape.tag);
    return out;
  }
  const auto compiled = stage->compiled(Side::candidate);
  for (const auto& [key, value] : compiled.items()) out.resources[key] = value;
  if (out.resources.contains("compiled"))
    for (auto& kernel : out.resources["compiled"]) add_image_facts(kernel, side.spec.keep_dir);
  return out;
}

base::Expected<InterpretReport> judge_interpreted(const workspace::Workdir& workdir,
                                                  const model::Contract& contract,
                                                  const std::vector<model::ResolvedShape>& shapes,
                                                  const Sides& given,
                                                  const std::vector<inputs::Recipe>& recipes) {
  Sides sides = given;
  for (Built* side : {&sides.candidate, &sides.incumbent}) {
    side->spec.environment["TRITON_INTERPRET"] = "1";
    side->spec.keep_dir.clear(); // nothing is compiled: nothing may be started either
  }
  std::vector<model::ResolvedShape> small;
  for (const auto& shape : shapes)
    if (shape.bytes <= static_cast<double>(k_interpreted_bytes)) small.push_back(shape);
  for (const auto& one : model::edge_shapes(contract, k_interpreted_bytes))
    if (auto shape = model::resolve(contract, one)) small.push_back(std::move(*shape));
  InterpretReport out;
  if (small.empty()) return out;
  auto setup = set_up(workdir, contract, small, sides, recipes, Scope::contract_shapes, Target{});
  AKO_TRY(auto stage, setup.make_stage());
  for (const Side side : {Side::candidate, Side::incumbent, Side::reference}) {
    if (!stage->has(side)) continue;
    if (auto loaded = stage->load(side); !loaded) {
      out.trouble = evaluation::outcome_of(loaded.error(), side, "");
      return out;
    }
  }
  AKO_TRY(auto judged, evaluation::judge_candidate(*stage, setup.request, {},
                                                   evaluation::draw_seed(), "interpreted"));
  for (const auto& shape : small) out.shapes.push_back(shape.tag);
  out.trouble = judged.ended;
  return out;
}

} // namespace ako::loop
