#include "loop/setup.hpp"
#include "loop/device_calibration.hpp"

#include "evaluation/blocks.hpp"

#include "base/log.hpp"
#include "loop/calibration.hpp"
#include "loop/environment.hpp"
#include "loop/interrupt.hpp"
#include "stats/summary.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace ako::loop {
namespace {

/// Edge and hidden shapes above this are left to the contract's own shapes.
constexpr std::int64_t k_edge_bytes = 32ll << 20;
constexpr std::int64_t k_narrow_elements = std::int64_t{1} << 31;
constexpr int k_hidden_shapes = 5;

std::vector<model::ResolvedShape> resolve_cases(const model::Contract& contract,
                                                const std::vector<model::ShapeCase>& cases) {
  std::vector<model::ResolvedShape> out;
  for (const auto& one : cases)
    if (auto shape = model::resolve(contract, one)) out.push_back(std::move(*shape));
  return out;
}

/// Custom fills are built, or found in the cache, when the stage is made.
evaluation::StageFactory with_fills(const workspace::Workdir& workdir,
                                    const model::Contract& contract,
                                    evaluation::ChildStageOptions options) {
  return [workdir, &contract,
          options = std::move(options)]() -> base::Expected<std::unique_ptr<evaluation::Stage>> {
    evaluation::ChildStageOptions with = options;
    AKO_TRY(const auto fills, Builder(workdir, contract).fills());
    for (const auto& fill : fills)
      if (!fill.library.empty()) with.custom_fills[fill.index] = fill.library;
    return evaluation::make_child_stage(with);
  };
}

/// What the limit leaves out: edges, and indices beyond 32 bits where the axes allow them.
std::vector<std::string> beyond_edges(const model::Contract& contract,
                                      const std::vector<model::ResolvedShape>& shapes) {
  const auto bytes_of = [](const model::ResolvedShape& shape) {
    std::int64_t sum = 0;
    for (const auto& tensor : shape.tensors) sum += tensor.bytes;
    return sum;
  };
  const auto is_wide = [](const model::ResolvedShape& shape) {
    return std::any_of(shape.tensors.begin(), shape.tensors.end(),
                       [](const auto& tensor) { return tensor.elements > k_narrow_elements; });
  };
  std::vector<std::string> out;
  bool wide = std::any_of(contract.axes.begin(), contract.axes.end(), [](const model::Axis& axis) {
    return axis.kind == model::Axis::Kind::var && axis.max == INT64_MAX;
  });
  for (const auto& edge : resolve_cases(contract, model::edge_shapes(contract, INT64_MAX))) {
    wide = wide || is_wide(edge);
    if (const auto bytes = bytes_of(edge); bytes > k_edge_bytes)
      out.push_back(fmt::format("{}: {} MiB, edges above {} MiB are not judged", edge.tag,
                                bytes >> 20, k_edge_bytes >> 20));
  }
  if (wide && std::none_of(shapes.begin(), shapes.end(), is_wide))
    out.push_back("tensors of more than 2^31 elements: the axes allow them, no [[shape]] has one");
  return out;
}

} // namespace

std::vector<model::ShapeCase> judged_edges(const model::Contract& contract) {
  return model::edge_shapes(contract, k_edge_bytes);
}

std::vector<model::ShapeCase> judged_hidden(const model::Contract& contract,
                                            std::uint64_t hidden_seed) {
  return model::hidden_shapes(contract, hidden_seed, k_hidden_shapes, k_edge_bytes);
}

