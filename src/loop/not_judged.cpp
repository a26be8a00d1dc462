#include "loop/not_judged.hpp"

#include <fmt/format.h>

namespace ako::loop {

namespace {

/// A closely compared output below float64 that the reference does not know any better.
std::string judged_by_its_equal(const model::Contract& contract) {
  if (contract.reference.precision != model::ErrorPrecision::native) return {};
  for (const auto& tensor : contract.tensors) {
    if (tensor.role != model::TensorRole::out || tensor.compare != model::Compare::close) continue;
    for (const auto dtype : model::dtypes_of(contract, tensor))
      if (model::class_of(dtype) == model::DtypeClass::floating && dtype != model::Dtype::float64)
        return tensor.name;
  }
  return {};
}

} // namespace

std::vector<std::string> not_judged(const model::Contract& contract) {
  std::vector<std::string> out;
  const std::string lane = model::to_string(contract.kernel.lane);
  const auto say = [&](const std::string& what, const char* meanwhile) {
    out.push_back(
        fmt::format("{} is declared, not judged on this lane ({}): {}", what, lane, meanwhile));
  };
  if (contract.kernel.batch_invariant)
    say("kernel.batch_invariant", "no row is called in batches of different size and compared");
  // A graph is captured only where its clock decides.
  const bool host = contract.kernel.lane == model::Lane::cpu;
  if (contract.kernel.capturable && (host || contract.accept.clock != model::Clock::graph))
    say("kernel.capturable",
        host ? "the host captures nothing" : "accept.clock = \"graph\" would capture every call");
  for (const auto& tensor : contract.tensors)
    if (tensor.address == model::AddressRule::fresh)
      say("address = \"fresh\" of tensor " + tensor.name,
          "calls go through the sets of buffers in turn, whatever is declared");
  if (const std::string name = judged_by_its_equal(contract); !name.empty())
    out.push_back(fmt::format(
        "the reference works in the precision of its output \"{}\": what it errs by is allowed to "
        "the kernel as well, twice the tolerance of a wider one; reference.precision = \"float64\"",
        name));
  for (const auto& tunable : contract.tunables)
    say("tunable " + tunable.name, "nothing searches its values; the sources say which is used");
  return out;
}

} // namespace ako::loop
