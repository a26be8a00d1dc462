// What nvcc said of templates, in words: the first cause, and where the candidate asked for it.
#include "lanes/cuda/plan.hpp"
#include "lanes/cutlass/driver.hpp"
#include "lanes/cutlass/words.hpp"
#include "lanes/native/unit.hpp"

#include <fmt/format.h>

namespace ako::lanes::cutlass {

namespace {

/// As find_tool wrote it into the toolchain's identity.
std::string version_of(const model::BuildPlan& plan) {
  constexpr std::string_view k_key = "| CUTLASS ";
  const std::size_t at = plan.tool_identity.find(k_key);
  if (at == std::string::npos) return "of no known version";
  const std::size_t begin = at + k_key.size();
  return plan.tool_identity.substr(begin, plan.tool_identity.find(' ', begin) - begin);
}

/// The explanation names the candidate's own line that instantiated what failed, and where the rest
/// of the words is.
void point_to_source(BuildResult& result) {
  if (!result.error || result.messages.empty() || result.messages[0].file.empty()) return;
  const auto& first = result.messages[0];
  const std::string place = fmt::format("{}:{}", first.file, first.line);
  if (result.error->where.find(place) != std::string::npos) return;
  result.error->where =
      result.error->where.empty() ? place : fmt::format("{}, from {}", place, result.error->where);
}

} // namespace

BuildResult Driver::read(const BuildRequest& request, const model::BuildPlan& plan,
                         const model::BuildRun& run) const {
  const std::string version = version_of(plan);
  bool explained = false;
  const auto words = [&](const std::string& said) {
    auto error = explain(said, version);
    explained = error.has_value();
    return error;
  };
  BuildResult result = cuda::read_in(lane(), words, request, plan, run);
  for (auto& message : result.messages) message.text = shortened(message.text);
  if (result.error) {
    if (explained) {
      point_to_source(result);
      if (!result.log_path.empty())
        result.error->next +=
            fmt::format("; everything the compiler said is in {}", result.log_path);
    }
    result.error->found = shortened(result.error->found);
    result.outcome.reason = shortened(result.outcome.reason);
  }
  if (!result.artifact) return result;
  const auto unit = native::unit_of(request);
  for (auto& notice : notices(request.sources, unit ? unit->flags : std::vector<std::string>()))
    result.messages.push_back(std::move(notice));
  result.artifact->messages = result.messages;
  return result;
}

} // namespace ako::lanes::cutlass
