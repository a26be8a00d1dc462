#include "keeper/machine.hpp"

#include "base/time.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace ako::keeper {
namespace {

constexpr std::int64_t k_probe_ns = 200'000;

struct CoreTime {
  std::int64_t busy = 0, steal = 0; ///< in kernel ticks
  bool found = false;
};

/// /proc/stat: cpuN user nice system idle iowait irq softirq steal ...
CoreTime read_core(std::FILE* file, int core) {
  CoreTime time;
  std::rewind(file);
  char line[512];
  while (std::fgets(line, sizeof line, file)) {
    int number = -1;
    long long user = 0, nice = 0, system = 0, irq = 0, soft = 0, steal = 0;
    if (std::sscanf(line, "cpu%d %lld %lld %lld %*d %*d %lld %lld %lld", &number, &user, &nice,
                    &system, &irq, &soft, &steal) < 7 ||
        number != core)
      continue;
    time = {user + nice + system + irq + soft, steal, true};
    break;
  }
  return time;
}

base::Json temperature() {
  std::FILE* file = std::fopen("/sys/class/thermal/thermal_zone0/temp", "re");
  if (!file) return nullptr;
  long thousandths = 0;
  const bool read = std::fscanf(file, "%ld", &thousandths) == 1;
  std::fclose(file);
  return read ? base::Json(static_cast<double>(thousandths) / 1000) : base::Json(nullptr);
}

} // namespace

base::Json machine_state(const measure::Ticks& ticks, const std::vector<int>& cores) {
  const std::int64_t tick_ns = 1'000'000'000 / std::max(1L, sysconf(_SC_CLK_TCK));
  base::Json busy = base::Json::array(), steal = base::Json::array(), found = base::Json::array();
  const double clock = measure::core_clock(ticks, k_probe_ns);
  if (std::FILE* file = std::fopen("/proc/stat", "re")) {
    for (const int core : cores) {
      const auto time = read_core(file, core);
      if (!time.found) continue;
      found.push_back(core);
      busy.push_back(time.busy * tick_ns);
      steal.push_back(time.steal * tick_ns);
    }
    std::fclose(file);
  }
  return base::Json{{"adds_per_ns", clock},
                    {"cores", found},
                    {"busy_ns", busy},
                    {"steal_ns", steal},
                    {"at_ns", base::monotonic_ns()},
                    {"busy_resolution_ns", tick_ns},
                    {"temperature_c", temperature()},
                    {"device", base::Json::object()}};
}

} // namespace ako::keeper
