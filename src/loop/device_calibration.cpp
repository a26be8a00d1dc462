#include "loop/device_calibration.hpp"

#include "base/fs.hpp"
#include "base/process.hpp"
#include "client/keeper.hpp"
#include "workspace/workdir.hpp"

namespace ako::loop {
namespace {

constexpr double k_deadline_seconds = 120;

base::fs::path place_of_device(const std::string& uuid) {
  return workspace::Workdir::cache_root() / "calibration" / (uuid + ".json");
}

} // namespace

base::Expected<base::Json> calibrate_device(const executors::Device& device) {
  AKO_TRY(const auto program, client::find_child_program());
  base::CommandOptions options;
  options.argv = {program.string(), "calibrate", device.uuid,
                  (workspace::Workdir::cache_root() / "device").string()};
  options.deadline = base::Deadline::after_seconds(k_deadline_seconds);
  AKO_TRY(const auto result, base::run_command(options));
  if (!result.ok())
    return base::fail(base::ErrorKind::environment, "the device could not be calibrated",
                      {.where = device.uuid,
                       .found = result.timed_out ? "no answer in time" : result.err.substr(0, 600),
                       .next = "ako doctor"});
  AKO_TRY(const auto json, base::parse_json(result.out, "ako-child calibrate"));
  AKO_TRY_STATUS(
      base::write_file_atomic(place_of_device(device.uuid), base::dump_json(json, 2) + "\n"));
  return json;
}

std::optional<base::Json> device_calibration(const std::string& uuid) {
  const auto text = base::read_file(place_of_device(uuid), 1 << 20);
  if (!text) return std::nullopt;
  auto json = base::parse_json(*text, "calibration");
  if (!json || !json->is_object()) return std::nullopt;
  return std::move(*json);
}

} // namespace ako::loop
