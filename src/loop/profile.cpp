#include "loop/profile.hpp"

#include "arch/architecture.hpp"
#include "base/fs.hpp"
#include "loop/calibration.hpp"
#include "loop/plain_launch.hpp"
#include "loop/setup.hpp"
#include "loop/try.hpp"
#include "profiles/facts.hpp"
#include "profiles/infer.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {
namespace {

bool on_gpu(model::Lane lane) { return lane != model::Lane::cpu; }

base::Expected<Built> build_side(const Session& session, Builder& builder,
                                 const std::string& side) {
  if (side == "solution") return must_build(builder.candidate());
  if (side == "incumbent") {
    AKO_TRY(Incumbent incumbent, incumbent_of(session));
    return build_incumbent(builder, incumbent);
  }
  if (side.starts_with("baseline:")) return must_build(builder.baseline(side.substr(9)));
  return base::fail(base::ErrorKind::usage, "no such side",
                    {.where = "ako profile",
                     .found = side,
                     .allowed = "solution, incumbent, baseline:NAME",
                     .next = {}});
}

/// Figures of the last baseline; empty where none is on record.
std::vector<ledger::ShapeFigure> baseline_figures(const Session& session) {
  auto reader = session.reader();
  if (!reader) return {};
  auto baseline = reader->last<ledger::Baseline>();
  if (!baseline || !*baseline) return {};
  for (const auto& entry : (*baseline)->payload.entries)
    if (entry.name == (*baseline)->payload.fastest) return entry.shapes;
  return {};
}

/// Measured time of one call at the shape: the last iteration of this snapshot, a bench, or the
/// baseline; 0 where nothing is on record.
double measured_ns(const Session& session, const ProfileRequest& request,
                   const Profiled& profiled) {
  if (request.built) {
    const auto known = request.times_ns.find(profiled.shape);
    return known == request.times_ns.end() ? 0 : known->second;
  }
  auto reader = session.reader();
  if (!reader) return 0;
  auto of = [&](const std::vector<ledger::ShapeFigure>& shapes) {
    for (const auto& figure : shapes)
      if (figure.tag == profiled.shape) return figure.p50_ns;
    return 0.0;
  };
  if (auto row = reader->with_snapshot(profiled.snapshot); row && *row) {
    auto iteration = reader->iteration((*row)->number);
    if (iteration && *iteration)
      for (const auto& shape : (*iteration)->payload.verdict.shapes)
        if (shape.tag == profiled.shape && shape.new_ns > 0) return shape.new_ns;
  }
  if (auto bench = reader->last<ledger::Bench>();
      bench && *bench && (*bench)->payload.snapshot == profiled.snapshot)
    if (double ns = of((*bench)->payload.shapes); ns > 0) return ns;
  return profiled.side == "solution" ? 0 : of(baseline_figures(session));
}

std::vector<profiles::ResourceUse> resources_of(const base::Json& report) {
  std::vector<profiles::ResourceUse> all;
  if (!report.is_object() || !report.contains("kernels") || !report["kernels"].is_array())
    return all;
  for (const base::Json& kernel : report["kernels"]) {
    if (!kernel.is_object()) continue;
    auto number = [&](const char* key) { return base::get_or<std::int64_t>(kernel, key, 0); };
    profiles::ResourceUse use;
    use.function = base::get_or<std::string>(kernel, "name", "");
    use.architecture = base::get_or<std::string>(kernel, "architecture", "");
    use.registers = static_cast<int>(number("registers"));
    use.barriers = static_cast<int>(number("barriers"));
    use.stack_bytes = number("stack_bytes"), use.shared_bytes = number("shared_bytes");
    use.spill_store_bytes = number("spill_store_bytes");
    use.spill_load_bytes = number("spill_load_bytes");
    all.push_back(std::move(use));
  }
  return all;
}

/// Ceilings of what is measured on: calibrated for the host; a GPU's as the
/// record has them, or by its datasheet when the tables know it.
void add_ceilings(const Session& session, profiles::InferenceInput& in) {
  const bool gpu = on_gpu(session.contract().kernel.lane);
  if (!gpu) {
    const HostFacts host = host_facts();
    in.device = host.cpu, in.cache_bytes = double(host.cache_bytes);
    if (auto known = load_calibration(host)) {
      in.memory_bytes_per_s = known->memory_bytes_per_s;
      in.cache_bytes_per_s = known->cache_bytes_per_s, in.flops_per_s = known->flops_per_s;
      in.ceilings_from = "measured by ako calibrate";
    }
    return;
  }
  auto reader = session.reader();
  if (!reader) return;
  auto environment = reader->last<ledger::Environment>();
  if (!environment || !*environment) return;
  in.device = (*environment)->payload.device;
  for (const arch::Architecture& architecture : arch::architectures())
    if (const arch::Device* device = arch::find_device(architecture, in.device)) {
      in.capability = architecture.capability, in.cache_bytes = device->l2_bytes;
      in.memory_bytes_per_s = device->dram_bytes_per_s;
      in.flops_per_s = 2 * architecture.rates.fp32 * device->sms * device->boost_hz;
      in.ceilings_from = "datasheet";
    }
  const base::Json& details = (*environment)->payload.details;
  if (!details.is_object() || !details.contains("ceilings")) return;
  const base::Json& measured = details["ceilings"];
  in.memory_bytes_per_s = base::get_or<double>(measured, "memory_bytes_per_s", 0);
  in.flops_per_s = base::get_or<double>(measured, "flops_per_s", 0);
  in.ceilings_from = "measured by ako calibrate";
}

base::Status infer_into(const Session& session, const ProfileRequest& request, const Built& built,
                        Profiled& out) {
  profiles::InferenceInput in;
  in.name = session.contract().kernel.name;
  in.lane = model::to_string(session.contract().kernel.lane);
  in.time_ns = measured_ns(session, request, out);
  in.warm = session.contract().accept.cache == model::CacheState::warm;
  add_ceilings(session, in);
  for (const model::ResolvedShape& shape : session.shapes())
    if (shape.tag == out.shape) in.flops = shape.flops, in.bytes = shape.bytes;
  in.resources = resources_of(built.artifact.resources);
  if (in.time_ns <= 0)
    return base::fail(base::ErrorKind::refused, "nothing was measured that could be reasoned from",
                      {.where = out.side + ", shape " + out.shape,
                       .found = out.why_inferred,
                       .allowed = "figures of that side, or a profile",
                       .next = "ako bench " + out.side + ", then ako profile again"});
  if (in.memory_bytes_per_s <= 0)
    out.warnings.push_back("no ceilings are known: ako calibrate measures them");
  out.inferred = true;
  out.report.kernels = {profiles::infer(in)};
  return {};
}

/// The last capture of the same shape on record.
base::Status hold_against_last(ledger::Reader& reader, Profiled& out) {
  std::optional<ledger::Event> last;
  AKO_TRY_STATUS(
      reader.each(ledger::EventKind::profile, [&](const ledger::Event& event) -> base::Status {
        AKO_TRY(ledger::Profile payload, ledger::payload_from<ledger::Profile>(event.payload));
        if (payload.tool.starts_with("ncu") && payload.data.is_object() &&
            base::get_or<std::string>(payload.data, "shape", "") == out.shape)
          last = event;
        return {};
      }));
  if (!last) return {};
  for (const ledger::BlobRef& blob : last->blobs) {
    if (blob.name != "raw") continue;
    AKO_TRY(std::string raw, reader.blob(blob.hash));
    AKO_TRY(profiles::NcuReport before,
            profiles::read_ncu(raw, "the capture on record", profiles::RunLocale::c));
    model::DiagnosisReport report;
    for (const auto& kernel : before.kernels) report.kernels.push_back(profiles::diagnose(kernel));
    out.delta = profiles::delta_of(report, out.report, before.kernels, out.capture->kernels);
    out.against =
        fmt::format("event {}, {}", last->seq,
                    base::get_or<std::string>(last->payload["data"], "side", "a capture"));
  }
  return {};
}

base::Status record(const Session& session, const ProfileRequest& request, Profiled& out) {
  AKO_TRY(ledger::Writer writer, session.writer());
  if (out.capture) {
    AKO_TRY(ledger::Reader reader, ledger::Reader::open(writer.path()));
    if (auto held = hold_against_last(reader, out); !held)
      out.warnings.push_back("no comparison with the last capture: " + held.error().text());
  }
  ledger::Profile event;
  event.tool = out.inferred ? "inference" : "ncu " + out.capture->version;
  event.target = out.snapshot;
  event.summary = profile_summary(out);
  for (const auto& kernel : out.report.kernels)
    for (const auto& finding : kernel.findings)
      event.findings.push_back(fmt::format("{}: {}, at most {:.0f} % ({}){}", kernel.name,
                                           finding.id, 100 * finding.gain_bound, finding.gain_basis,
                                           out.inferred ? ", inferred" : ""));
  double counted = 0;
  if (out.capture)
    for (const auto& kernel : out.capture->kernels)
      counted += profiles::or_zero(profiles::facts_of(kernel).dram_bytes);
  for (const model::ResolvedShape& shape : session.shapes())
    if (shape.tag == out.shape && shape.bytes > 0 && counted > 0 && request.command.empty()) {
      event.data["traffic"] = {{"declared_bytes", shape.bytes}, {"dram_bytes", counted}};
      event.summary +=
          fmt::format("; DRAM moved {:.2f} x the declared bytes", counted / shape.bytes);
    }
  event.data["side"] = out.side, event.data["shape"] = out.shape;
  event.data["inferred"] = out.inferred, event.data["why_inferred"] = out.why_inferred;
  event.data["command"] = out.capture ? out.capture->command : std::string();
  event.data["kernel"] = request.kernel, event.data["against"] = out.against;
  event.data["delta"] = out.delta ? profiles::to_json(*out.delta) : base::Json();
  std::vector<ledger::Attachment> blobs = {
      {"diagnosis", base::dump_json(model::to_json(out.report))}};
  if (out.capture)
    for (auto [name, page] : {std::pair{"raw", &out.capture->raw},
                              {"details", &out.capture->details},
                              {"source", &out.capture->source}})
      if (!page->empty() && page->size() <= ledger::k_max_blob_bytes)
        blobs.push_back({name, *page});
  AKO_TRY(ledger::Appended appended, writer.append(event, std::move(blobs)));
  out.event = appended.seq;
  return {};
}

/// Whether the machine, not the kernel, is in the way.
bool is_no_fault_of_the_kernel(const base::Error& error) {
  return error.kind == base::ErrorKind::environment || error.kind == base::ErrorKind::unsupported ||
         error.kind == base::ErrorKind::timeout;
}

base::Expected<Capture> capture_side(const Session& session, const ProfileRequest& request,
                                     const std::optional<Built>& built, const Profiled& out,
                                     const model::CommandRunner& runner) {
  CaptureRequest wanted;
  wanted.kernel = request.kernel, wanted.skip = request.skip, wanted.count = request.count;
  wanted.seconds = request.seconds, wanted.working_folder = session.workdir().task().string();
  wanted.lane = model::to_string(session.contract().kernel.lane);
  if (request.command.empty()) AKO_TRY_STATUS(can_be_launched(*built, session.contract()));
  AKO_TRY(std::string ncu, find_ncu());
  if (!request.command.empty()) {
    wanted.target = request.command;
    return capture_with_ncu(ncu, wanted, runner);
  }
  AKO_TRY(const PlainLaunch launch,
          PlainLaunch::of(session, *built, {.shape = out.shape, .warmup = 2}));
  wanted.target = launch.command();
  if (request.built) wanted.environment = built->spec.environment;
  wanted.from = profiles::ProfileFrom::marks;
  return capture_with_ncu(ncu, wanted, runner);
}

} // namespace

