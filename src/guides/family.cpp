// The kernel's family: as declared, else by its names, else by which axes go in and do not come
// out.
#include "guides/routing.hpp"
#include "model/nearest.hpp"
#include "model/toml_reader.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace ako::guides {
namespace {

/// "RmsNorm_rows2" gives "rms norm rows2": a word begins at a capital after a small letter.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> out(1);
  char before = '_';
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (!std::isalnum(u)) out.emplace_back();
    else {
      if (std::isupper(u) && std::islower(static_cast<unsigned char>(before))) out.emplace_back();
      out.back() += static_cast<char>(std::tolower(u));
    }
    before = c;
  }
  std::erase(out, std::string());
  return out;
}

/// A word of four letters and more may stand inside a part ("fusedsoftmax"); a shorter one is a
/// part. Words of several parts ("paged_attention") must follow one another.
bool names(const std::string& word, const std::vector<std::string>& parts) {
  const auto wanted = parts_of(word);
  for (std::size_t i = 0; i + wanted.size() <= parts.size(); ++i) {
    bool all = true;
    for (std::size_t j = 0; j < wanted.size() && all; ++j)
      all = wanted.size() == 1 && word.size() >= 4 ? parts[i + j].find(word) != std::string::npos
                                                   : parts[i + j] == wanted[j];
    if (all) return true;
  }
  return false;
}

std::optional<FamilyGuess> by_name(const Routing& routing, const std::string& name,
                                   const char* what) {
  const auto parts = parts_of(name);
  for (const Family& family : routing.families)
    for (const auto& word : family.words)
      if (names(word, parts))
        return FamilyGuess{family.id, fmt::format("'{}' in the {} '{}'", word, what, name)};
  return std::nullopt;
}

/// Names of the axes that the tensor's shape speaks of.
std::set<std::string> axes_of(const model::Contract& contract, const model::Tensor& tensor) {
  std::set<std::string> out;
  for (const auto& size : tensor.shape)
    for (const auto& name : size.names())
      if (model::find_axis(contract, name) != nullptr) out.insert(name);
  return out;
}

bool written(const model::Tensor& tensor) {
  return tensor.role == model::TensorRole::out || tensor.role == model::TensorRole::inout;
}

FamilyGuess by_shapes(const Routing& routing, const model::Contract& contract) {
  std::set<std::string> kept;
  for (const auto& tensor : contract.tensors)
    if (written(tensor)) kept.merge(axes_of(contract, tensor));
  std::map<std::string, std::vector<std::string>> lost; // axis: the inputs that have it
  bool equal = true;
  for (const auto& tensor : contract.tensors) {
    if (tensor.role != model::TensorRole::in) continue;
    const auto axes = axes_of(contract, tensor);
    equal = equal && axes == kept;
    for (const auto& axis : axes)
      if (kept.count(axis) == 0) lost[axis].push_back(tensor.name);
  }
  const auto known = routing.family_ids();
  const auto guess = [&](const char* id, std::string reason) {
    return std::find(known.begin(), known.end(), id) == known.end()
               ? FamilyGuess{"", std::move(reason)}
               : FamilyGuess{id, std::move(reason)};
  };
  for (const auto& [axis, inputs] : lost)
    if (inputs.size() > 1)
      return guess("gemm",
                   fmt::format("axis {} is in {} and in no output", axis, model::join(inputs)));
  for (const auto& [axis, inputs] : lost)
    return guess("reduction", fmt::format("axis {} of {} is in no output", axis, inputs.front()));
  if (equal && !kept.empty())
    return guess("elementwise", "inputs and outputs have the same axes, and no name says more");
  return {"", "neither a name nor the shapes tell; family = \"...\" in [kernel] would"};
}

} // namespace

base::Expected<FamilyGuess> family_of(const Routing& routing, const model::Contract& contract,
                                      const std::string& declared) {
  if (!declared.empty()) {
    const auto known = routing.family_ids();
    if (std::find(known.begin(), known.end(), declared) == known.end())
      return base::fail(base::ErrorKind::invalid, "there is no such family of kernels",
                        {.where = "task.toml: kernel.family",
                         .found = declared,
                         .allowed = model::join(known),
                         .next = model::did_you_mean(declared, known)});
    return FamilyGuess{declared, "as task.toml says"};
  }
  if (auto found = by_name(routing, contract.kernel.name, "name")) return *found;
  if (auto found = by_name(routing, contract.kernel.entry.symbol, "symbol")) return *found;
  if (auto found = by_name(routing, contract.kernel.entry.file, "file")) return *found;
  return by_shapes(routing, contract);
}

std::string declared_family(std::string_view task_toml) {
  const auto root = model::read_toml(task_toml, "task.toml");
  if (!root) return {};
  const auto* kernel = root->find("kernel");
  const auto* family = kernel ? kernel->find("family") : nullptr;
  return family ? family->text : std::string();
}

} // namespace ako::guides