Evaluation set_up(const workspace::Workdir& workdir, const model::Contract& contract,
                  const std::vector<model::ResolvedShape>& shapes, const Sides& sides,
                  const std::vector<inputs::Recipe>& recipes, Scope scope, const Target& target,
                  std::optional<std::uint64_t> hidden_seed) {
  Evaluation out;
  out.hidden_seed = hidden_seed ? *hidden_seed : evaluation::draw_seed();
  evaluation::Request& request = out.request;
  request.contract = &contract;
  request.shapes = shapes;
  if (scope == Scope::whole) {
    request.edges = resolve_cases(contract, judged_edges(contract));
    request.unproven = beyond_edges(contract, shapes);
    request.hidden = resolve_cases(contract, judged_hidden(contract, out.hidden_seed));
  }
  request.recipes = recipes;
  request.candidate_hash = sides.candidate.artifact.library_hash;
  request.incumbent_hash = sides.incumbent.artifact.library_hash;
  if (sides.reference) request.reference_hash = sides.reference->artifact.library_hash;
  request.judged = sides.reference.has_value();
  request.against = sides.against;
  request.second_opinion = contract.accept.second_opinion;
  if (!target.device) request.ceilings = calibrated_ceilings();
  // Faster than the datasheet's memory is impossible; a device that was never calibrated has no
  // floor.
  else if (const auto known = device_calibration(target.device->uuid))
    request.ceilings.memory_bytes_per_s = base::get_or<double>(*known, "datasheet_bytes_per_s", 0);
  if (scope == Scope::whole && request.ceilings.memory_bytes_per_s <= 0)
    request.unproven.push_back("whether times are possible at all: this machine was never "
                               "calibrated (ako calibrate), so no floor is known");
  request.stop = [] { return interrupted(); };
  request.progress = [](const std::string& phase, double fraction) {
    base::progress(fraction, phase);
  };
  evaluation::ChildStageOptions options;
  options.contract = &contract;
  options.task_dir = workdir.task();
  options.candidate = sides.candidate.spec;
  options.incumbent = sides.incumbent.spec;
  if (sides.reference) options.reference = sides.reference->spec;
  options.device = target.id();
  options.cache_dir = workspace::Workdir::cache_root() / "device";
  options.cores = measuring_cores(contract.limits.threads);
  out.make_stage = with_fills(workdir, contract, std::move(options));
  return out;
}

void note_compiled(const evaluation::Report& report, Built& candidate) {
  const auto side = base::get_or<base::Json>(report.loaded, "candidate", base::Json::object());
  const auto compiled = base::get_or<base::Json>(side, "compiled", base::Json::object());
  for (const auto& [key, value] : compiled.items()) candidate.artifact.resources[key] = value;
  const auto interpreter = base::get_or<base::Json>(side, "interpreter", base::Json::object());
  if (const auto ns = base::get_or<std::int64_t>(interpreter, "import_ns", 0); ns > 0)
    candidate.artifact.resources["import_ns"] = ns;
}

std::string shape_text(const model::ResolvedShape& shape) {
  std::string out;
  for (const auto& [name, value] : shape.axes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out;
}

std::string dtype_text(const model::ResolvedShape& shape) {
  std::set<std::string> kinds;
  for (const auto& tensor : shape.tensors) kinds.emplace(model::to_string(tensor.dtype));
  if (kinds.size() == 1) return *kinds.begin();
  std::string out;
  for (const auto& tensor : shape.tensors)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", tensor.name,
                       model::to_string(tensor.dtype));
  return out;
}

std::vector<ledger::ShapeFigure> figures(const model::Samples& samples,
                                         const std::vector<model::ResolvedShape>& shapes,
                                         model::Side side) {
  std::vector<ledger::ShapeFigure> out;
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    std::vector<double> times;
    for (const auto& row : samples.rows)
      if (row.shape == static_cast<int>(s) && row.side == side &&
          !(row.flags & model::sample_flag::disturbed) && row.device_ns > 0)
        times.push_back(row.device_ns);
    ledger::ShapeFigure figure;
    figure.tag = shapes[s].tag;
    figure.shape = shape_text(shapes[s]);
    figure.dtype = dtype_text(shapes[s]);
    figure.weight = shapes[s].weight;
    figure.samples = static_cast<std::int64_t>(times.size());
    if (!times.empty()) {
      figure.p50_ns = stats::median(times);
      figure.p95_ns = stats::quantile(times, 0.95);
      figure.mean_ns = stats::mean(times);
    }
    out.push_back(std::move(figure));
  }
  return out;
}

ledger::HowTaken how_taken(const evaluation::Report& report, const Target& target) {
  ledger::HowTaken out;
  out.clock = report.verdict.clock;
  out.cache = report.cache_state;
  out.statistic = report.verdict.statistic;
  out.device = target.name();
  out.iterations = report.calls;
  return out;
}

judge::Ceilings calibrated_ceilings() {
  auto found = load_calibration(host_facts());
  judge::Ceilings out;
  if (!found) return out;
  out.memory_bytes_per_s = found->memory_bytes_per_s;
  out.cache_bytes_per_s = found->cache_bytes_per_s;
  out.flops_per_s = found->flops_per_s;
  return out;
}

} // namespace ako::loop
