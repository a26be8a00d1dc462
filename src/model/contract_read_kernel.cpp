#include "model/contract_read.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::model {

using base::Status;

namespace {

/// "ns::rmsnorm<float>" gives "rmsnorm".
std::string last_part(std::string symbol) {
  symbol = symbol.substr(0, symbol.find('<'));
  const std::size_t end = symbol.find_last_of(":.");
  return end == std::string::npos ? symbol : symbol.substr(end + 1);
}

Status read_rules(const Section& section, Kernel& kernel) {
  AKO_TRY_STATUS(section.read("in_place", kernel.in_place));
  AKO_TRY_STATUS(section.read("deterministic", kernel.deterministic));
  AKO_TRY_STATUS(section.read("batch_invariant", kernel.batch_invariant));
  AKO_TRY_STATUS(section.read("capturable", kernel.capturable));
  AKO_TRY_STATUS(section.read_enum("library_calls", kernel.library_calls));
  AKO_TRY_STATUS(section.read_enum("precision", kernel.precision));
  return section.read_enum("workload", kernel.workload);
}

Status check_architectures(const Section& section, const Kernel& kernel) {
  for (std::size_t i = 0; i < kernel.architectures.size(); ++i) {
    const std::string& each = kernel.architectures[i];
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '.';
    };
    const bool device = kernel.lane == Lane::cpu || each.starts_with("sm_");
    if (device && std::all_of(each.begin(), each.end(), plain)) continue;
    return section.error_at(section.node("architectures")->items[i], "architectures",
                            fmt::format("'{}' is not an architecture", each),
                            kernel.lane == Lane::cpu ? "a word such as x86-64-v3"
                                                     : "sm_80, sm_90a, ...");
  }
  return {};
}

/// A word for the reading list: what is judged does not depend on it, so it is checked and not
/// kept.
Status check_family(const Section& section) {
  std::string family;
  AKO_TRY_STATUS(section.read("family", family));
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (std::all_of(family.begin(), family.end(), plain)) return {};
  return section.error("family", fmt::format("'{}' is no family of kernels", family),
                       "a word in small letters, such as gemm; `ako refs` lists them");
}

} // namespace

Status read_kernel(const Reading& reading) {
  Kernel& kernel = reading.contract.kernel;
  AKO_TRY(const Section section, table_section(reading, "kernel"));
  AKO_TRY_STATUS(section.known_keys_only());
  AKO_TRY_STATUS(section.read_enum("lane", kernel.lane));
  AKO_TRY_STATUS(read_entry(section, kernel.lane, kernel.entry));
  kernel.name = last_part(kernel.entry.symbol);
  AKO_TRY_STATUS(section.read("name", kernel.name));
  AKO_TRY_STATUS(check_identifier(section, "name"));
  AKO_TRY_STATUS(read_paths(section, "sources", kernel.lane, kernel.sources));
  AKO_TRY_STATUS(read_paths(section, "include_dirs", kernel.lane, kernel.include_dirs));
  AKO_TRY_STATUS(section.read("flags", kernel.flags));
  AKO_TRY_STATUS(section.read("compiler", kernel.compiler));
  AKO_TRY_STATUS(section.read("architectures", kernel.architectures));
  AKO_TRY_STATUS(check_architectures(section, kernel));
  AKO_TRY_STATUS(section.read("call_sites", kernel.call_sites));
  AKO_TRY_STATUS(check_family(section));
  AKO_TRY_STATUS(section.read("prepare", kernel.prepare));
  AKO_TRY_STATUS(check_symbol(section, "prepare", kernel.prepare, kernel.lane));
  AKO_TRY_STATUS(section.read("plan", kernel.plan));
  AKO_TRY_STATUS(check_symbol(section, "plan", kernel.plan, kernel.lane));
  AKO_TRY_STATUS(section.read("args", kernel.args));
  return read_rules(section, kernel);
}

Status read_reference(const Reading& reading) {
  ReferenceSpec& reference = reading.contract.reference;
  AKO_TRY(const Section section, table_section(reading, "reference"));
  AKO_TRY_STATUS(section.known_keys_only());
  reference.lane = lane_of_entry(section, reading.contract.kernel.lane);
  AKO_TRY_STATUS(section.read_enum("lane", reference.lane));
  AKO_TRY_STATUS(read_entry(section, reference.lane, reference.entry));
  AKO_TRY_STATUS(section.read("flags", reference.flags));
  return section.read_enum("precision", reference.precision);
}

Status read_baselines(const Reading& reading) {
  AKO_TRY(const auto list, sections(reading.file, reading.root, "baseline"));
  for (const Section& section : list) {
    BaselineSpec baseline;
    AKO_TRY_STATUS(section.known_keys_only());
    AKO_TRY_STATUS(section.require("name"));
    AKO_TRY_STATUS(section.read("name", baseline.name));
    AKO_TRY_STATUS(check_identifier(section, "name"));
    for (const BaselineSpec& other : reading.contract.baselines)
      if (other.name == baseline.name)
        return section.error("name", "two baselines have one name", "a name of its own");
    baseline.lane = lane_of_entry(section, reading.contract.kernel.lane);
    AKO_TRY_STATUS(section.read_enum("lane", baseline.lane));
    AKO_TRY_STATUS(read_entry(section, baseline.lane, baseline.entry));
    AKO_TRY_STATUS(read_paths(section, "sources", baseline.lane, baseline.sources));
    AKO_TRY_STATUS(section.read("flags", baseline.flags));
    AKO_TRY_STATUS(section.read("kind", baseline.kind));
    if (baseline.kind != "found" && baseline.kind != "library")
      return section.error("kind", fmt::format("unknown kind '{}'", baseline.kind),
                           "found, library", did_you_mean(baseline.kind, {"found", "library"}));
    reading.contract.baselines.push_back(std::move(baseline));
  }
  return {};
}

} // namespace ako::model
