#include "device/inventory.hpp"

#include "device/gpu.hpp"
#include "device/telemetry.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace ako::device {
namespace {

using base::Json;

Json to_json(const Found& found) {
  if (!found.path.empty()) return Json{{"path", found.path}};
  return Json{{"path", nullptr}, {"reason", found.reason}, {"remedy", found.remedy}};
}

Json to_json(const GpuFacts& facts) {
  return Json{
      {"uuid", facts.uuid},
      {"name", facts.name},
      {"pci", facts.pci},
      {"architecture", fmt::format("sm_{}{}", facts.major, facts.minor)},
      {"sm_count", facts.sm_count},
      {"memory_bytes", facts.memory_bytes},
      {"l2_bytes", facts.l2_bytes},
      {"shared_per_sm", facts.shared_per_sm},
      {"clock_khz", facts.clock_khz},
      {"memory_clock_khz", facts.memory_clock_khz},
      {"memory_bus_bits", facts.memory_bus_bits},
      {"compute_mode", facts.compute_mode == 0   ? "default"
                       : facts.compute_mode == 2 ? "prohibited"
                                                 : "exclusive process"},
      {"ecc", facts.ecc},
      {"integrated", facts.integrated},
      {"cuda", fmt::format("{}.{}", facts.driver_version / 1000, facts.driver_version % 1000 / 10)},
      {"memory_sharing", facts.virtual_memory && facts.posix_handles}};
}

/// Whether profilers may read hardware counters: the kernel module's own word.
Json counters() {
  std::ifstream file("/proc/driver/nvidia/params");
  bool admin_only = false, known = false;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("RmProfilingAdminOnly:")) {
      known = true;
      admin_only = line.find('1') != std::string::npos;
    }
  if (!known) return Json{{"reason", "the kernel module does not say who may read counters"}};
  if (!admin_only) return Json{{"allowed", true}, {"reason", "every user may read them"}};
  if (geteuid() == 0)
    return Json{{"allowed", true}, {"reason", "administrators may, and this is one"}};
  return Json{{"allowed", false},
              {"reason", "the kernel module keeps counters to administrators"},
              {"remedy", "run profilers as root, or load the module with "
                         "NVreg_RestrictProfilingToAdminUsers=0"}};
}

std::optional<std::string> matching(const std::string& word,
                                    const std::vector<std::string>& uuids) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  if (error == std::errc() && end == word.data() + word.size())
    return index < uuids.size() ? std::optional(uuids[index]) : std::nullopt;
  if (!word.starts_with("GPU-") && !word.starts_with("MIG-")) return std::nullopt;
  std::optional<std::string> found;
  for (const auto& uuid : uuids) {
    if (!uuid.starts_with(word)) continue;
    if (found) return std::nullopt; // not unique
    found = uuid;
  }
  return found;
}

std::string trimmed(const std::string& word) {
  const auto first = word.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return word.substr(first, word.find_last_not_of(" \t") - first + 1);
}

} // namespace

std::vector<std::string> visible_uuids(const std::optional<std::string>& value,
                                       const std::vector<std::string>& uuids) {
  if (!value) return uuids;
  std::vector<std::string> visible;
  std::istringstream list(*value);
  for (std::string word; std::getline(list, word, ',');) {
    const auto found = matching(trimmed(word), uuids);
    if (!found) break;
    if (std::find(visible.begin(), visible.end(), *found) != visible.end()) return {};
    visible.push_back(*found);
  }
  return visible;
}

Json inventory() {
  Json out{{"libraries",
            {{"cuda", to_json(found_cuda())},
             {"nvrtc", to_json(found_nvrtc())},
             {"cupti", to_json(found_cupti())},
             {"nvml", to_json(found_nvml())}}},
           {"counters", counters()},
           {"devices", Json::array()},
           {"problem", nullptr}};
  // The driver hides what the variable leaves out; ako names devices by UUID and says which are
  // hidden, so the driver is asked for all of them.
  std::optional<std::string> wish;
  if (const char* value = std::getenv("CUDA_VISIBLE_DEVICES")) wish = value;
  unsetenv("CUDA_VISIBLE_DEVICES");
  const auto all = list_gpus();
  if (!all) {
    out["problem"] = {
        {"what", all.error().message}, {"found", all.error().found}, {"next", all.error().next}};
    return out;
  }
  std::vector<std::string> uuids;
  for (const auto& facts : *all) uuids.push_back(facts.uuid);
  const auto visible = visible_uuids(wish, uuids);
  for (const auto& facts : *all) {
    Json device = to_json(facts);
    device["visible"] = std::find(visible.begin(), visible.end(), facts.uuid) != visible.end();
    if (const auto telemetry = Telemetry::open(facts.uuid)) {
      device["limits"] = telemetry->facts();
      device["state"] = to_json(telemetry->read());
    } else {
      device["limits"] = nullptr;
      device["state"] = nullptr;
    }
    out["devices"].push_back(std::move(device));
  }
  return out;
}

} // namespace ako::device
