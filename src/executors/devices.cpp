#include "executors/devices.hpp"

#include <charconv>
#include <fmt/format.h>

namespace ako::executors {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

namespace {

constexpr double k_ask_seconds = 60;

std::string text_of(const Json& object, std::string_view key) {
  return base::get_or<std::string>(object, key, {});
}

std::string listed(const Inventory& inventory) {
  std::string text;
  for (std::size_t i = 0; i < inventory.devices.size(); ++i)
    text += fmt::format("{}{} = {} ({}{})", i == 0 ? "" : ", ", i, inventory.devices[i].uuid,
                        inventory.devices[i].name, inventory.devices[i].visible ? "" : ", hidden");
  return text;
}

std::optional<std::size_t> index_in(const std::string& word) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole ? std::optional(index) : std::nullopt;
}

tl::unexpected<base::Error> no_device(const Inventory& inventory) {
  const bool hidden = !inventory.devices.empty();
  return fail(
      ErrorKind::environment, "no CUDA device to run on",
      {.where = "device",
       .found = hidden ? "CUDA_VISIBLE_DEVICES hides all: " + listed(inventory) : inventory.problem,
       .allowed = "a device that the driver shows",
       .next = hidden ? "unset CUDA_VISIBLE_DEVICES, or name one of these in it"
                      : inventory.remedy + (inventory.remedy.empty() ? "" : "; ") +
                            "without a device: ako check --build-only"});
}

} // namespace

Expected<Inventory> inventory_from_json(const Json& json) {
  Inventory out;
  if (!json.is_object() || !json.contains("devices") || !json["devices"].is_array())
    return fail(ErrorKind::environment, "the list of devices is no such list",
                {.where = "ako-child devices",
                 .found = base::dump_json(json).substr(0, 200),
                 .allowed = "{\"devices\": [...], \"problem\": ...}",
                 .next = "use ako and ako-child of one build"});
  for (const auto& each : json["devices"]) {
    Device device{text_of(each, "uuid"),         text_of(each, "name"),
                  text_of(each, "pci"),          text_of(each, "architecture"),
                  text_of(each, "compute_mode"), base::get_or<bool>(each, "visible", true)};
    if (device.uuid.empty() || !device.architecture.starts_with("sm_"))
      return fail(ErrorKind::environment, "a device without UUID or architecture",
                  {.where = "ako-child devices",
                   .found = base::dump_json(each).substr(0, 200),
                   .allowed = {},
                   .next = "use ako and ako-child of one build"});
    out.devices.push_back(std::move(device));
  }
  const Json problem = base::get_or<Json>(json, "problem", Json());
  if (problem.is_object()) {
    out.problem = text_of(problem, "what");
    if (const auto found = text_of(problem, "found"); !found.empty()) out.problem += ": " + found;
    out.remedy = text_of(problem, "next");
  }
  if (out.devices.empty() && out.problem.empty()) out.problem = "the driver shows no device";
  return out;
}

Expected<Inventory> ask_inventory(const base::fs::path& program,
                                  const model::CommandRunner& runner) {
  base::CommandOptions options;
  options.argv = {program.string(), "devices"};
  options.deadline = base::Deadline::after_seconds(k_ask_seconds);
  AKO_TRY(const auto result, runner(options));
  if (!result.ok())
    return fail(ErrorKind::environment, "the devices could not be listed",
                {.where = program.string() + " devices",
                 .found = result.timed_out ? fmt::format("no answer within {} s", k_ask_seconds)
                                           : fmt::format("{}: {}", result.ending.text(),
                                                         (result.err + result.out).substr(0, 300)),
                 .allowed = {},
                 .next = "ako doctor; a driver that hangs needs the machine's administrator"});
  AKO_TRY(const Json json, base::parse_json(result.out, "ako-child devices"));
  return inventory_from_json(json);
}

Expected<Device> choose_device(const Inventory& inventory, const std::optional<std::string>& wish) {
  const auto usable = [&](const Device& device) -> Expected<Device> {
    if (device.compute_mode == "prohibited")
      return fail(ErrorKind::refused, "the device lets nobody compute",
                  {.where = device.uuid,
                   .found = "compute mode prohibited",
                   .allowed = "default, exclusive process",
                   .next = "choose another with --device, or ask its administrator"});
    if (device.visible) return device;
    return fail(ErrorKind::refused, "CUDA_VISIBLE_DEVICES hides this device",
                {.where = "--device",
                 .found = device.uuid,
                 .allowed = listed(inventory),
                 .next = "unset CUDA_VISIBLE_DEVICES, or add the device to it"});
  };
  if (!wish) {
    for (const auto& device : inventory.devices)
      if (device.visible && device.compute_mode != "prohibited") return device;
    return no_device(inventory);
  }
  if (inventory.devices.empty()) return no_device(inventory);
  if (const auto index = index_in(*wish); index && *index < inventory.devices.size())
    return usable(inventory.devices[*index]);
  std::vector<const Device*> fitting;
  for (const auto& device : inventory.devices)
    if (!wish->empty() && device.uuid.starts_with(*wish)) fitting.push_back(&device);
  if (fitting.size() == 1) return usable(*fitting[0]);
  return fail(ErrorKind::usage, fitting.empty() ? "no such device" : "several devices begin so",
              {.where = "--device",
               .found = *wish,
               .allowed = listed(inventory),
               .next = "name an index of `ako doctor`, a UUID, or enough of its beginning"});
}

std::string lease_name(const Device& device) { return "gpu-" + device.uuid; }

} // namespace ako::executors
