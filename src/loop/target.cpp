#include "loop/target.hpp"

#include "base/log.hpp"
#include "client/keeper.hpp"
#include "executors/runner.hpp"
#include "loop/environment.hpp"
#include "loop/interrupt.hpp"

#include <cstdlib>

namespace ako::loop {
namespace {

std::optional<std::string> effective(const std::optional<std::string>& wish) {
  if (wish) return wish;
  const char* variable = std::getenv("AKO_DEVICE");
  if (variable != nullptr && *variable != '\0') return std::string(variable);
  return std::nullopt;
}

base::Expected<executors::Inventory> inventory() {
  AKO_TRY(const base::fs::path program, client::find_child_program());
  return executors::ask_inventory(program, executors::local_runner());
}

bool is_free(const executors::Device& device) {
  executors::LeaseRequest request;
  request.device = executors::lease_name(device);
  request.deadline = base::Deadline::after_seconds(0);
  return executors::Lease::take(request).has_value();
}

} // namespace

std::string Target::name() const { return device ? device->name : host_facts().cpu; }

std::string Target::architecture() const { return device ? device->architecture : std::string(); }

std::optional<model::DeviceId> Target::id() const {
  if (!device) return std::nullopt;
  return model::DeviceId{device->uuid};
}

bool needs_device(model::Lane lane) { return lane != model::Lane::cpu; }

base::Expected<Target> find_target(model::Lane lane, const std::optional<std::string>& wish) {
  if (!needs_device(lane)) return Target{};
  AKO_TRY(const executors::Inventory all, inventory());
  AKO_TRY(executors::Device device, executors::choose_device(all, effective(wish)));
  return Target{std::move(device)};
}

base::Expected<Target> find_free_target(model::Lane lane, const std::optional<std::string>& wish) {
  if (!needs_device(lane)) return Target{};
  AKO_TRY(const executors::Inventory all, inventory());
  AKO_TRY(executors::Device first, executors::choose_device(all, effective(wish)));
  if (effective(wish) || is_free(first)) return Target{std::move(first)};
  for (const auto& other : all.devices)
    if (other.visible && other.compute_mode != "prohibited" && other.name == first.name &&
        is_free(other))
      return Target{other};
  return Target{std::move(first)};
}

base::Expected<executors::Lease> take_lease(const Target& target) {
  executors::LeaseRequest request;
  if (target.device) request.device = executors::lease_name(*target.device);
  request.on_wait = [](const std::string& sentence) { base::info("{}", sentence); };
  request.stop = [] { return interrupted(); };
  return executors::Lease::take(request);
}

} // namespace ako::loop
