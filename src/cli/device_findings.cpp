#include "base/json.hpp"
#include "base/process.hpp"
#include "cli/finding.hpp"
#include "client/keeper.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

namespace ako::cli {
namespace {

using base::Json;

constexpr double k_deadline_seconds = 30;

std::string text(const Json& object, const char* key) {
  return base::get_or<std::string>(object, key, "");
}
double number(const Json& object, const char* key) { return base::get_or<double>(object, key, 0); }

void add_libraries(const Json& libraries, std::vector<Finding>& out) {
  struct Use {
    const char *key, *what, *without;
  };
  constexpr Use k_uses[] = {
      {"cuda", "cuda driver", "no device can be used"},
      {"nvrtc", "nvrtc", "buffers cannot be filled and checked on a device: GPU lanes do not run"},
      {"cupti", "cupti", "calls are timed by events: about 2 us a call are added, intervals widen"},
      {"nvml", "nvml", "clocks, power and slow-downs are not watched"}};
  for (const auto& use : k_uses) {
    const auto library = base::get_or<Json>(libraries, use.key, Json::object());
    const auto path = text(library, "path");
    if (!path.empty()) out.push_back({use.what, "ok", path, ""});
    else
      out.push_back({use.what, "missing", text(library, "reason") + "; without it " + use.without,
                     text(library, "remedy")});
  }
}

std::string clocks(const Json& device) {
  const auto limits = base::get_or<Json>(device, "limits", Json::object());
  if (!limits.is_object()) return "not readable (no NVML)";
  const auto state = base::get_or<Json>(device, "state", Json::object());
  return fmt::format("SM {:.0f} of {:.0f} MHz, memory {:.0f} MHz, {:.0f} of {:.0f} W, {:.0f} C{}{}",
                     number(state, "sm_mhz"), number(limits, "sm_max_mhz"),
                     number(state, "memory_mhz"), number(state, "power_w"),
                     number(limits, "power_limit_w"), number(state, "temperature_c"),
                     text(state, "reason_words").empty() ? "" : ", ", text(state, "reason_words"));
}

void add_device(std::size_t index, const Json& device, std::vector<Finding>& out) {
  const auto limits = base::get_or<Json>(device, "limits", Json::object());
  const bool sharing = base::get_or<bool>(device, "memory_sharing", false);
  const auto mode = text(device, "compute_mode");
  const bool mig = limits.is_object() && base::get_or<bool>(limits, "mig", false);
  std::string detail = fmt::format(
      "{}, {}\n    PCI {}, {}, {:.0f} SMs, {:.0f} GiB, L2 {:.0f} MiB, CUDA {}, driver {}\n    {}\n"
      "    compute mode {}, MIG {}, shared memory between processes: {}",
      text(device, "name"), text(device, "uuid"), text(device, "pci"), text(device, "architecture"),
      number(device, "sm_count"), number(device, "memory_bytes") / (1 << 30),
      number(device, "l2_bytes") / (1 << 20), text(device, "cuda"),
      limits.is_object() ? text(limits, "driver") : "unknown", clocks(device), mode,
      mig ? "on" : "off", sharing ? "yes" : "no");
  std::string next, state = "ok";
  if (!base::get_or<bool>(device, "visible", true)) {
    state = "hidden";
    next = "CUDA_VISIBLE_DEVICES leaves it out: add its UUID there to use it";
  }
  if (mode == "prohibited") {
    state = "closed";
    next = "its administrator can set compute mode Default";
  }
  if (!sharing) {
    state = "limited";
    next = "its memory cannot be exported: measure on another device";
  }
  out.push_back({fmt::format("device {}", index), state, std::move(detail), std::move(next)});
}

std::string find_tool(const char* name) {
  std::vector<std::filesystem::path> folders;
  if (const char* path = std::getenv("PATH")) {
    std::istringstream list(path);
    for (std::string folder; std::getline(list, folder, ':');) folders.emplace_back(folder);
  }
  for (const char* folder : {"/usr/local/cuda/bin", "/opt/cuda/bin"}) folders.emplace_back(folder);
  std::error_code ignored;
  for (const char* root : {"/opt/nvidia/nsight-compute", "/opt/nvidia/nsight-systems"})
    for (const auto& entry : std::filesystem::directory_iterator(root, ignored))
      for (const char* below : {"", "target-linux-x64", "host/target-linux-x64", "bin"})
        folders.push_back(entry.path() / below);
  for (const auto& folder : folders)
    if (std::filesystem::is_regular_file(folder / name, ignored)) return (folder / name).string();
  return {};
}

void add_tools(const Json& inventory, std::vector<Finding>& out) {
  struct Tool {
    const char *name, *next;
  };
  constexpr Tool k_tools[] = {
      {"ncu", "install Nsight Compute: profiles of single kernels need it"},
      {"nsys", "install Nsight Systems: timelines of whole programs need it"},
      {"compute-sanitizer",
       "install the CUDA toolkit's sanitizer: memory and race checks need it"}};
  for (const auto& tool : k_tools) {
    const auto path = find_tool(tool.name);
    out.push_back({tool.name, path.empty() ? "missing" : "ok",
                   path.empty() ? "neither on PATH nor where NVIDIA installs it" : path,
                   path.empty() ? tool.next : ""});
  }
  const auto counters = base::get_or<Json>(inventory, "counters", Json::object());
  if (!counters.contains("allowed")) return;
  const bool allowed = base::get_or<bool>(counters, "allowed", false);
  out.push_back({"counters", allowed ? "ok" : "forbidden", text(counters, "reason"),
                 text(counters, "remedy")});
}

} // namespace

void add_device_findings(std::vector<Finding>& out) {
  const auto program = client::find_child_program();
  if (!program) return; // the children's own line says so
  base::CommandOptions options;
  options.argv = {program->string(), "devices"};
  options.deadline = base::Deadline::after_seconds(k_deadline_seconds);
  const auto result = base::run_command(options);
  if (!result || !result->ok()) {
    out.push_back({"devices", "broken",
                   result ? result->ending.text() + " " + result->err : result.error().text(),
                   "a driver that hangs needs the machine's administrator"});
    return;
  }
  const auto inventory = base::parse_json(result->out, "ako-child devices");
  if (!inventory) {
    out.push_back({"devices", "broken", inventory.error().text(), "install ako again"});
    return;
  }
  add_libraries(base::get_or<Json>(*inventory, "libraries", Json::object()), out);
  const auto devices = base::get_or<Json>(*inventory, "devices", Json::array());
  for (std::size_t i = 0; i < devices.size(); ++i) add_device(i, devices[i], out);
  const auto problem = base::get_or<Json>(*inventory, "problem", Json());
  if (problem.is_object())
    out.push_back({"devices", "none", text(problem, "what") + ": " + text(problem, "found"),
                   text(problem, "next")});
  if (!devices.empty()) add_tools(*inventory, out);
}

} // namespace ako::cli