std::string hot_shape(const model::Contract& contract,
                      const std::vector<ledger::ShapeFigure>& figures) {
  std::string best;
  double most = -1;
  for (const model::ShapeCase& shape : contract.shapes) {
    double ns = figures.empty() ? 1 : 0;
    for (const auto& figure : figures)
      if (figure.tag == shape.tag) ns = figure.p50_ns;
    if (shape.weight * ns > most) most = shape.weight * ns, best = shape.tag;
  }
  return best;
}

std::string profile_summary(const Profiled& profiled) {
  std::string out = fmt::format("{}, shape {}", profiled.side, profiled.shape);
  if (profiled.inferred) out += ", inferred without counters";
  for (const auto& kernel : profiled.report.kernels) {
    out += fmt::format("; {}: ", kernel.name.substr(0, 80));
    if (kernel.duration_ns) out += fmt::format("{:.2f} us, ", *kernel.duration_ns / 1e3);
    if (kernel.done)
      out += fmt::format("at its ceiling, {:.0f} % of the {} roof",
                         100 * kernel.at_ceiling.value_or(0), kernel.roof);
    else if (!kernel.findings.empty())
      out += fmt::format("{}, at most {:.0f} %", kernel.findings[0].id,
                         100 * kernel.findings[0].gain_bound);
    else out += "no finding";
  }
  if (profiled.delta)
    for (const auto& delta : profiled.delta->kernels)
      out += fmt::format("; since {}: {}", profiled.against, profiles::summary(delta));
  return out;
}

