#include "lanes/registry.hpp"

#include "lanes/cpu/driver.hpp"
#include "lanes/cuda/driver.hpp"
#include "lanes/cuda/resources.hpp"
#include "lanes/cute_dsl/driver.hpp"
#include "lanes/cutlass/driver.hpp"
#include "lanes/triton/driver.hpp"

#include <unistd.h>

extern char** environ;

namespace ako::lanes {

std::string label_of(Role role, const std::string& baseline) {
  switch (role) {
  case Role::candidate: return "candidate";
  case Role::incumbent: return "incumbent";
  case Role::reference: return "reference";
  case Role::baseline: return "baseline:" + baseline;
  }
  return "candidate";
}

Surroundings Surroundings::of_this_process(model::CommandRunner runner, base::fs::path memo_dir) {
  Surroundings around{
      .environment = {}, .runner = std::move(runner), .memo_dir = std::move(memo_dir)};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos)
      around.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return around;
}

const std::vector<const LaneDriver*>& all_lanes() {
  static const cpu::Driver s_cpu;
  static const cuda::Driver s_cuda;
  static const cutlass::Driver s_cutlass;
  static const triton::Driver s_triton;
  static const cute_dsl::Driver s_cute_dsl;
  static const std::vector<const LaneDriver*> s_all = {&s_cpu, &s_cuda, &s_cutlass, &s_triton,
                                                       &s_cute_dsl};
  return s_all;
}

std::string resource_text(const base::Json& report) {
  if (!report.is_object()) return {};
  return report.contains("python") ? triton::resource_text(report) : cuda::resource_text(report);
}

base::Expected<const LaneDriver*> find_lane(model::Lane lane) {
  std::string there;
  for (const auto* driver : all_lanes()) {
    if (driver->lane() == lane) return driver;
    there += (there.empty() ? "" : ", ") + std::string(model::to_string(driver->lane()));
  }
  return base::fail(base::ErrorKind::unsupported, "this build of ako has no such lane",
                    {.where = "kernel.lane",
                     .found = model::to_string(lane),
                     .allowed = there,
                     .next = "choose one of these, or use a build that has the lane"});
}

} // namespace ako::lanes
