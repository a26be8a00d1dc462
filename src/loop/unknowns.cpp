#include "loop/unknowns.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {
namespace {

bool is_library(const model::BaselineSpec& baseline) { return baseline.kind == "library"; }

/// What an index tensor holds decides how a kernel's memory is touched: made-up indices are a
/// guess.
bool is_made_up_index(const model::Tensor& tensor) {
  using model::Fill;
  return tensor.role == model::TensorRole::in &&
         (tensor.fill.kind == Fill::index || tensor.fill.kind == Fill::offsets ||
          tensor.fill.kind == Fill::permutation);
}

bool all_alike(const std::vector<model::ShapeCase>& shapes) {
  return std::all_of(shapes.begin(), shapes.end(),
                     [&](const auto& shape) { return shape.weight == shapes.front().weight; });
}

} // namespace

std::string library_trouble(const model::Contract& contract, const ScopeFacts& facts) {
  if (!facts.no_library.empty()) return {};
  if (std::any_of(contract.baselines.begin(), contract.baselines.end(), is_library)) return {};
  return "no baseline is the fastest known library, and nobody said why there is none";
}

std::vector<Unknown> unknowns(const model::Contract& contract, const ScopeFacts& facts) {
  std::vector<Unknown> out;
  if (!facts.hot)
    out.push_back({"is this kernel hot, and what would it win end to end?",
                   "ako scope --trace FILE, or --share PERCENT --source TEXT"});
  if (!facts.recorded && contract.shapes.size() > 1 && all_alike(contract.shapes))
    out.push_back({"how often does production call each of the shapes?",
                   "ako scope --calls FILE; weight in [[shape]]"});
  if (!facts.recorded && contract.shapes.size() == 1)
    out.push_back({"is this the one shape that production calls?",
                   "ako scope --calls FILE; further [[shape]] tables"});
  if (contract.kernel.call_sites.empty())
    out.push_back({"where is it called in production?",
                   "ako scope --sites REPO::SYMBOL; call_sites in [kernel]"});
  for (const auto& tensor : contract.tensors)
    if (is_made_up_index(tensor))
      out.push_back({fmt::format("what does tensor {} hold in production?", tensor.name),
                     "record it, and fill = { kind = \"recorded\", file = ... }"});
  if (const std::string trouble = library_trouble(contract, facts); !trouble.empty())
    out.push_back({"what is the fastest library that does this, or why is there none?",
                   "[[baseline]] with kind = \"library\", or ako scope --no-library \"why\""});
  return out;
}

base::Expected<ScopeFacts> scope_facts(ledger::Reader& reader) {
  ScopeFacts out;
  AKO_TRY(const auto profiles, reader.all<ledger::Profile>());
  out.hot = std::any_of(profiles.begin(), profiles.end(),
                        [](const auto& each) { return each.payload.tool == "scope"; });
  AKO_TRY(const auto notes, reader.all<ledger::Note>());
  for (const auto& each : notes) {
    out.recorded = out.recorded || each.payload.author == "ako scope";
    if (each.payload.topic == k_no_library) out.no_library = each.payload.text;
  }
  return out;
}

} // namespace ako::loop
