#include "loop/brief.hpp"

#include "guides/library.hpp"
#include "loop/setup.hpp"
#include "workspace/listing.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {
namespace {

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Guides that answer a finding first, then those every newcomer to the lane reads.
std::vector<GuideFile> reading_for(const std::string& lane,
                                   const std::vector<std::string>& findings) {
  std::vector<GuideFile> first, rest;
  for (GuideFile& guide : guide_files()) {
    const bool lane_fits = holds(guide.lanes, lane) || holds(guide.lanes, "any");
    const bool answers = std::any_of(findings.begin(), findings.end(),
                                     [&](const auto& id) { return holds(guide.findings, id); });
    if (answers && lane_fits) first.push_back(std::move(guide));
    else if (lane_fits && guide.findings.empty()) rest.push_back(std::move(guide));
  }
  first.insert(first.end(), rest.begin(), rest.end());
  if (first.size() > k_most_guides) first.resize(k_most_guides);
  return first;
}

std::string gain_text(const std::optional<double>& gain, const std::optional<double>& low,
                      const std::optional<double>& high) {
  if (!gain) return "not measured";
  std::string out = fmt::format("{:+.1f} %", 100 * *gain);
  if (low && high) out += fmt::format(" [{:+.1f}, {:+.1f}]", 100 * *low, 100 * *high);
  return out;
}

std::string shape_lines(const model::Verdict& verdict) {
  std::string out;
  for (const auto& shape : verdict.shapes)
    out +=
        fmt::format("- {}: {:.3f} us before, {:.3f} us after, gain {:+.1f} % [{:+.1f}, {:+.1f}], "
                    "weight {:g}{}\n",
                    shape.tag, shape.old_ns / 1e3, shape.new_ns / 1e3, 100 * shape.gain,
                    100 * shape.interval.low, 100 * shape.interval.high, shape.weight,
                    shape.within_regression ? "" : " (beyond its allowed regression)");
  return out;
}

base::Status read_incumbent(ledger::Reader& reader, const ledger::Standing& standing, Brief& out) {
  if (standing.incumbent) {
    const auto& row = *standing.incumbent;
    out.incumbent =
        fmt::format("iteration {} ({}), against the baseline {}", row.number, row.hypothesis,
                    gain_text(row.base_gain, row.base_low, row.base_high));
    AKO_TRY(auto recorded, reader.iteration(row.number));
    if (recorded) {
      const auto& iteration = recorded->payload;
      out.table =
          shape_lines(iteration.versus_baseline ? *iteration.versus_baseline : iteration.verdict);
    }
    return {};
  }
  AKO_TRY(auto baseline, reader.last<ledger::Baseline>());
  if (!baseline) return {};
  out.incumbent = "the baseline " + baseline->payload.fastest;
  for (const auto& entry : baseline->payload.entries)
    if (entry.name == baseline->payload.fastest)
      for (const auto& shape : entry.shapes)
        out.table += fmt::format("- {} ({}): {:.3f} us, weight {:g}\n", shape.tag, shape.shape,
                                 shape.p50_ns / 1e3, shape.weight);
  return {};
}

base::Status read_attempts(ledger::Reader& reader, Brief& out) {
  AKO_TRY(auto rows, reader.page(60));
  std::vector<std::int64_t> numbers;
  for (const auto& row : rows)
    if (row.decision == model::Decision::revert) numbers.push_back(row.number);
  if (numbers.size() > k_most_attempts)
    numbers.erase(numbers.begin(), numbers.end() - static_cast<long>(k_most_attempts));
  for (const std::int64_t number : numbers) {
    AKO_TRY(auto recorded, reader.iteration(number));
    if (!recorded) continue;
    const auto& outcome = recorded->payload.verdict.outcome;
    out.failed.push_back({number, recorded->payload.hypothesis, model::to_string(outcome.kind),
                          outcome.reason.substr(0, 300)});
  }
  return {};
}

base::Status read_last(ledger::Reader& reader, const ledger::Standing& standing, Brief& out) {
  if (!standing.last) return {};
  AKO_TRY(auto recorded, reader.iteration(standing.last->number));
  if (!recorded) return {};
  const auto& iteration = recorded->payload;
  const auto& outcome = iteration.verdict.outcome;
  out.last = fmt::format("Iteration {} ({}): {} -> {}. {}\n", iteration.number,
                         iteration.hypothesis, model::to_string(outcome.kind),
                         model::to_string(iteration.decision), outcome.reason);
  for (const auto& evidence : outcome.evidence)
    out.last += fmt::format("- {}: {}\n", evidence.guard, evidence.text.substr(0, 300));
  if (iteration.verdict.placements > 0) out.last += shape_lines(iteration.verdict);
  return {};
}

base::Status read_diagnosis(ledger::Reader& reader, Brief& out) {
  std::optional<ledger::Profile> found;
  AKO_TRY_STATUS(reader.each(ledger::EventKind::profile, [&](const ledger::Event& event) {
    auto payload = ledger::payload_from<ledger::Profile>(event.payload);
    if (payload && payload->tool != "scope") found = std::move(*payload);
    return base::Status{};
  }));
  if (!found) return {};
  out.diagnosis = found->summary + "\n";
  for (const auto& finding : found->findings) {
    out.diagnosis += "- " + finding + "\n";
    out.findings.push_back(finding.substr(0, finding.find(':')));
  }
  return {};
}

} // namespace

