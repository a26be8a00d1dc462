// From built sides to an evaluation request, and from its report to figures for the record.
#pragma once

#include "evaluation/child_stage.hpp"
#include "evaluation/evaluate.hpp"
#include "loop/builds.hpp"
#include "loop/target.hpp"

namespace ako::loop {

/// The sides of one evaluation. `incumbent` is what stands against the candidate.
struct Sides {
  Built candidate, incumbent;
  std::optional<Built> reference;
  std::string against; ///< label of the incumbent for reports
};

struct Evaluation {
  evaluation::Request request;
  evaluation::StageFactory make_stage;
  std::uint64_t hidden_seed = 0; ///< the hidden shapes were drawn from it
};

enum class Scope { whole, contract_shapes }; ///< whole: edge and hidden shapes are judged as well

/// `hidden_seed`: of a judgement that is to be seen again; otherwise one is drawn.
Evaluation set_up(const workspace::Workdir& workdir, const model::Contract& contract,
                  const std::vector<model::ResolvedShape>& shapes, const Sides& sides,
                  const std::vector<inputs::Recipe>& recipes, Scope scope, const Target& target,
                  std::optional<std::uint64_t> hidden_seed = std::nullopt);

/// Edge shapes that are judged beside the contract's own.
std::vector<model::ShapeCase> judged_edges(const model::Contract& contract);
/// Shapes that are judged and that `hidden_seed` draws.
std::vector<model::ShapeCase> judged_hidden(const model::Contract& contract,
                                            std::uint64_t hidden_seed);

/// p50, p95 and mean per shape of one side's samples.
std::vector<ledger::ShapeFigure> figures(const model::Samples& samples,
                                         const std::vector<model::ResolvedShape>& shapes,
                                         model::Side side);
ledger::HowTaken how_taken(const evaluation::Report& report, const Target& target);

/// What the candidate compiled while it ran becomes part of its artifact's resources.
void note_compiled(const evaluation::Report& report, Built& candidate);

/// "M=4096 H=4096", "bfloat16" for reports.
std::string shape_text(const model::ResolvedShape& shape);
std::string dtype_text(const model::ResolvedShape& shape);

/// The host's ceilings for floors, where `ako calibrate` measured them; zeros otherwise.
judge::Ceilings calibrated_ceilings();

} // namespace ako::loop