base::Expected<Profiled> profile(const Session& session, const ProfileRequest& request,
                                 const model::CommandRunner& runner) {
  Profiled out;
  out.side = request.command.empty() ? request.side : "command";
  out.shape = request.shape.empty() ? hot_shape(session.contract(), baseline_figures(session))
                                    : request.shape;
  Builder builder(session.workdir(), session.contract());
  std::optional<Built> built;
  if (request.command.empty()) {
    if (request.built) {
      built = request.built;
    } else {
      AKO_TRY(built, build_side(session, builder, request.side));
    }
    out.snapshot = built->sources.snapshot.hash;
  }
  if (request.way == ProfileRequest::Way::infer) {
    out.why_inferred = "asked for";
  } else if (request.command.empty() && !on_gpu(session.contract().kernel.lane)) {
    out.why_inferred = "Nsight Compute profiles GPU kernels, and this lane runs on the host";
  } else {
    auto capture = capture_side(session, request, built, out, runner);
    if (!capture && (!is_no_fault_of_the_kernel(capture.error()) || !built))
      return tl::unexpected(capture.error());
    if (!capture) {
      out.why_inferred = capture.error().text();
      out.warnings.push_back("profile unavailable: " + out.why_inferred);
    } else {
      out.report = capture->report;
      out.warnings = capture->warnings;
      out.capture = std::move(*capture);
    }
  }
  if (!out.capture) {
    if (!built)
      return base::fail(
          base::ErrorKind::usage, "a command cannot be inferred about",
          {.where = "--infer", .found = {}, .allowed = "a side of the task", .next = {}});
    AKO_TRY_STATUS(infer_into(session, request, *built, out));
  }
  AKO_TRY_STATUS(record(session, request, out));
  return out;
}

} // namespace ako::loop
