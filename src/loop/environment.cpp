#include "loop/environment.hpp"

#include "base/fs.hpp"
#include "loop/calibration.hpp"
#include "loop/device_calibration.hpp"

#include <fmt/format.h>
#include <fstream>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace ako::loop {
namespace {

std::string value_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key, 0) != 0) continue;
    std::size_t at = line.find_first_of(":=", key.size());
    if (at == std::string::npos) continue;
    std::string value = line.substr(at + 1);
    while (!value.empty() &&
           (value.front() == ' ' || value.front() == '\t' || value.front() == '"'))
      value.erase(value.begin());
    while (!value.empty() && (value.back() == '"' || value.back() == ' ')) value.pop_back();
    return value;
  }
  return {};
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) out.push_back(core);
  return out;
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

} // namespace

HostFacts host_facts() {
  HostFacts out;
  out.cpu = value_of("/proc/cpuinfo", "model name");
  if (out.cpu.empty()) out.cpu = "unknown processor";
  out.cores = static_cast<int>(allowed_cores().size());
  out.cache_bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (out.cache_bytes <= 0) out.cache_bytes = std::max(0l, ::sysconf(_SC_LEVEL2_CACHE_SIZE));
  out.memory_bytes = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  utsname name = {};
  if (::uname(&name) == 0) out.kernel = std::string(name.sysname) + " " + name.release;
  out.distribution = value_of("/etc/os-release", "PRETTY_NAME");
  out.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (out.governor.empty()) out.governor = "none";
  return out;
}

namespace {

/// Rooflines of reports stand under the ceilings of what was measured on: the device's own, never
/// its host's. Null when it was not calibrated.
base::Json ceilings_of(const HostFacts& host, const Target& target) {
  if (target.device) {
    const auto known = device_calibration(target.device->uuid);
    if (!known) return nullptr;
    return {{"memory_bytes_per_s", base::get_or<double>(*known, "copy_bytes_per_s", 0)},
            {"cache_bytes_per_s", base::get_or<double>(*known, "l2_bytes_per_s", 0)},
            {"flops_per_s", base::get_or<double>(*known, "flops_per_s", 0)},
            {"tensor", known->value("tensor", base::Json::object())}};
  }
  const auto known = load_calibration(host);
  if (!known) return nullptr;
  return {{"memory_bytes_per_s", known->memory_bytes_per_s},
          {"cache_bytes_per_s", known->cache_bytes_per_s},
          {"flops_per_s", known->flops_per_s}};
}

} // namespace

ledger::Environment environment_of(const HostFacts& host, const Target& target,
                                   const std::string& compiler) {
  ledger::Environment out;
  out.machine =
      fmt::format("{}, {} cores, {} MiB cache", host.cpu, host.cores, host.cache_bytes >> 20);
  out.device = target.device ? target.device->name : host.cpu;
  out.os = host.distribution.empty() ? host.kernel : host.distribution + ", " + host.kernel;
  out.compiler = compiler;
  out.ako_version = k_ako_version;
  base::Hasher hasher;
  hasher.add_field(host.cpu).add_field(std::to_string(host.cores));
  hasher.add_field(std::to_string(host.cache_bytes));
  // Another device, though of the same kind, is another instrument.
  if (target.device) hasher.add_field(target.device->uuid);
  out.identity = hasher.finish();
  out.details = {{"cpu", host.cpu},
                 {"cores", host.cores},
                 {"cache_bytes", host.cache_bytes},
                 {"memory_bytes", host.memory_bytes},
                 {"kernel", host.kernel},
                 {"governor", host.governor}};
  const base::Json ceilings = ceilings_of(host, target);
  if (!ceilings.is_null()) out.details["ceilings"] = ceilings;
  if (target.device)
    out.details["device"] = {{"uuid", target.device->uuid},
                             {"pci", target.device->pci},
                             {"architecture", target.device->architecture}};
  return out;
}

std::vector<int> measuring_cores(int threads) {
  std::vector<int> cores = allowed_cores();
  if (threads <= 0 || threads >= static_cast<int>(cores.size())) return cores;
  return {cores.end() - threads, cores.end()};
}

} // namespace ako::loop
