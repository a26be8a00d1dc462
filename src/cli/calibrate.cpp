#include "cli/command.hpp"
#include "loop/calibration.hpp"
#include "loop/device_calibration.hpp"
#include "loop/target.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

std::string tensor_lines(const base::Json& data) {
  std::string out;
  if (!data.contains("tensor")) return out;
  for (const auto& [dtype, rate] : data["tensor"].items()) {
    if (rate.is_object())
      out += fmt::format(
          "{:<18} {:8.1f} {} by {}\n", dtype, base::get_or<double>(rate, "ops_per_s", 0) / 1e12,
          dtype == "int8" ? "TOP/s" : "TFLOP/s", base::get_or<std::string>(rate, "how", ""));
    else if (rate.is_string()) out += "tensor cores       " + rate.get<std::string>() + "\n";
  }
  return out;
}

base::Expected<Reply> on_device(const std::string& wish) {
  AKO_TRY(const loop::Target target, loop::find_target(model::Lane::cuda, wish));
  AKO_TRY(executors::Lease lease, loop::take_lease(target));
  Reply reply;
  AKO_TRY(reply.data, loop::calibrate_device(*target.device));
  const auto number = [&](const char* key) { return base::get_or<double>(reply.data, key, 0); };
  reply.text = fmt::format(
      "{}, {}\n"
      "memory, copying    {:8.1f} GB/s (datasheet {:.1f})\n"
      "memory, reading    {:8.1f} GB/s\n"
      "L2, reading        {:8.1f} GB/s\n"
      "float32            {:8.1f} TFLOP/s\n{}"
      "empty kernel       {:8.0f} ns by timestamps, {:.0f} by graph, {:.0f} by events, "
      "{:.0f} by the "
      "host\n"
      "timing             slope {:.5f}, constant {:.0f} ns\n",
      target.device->name, target.device->uuid, number("copy_bytes_per_s") / 1e9,
      number("datasheet_bytes_per_s") / 1e9, number("read_bytes_per_s") / 1e9,
      number("l2_bytes_per_s") / 1e9, number("flops_per_s") / 1e12, tensor_lines(reply.data),
      number("empty_kernel_ns"), number("graph_ns"), number("event_ns"), number("call_ns"),
      number("spin_slope"), number("spin_constant_ns"));
  return reply;
}

base::Expected<Reply> run_calibrate(const Context&, const Arguments& arguments) {
  if (const auto wish = arguments.maybe("device")) return on_device(*wish);
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
    "claims to beat them is not believed. With --device: a device's ceilings and the constants of\n"
    "its clocks.",
    {},
    {{"seconds", "S", "how long it may take (default 4)"}, {"device", "ID", k_device_help}},
    {"ako calibrate", "ako calibrate --seconds 10 --json", "ako calibrate --device 0"},
    run_calibrate};

} // namespace ako::cli
