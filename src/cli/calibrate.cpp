#include "cli/command.hpp"
#include "loop/calibration.hpp"
#include "loop/target.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<Reply> run(const Context&, const Arguments& arguments) {
  AKO_TRY(double seconds, arguments.number("seconds", 4));
  if (seconds < 0.2 || seconds > 120)
    return base::fail(base::ErrorKind::usage, "too short or too long to calibrate",
                      {.where = "--seconds",
                       .found = arguments.text("seconds"),
                       .allowed = "0.2 to 120",
                       .next = {}});
  AKO_TRY(executors::Lease lease, loop::take_lease(loop::Target{}));
  const loop::HostFacts host = loop::host_facts();
  const loop::Calibration result = loop::calibrate_host(seconds);
  AKO_TRY_STATUS(loop::save_calibration(host, result));
  Reply reply;
  reply.text =
      fmt::format("{}, {} cores\n"
                  "memory, reading    {:8.2f} GB/s\n"
                  "first-level cache  {:8.2f} GB/s\n"
                  "float32            {:8.2f} GFLOP/s\n"
                  "clock tick         {:8.0f} ns\n",
                  host.cpu, host.cores, result.memory_bytes_per_s / 1e9,
                  result.cache_bytes_per_s / 1e9, result.flops_per_s / 1e9, result.clock_tick_ns);
  reply.data = loop::to_json(result);
  reply.data["cpu"] = host.cpu;
  return reply;
}

} // namespace

extern const Command k_calibrate{
    "calibrate",
    "measure this machine's own ceilings",
    "Memory and cache bandwidth, arithmetic, the clock. Kept for this machine; a candidate that\n"
    "claims to beat them is not believed.",
    {},
    {{"seconds", "S", "how long it may take (default 4)"}},
    {"ako calibrate", "ako calibrate --seconds 10 --json"},
    run};

} // namespace ako::cli