std::vector<GuideFile> guide_files() {
  std::vector<GuideFile> out;
  const auto folder = guides::Library::find_folder();
  const auto library = folder ? guides::Library::load(*folder)
                              : base::Expected<guides::Library>(tl::unexpected(folder.error()));
  if (!library) return out;
  for (const guides::Guide& guide : library->guides())
    out.push_back({guide.id, guide.title, guide.lanes, guide.findings, guide.file});
  return out;
}

base::Expected<Brief> brief_of(const Session& session) {
  Brief out;
  const model::Contract& contract = session.contract();
  out.task = session.workdir().name();
  out.kernel = contract.kernel.name;
  out.lane = model::to_string(contract.kernel.lane);
  out.entry = contract.kernel.entry.file + "::" + contract.kernel.entry.symbol;
  for (const auto& shape : session.shapes())
    out.shapes += fmt::format("{}{} ({}, weight {:g})", out.shapes.empty() ? "" : "; ", shape.tag,
                              shape_text(shape), shape.weight);
  AKO_TRY(out.sources, workspace::candidate_paths(session.workdir(), contract));
  AKO_TRY(Facts facts, session.facts());
  out.closed = closed_gates(Claim::iteration, facts);
  std::vector<std::string> missing;
  for (const auto& gate : out.closed) missing.push_back(gate.missing);
  out.next = next_step(facts.standing, missing, out.closed.empty() ? "" : out.closed[0].command);
  out.stalled = facts.standing.stall_event.has_value();
  if (facts.standing.events == 0) {
    out.reading = reading_for(out.lane, {});
    return out;
  }
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY_STATUS(read_incumbent(reader, facts.standing, out));
  AKO_TRY_STATUS(read_last(reader, facts.standing, out));
  AKO_TRY_STATUS(read_attempts(reader, out));
  AKO_TRY_STATUS(read_diagnosis(reader, out));
  out.reading = reading_for(out.lane, out.findings);
  return out;
}

std::string to_text(const Brief& brief) {
  std::string out = fmt::format("# {}: kernel {}, lane {}\n\nEntry `{}`. Shapes: {}.\nFiles of the "
                                "candidate: {}.\n\n## What stands\n\n{}\n",
                                brief.task, brief.kernel, brief.lane, brief.entry, brief.shapes,
                                fmt::join(brief.sources, ", "),
                                brief.incumbent.empty() ? brief.next.stands : brief.incumbent);
  out += brief.table;
  for (const auto& gate : brief.closed)
    out += fmt::format("Closed gate {}: {}. It opens by `{}`.\n", to_string(gate.gate),
                       gate.missing, gate.command);
  if (!brief.last.empty()) out += "\n## The last iteration\n\n" + brief.last;
  if (!brief.diagnosis.empty()) out += "\n## What limits the kernel\n\n" + brief.diagnosis;
  if (!brief.failed.empty()) {
    out += "\n## Tried in vain; do not try the same again\n\n";
    for (const auto& attempt : brief.failed)
      out += fmt::format("- {}: {}: {} ({})\n", attempt.number, attempt.hypothesis, attempt.outcome,
                         attempt.reason);
  }
  if (!brief.reading.empty()) {
    out += "\n## Reading\n\n";
    for (const auto& guide : brief.reading)
      out += fmt::format("- {}: {} ({})\n", guide.id, guide.title, guide.path.string());
  }
  return out;
}

} // namespace ako::loop
