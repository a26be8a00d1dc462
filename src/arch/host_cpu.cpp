#include "arch/host_cpu.hpp"

#include "base/fs.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace ako::arch {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "48K", "2048K", "30M"
double cache_bytes(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end && *end == 'K') value *= 1024;
  if (end && *end == 'M') value *= 1024 * 1024;
  return value;
}

/// Counts "0-3,8" as 5.
int count_list(const std::string& text) {
  std::istringstream in(text);
  std::string part;
  int count = 0;
  while (std::getline(in, part, ',')) {
    int low = 0, high = 0;
    int got = std::sscanf(part.c_str(), "%d-%d", &low, &high);
    if (got == 1) ++count;
    if (got == 2 && high >= low) count += high - low + 1;
  }
  return std::max(count, 1);
}

void read_caches(const std::filesystem::path& root, HostCpu& cpu) {
  for (int index = 0; index < 16; ++index) {
    auto folder = root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
    std::string level = first_line(folder / "level");
    if (level.empty()) break;
    CacheLevel cache;
    cache.level = std::atoi(level.c_str());
    cache.type = first_line(folder / "type");
    cache.bytes = cache_bytes(first_line(folder / "size"));
    cache.shared_by = count_list(first_line(folder / "shared_cpu_list"));
    cpu.caches.push_back(std::move(cache));
  }
}

} // namespace

base::Expected<HostCpu> read_host_cpu(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/cpuinfo");
  if (!file)
    return base::fail(
        base::ErrorKind::environment, "the host CPU cannot be read",
        {(root / "proc/cpuinfo").string(), "no such file", "", "run on Linux with /proc mounted"});
  HostCpu cpu;
  std::set<std::pair<std::string, std::string>> cores;
  std::string line, package, flags;
  while (std::getline(file, line)) {
    std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "processor") ++cpu.logical;
    if (key == "vendor_id" || key == "CPU implementer") cpu.vendor = value;
    if (key == "model name") cpu.model = value;
    if (key == "physical id") package = value;
    if (key == "core id") cores.insert({package, value});
    if (key == "flags" || key == "Features") flags = " " + value + " ";
  }
  cpu.cores = static_cast<int>(cores.size());
  for (const char* set :
       {"sse2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve"})
    if (flags.find(std::string(" ") + set + " ") != std::string::npos)
      cpu.vector_sets.emplace_back(set);
  std::string khz = first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (!khz.empty()) cpu.max_hz = std::strtod(khz.c_str(), nullptr) * 1e3;
  read_caches(root, cpu);
  return cpu;
}

double HostCpu::fp32_flops_per_clock() const {
  auto has = [&](const char* name) {
    return std::find(vector_sets.begin(), vector_sets.end(), name) != vector_sets.end();
  };
  const double lanes = has("avx512f") ? 16 : has("avx2") || has("avx") ? 8 : 4;
  const double per_lane = has("fma") || has("avx512f") || has("asimd") ? 2 : 1;
  return 2 * lanes * per_lane;
}

double HostCpu::last_level_bytes() const {
  const CacheLevel* last = nullptr;
  for (const CacheLevel& cache : caches)
    if (cache.type != "Instruction" && (!last || cache.level > last->level)) last = &cache;
  return last ? last->bytes : 0;
}

} // namespace ako::arch
