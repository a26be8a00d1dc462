#include "loop/try_run.hpp"

#include "base/log.hpp"
#include "base/time.hpp"
#include "executors/runner.hpp"
#include "loop/catch_up.hpp"
#include "loop/deciding_files.hpp"
#include "loop/faults.hpp"
#include "loop/plain_launch.hpp"
#include "loop/reading.hpp"
#include "model/nearest.hpp"
#include "stats/best_of.hpp"
#include "workspace/snapshot.hpp"

#include <fmt/format.h>

namespace ako::loop {

base::Expected<TryResult> Try::run() {
  AKO_TRY(base::FileLock lock, m_session.lock());
  AKO_TRY_STATUS(m_session.workdir().texts_can_be_written());
  AKO_TRY_STATUS(read_prediction());
  AKO_TRY_STATUS(pass_gates());
  const std::int64_t started = base::monotonic_ns();
  if (base::Status built = build(); !built) return ended_early(std::move(built).error());
  AKO_TRY_STATUS(announce());
  look_for_the_same();
  if (m_built) AKO_TRY_STATUS(evaluate());
  if (m_verdict.outcome.kind == model::OutcomeKind::interrupted) return record_interruption();
  m_out.step = decide(m_verdict, m_request.flag_risk);
  if (m_built && m_out.step.decision == model::Decision::keep)
    AKO_TRY_STATUS(measure_against_baseline());
  look_for_the_fault();
  m_iteration.seconds = static_cast<double>(base::monotonic_ns() - started) / 1e9;
  AKO_TRY_STATUS(record());
  AKO_TRY_STATUS(hold_prediction());
  AKO_TRY_STATUS(settle_files());
  AKO_TRY_STATUS(stall_if_due());
  if (auto found = standing_stops(m_session)) m_out.stops = std::move(*found);
  return std::move(m_out);
}

base::Status Try::read_prediction() {
  if (m_request.predict.empty()) return {};
  std::vector<std::string> tags;
  for (const auto& shape : m_session.shapes()) tags.push_back(shape.tag);
  AKO_TRY(m_prediction, parse_prediction(m_request.predict, tags));
  return {};
}

base::Status Try::announce() {
  for (const ledger::Waiver& waiver : m_waivers) {
    AKO_TRY(const bool said, said_already(to_json(waiver), ledger::EventKind::waiver));
    if (!said) AKO_TRY_STATUS(append(waiver));
  }
  if (m_prediction.empty()) return {};
  // Of these sources: the number may come to be another candidate's, when this attempt is stopped.
  const ledger::Note note{"prediction",
                          fmt::format("iteration {} (sources {}): {}", m_out.number,
                                      m_sources.snapshot.hash.substr(0, 12), m_request.predict),
                          "user"};
  AKO_TRY(const bool said, said_already(to_json(note), ledger::EventKind::note));
  return said ? base::Status{} : append(note);
}

base::Expected<bool> Try::said_already(const base::Json& payload, ledger::EventKind kind) const {
  AKO_TRY(ledger::Reader reader, m_session.reader());
  bool found = false;
  const auto& last = m_facts.standing.last;
  AKO_TRY_STATUS(reader.each(
      kind,
      [&](const ledger::Event& event) -> base::Status {
        found = found || event.payload == payload;
        return {};
      },
      last ? last->event : 0));
  return found;
}

base::Status Try::hold_prediction() {
  if (m_prediction.empty()) return {};
  m_out.predicted = hold_against(m_prediction, m_verdict, m_iteration.artifact);
  return append(
      ledger::Note{"prediction_outcome",
                   fmt::format("iteration {}: {}", m_out.number, text_of(m_out.predicted)), "ako"});
}

void Try::look_for_the_same() {
  auto reader = m_session.reader();
  if (!reader) return;
  auto same = reader->with_snapshot(m_sources.snapshot.hash);
  if (same && *same) m_out.tried_before = **same;
  if (!m_out.tried_before)
    if (auto alike = with_attachment(*reader, base::sha256(normalised_hash(m_sources)));
        alike && *alike)
      m_out.tried_before = **alike;
  if (m_out.tried_before)
    m_out.warnings.push_back(fmt::format("this was tried before: iteration {} ({}) ended {}",
                                         m_out.tried_before->number, m_out.tried_before->hypothesis,
                                         model::to_string(m_out.tried_before->outcome)));
}

base::Expected<std::optional<ledger::IterationRow>> Try::with_attachment(ledger::Reader& reader,
                                                                         const base::Hash& hash) {
  AKO_TRY(base::Statement select,
          reader.database().prepare("SELECT json_extract(json, '$.snapshot.hash') FROM event WHERE "
                                    "kind = 'iteration' AND instr(json, ?) > 0 ORDER BY seq DESC "
                                    "LIMIT 1"));
  select.bind(1, std::string_view(hash));
  AKO_TRY(const bool any, select.step());
  if (!any) return std::optional<ledger::IterationRow>{};
  return reader.with_snapshot(select.text(0));
}

base::Status Try::pass_gates() {
  AKO_TRY(m_facts, m_session.facts());
  m_facts.direction_given = !m_request.direction.empty();
  AKO_TRY(m_cited, cited_by(m_request.hypothesis, m_request.cites, m_facts.standing.iterations));
  m_facts.citation = m_cited.empty() ? Citation::none : Citation::given;
  auto closed = closed_gates(Claim::iteration, m_facts);
  const Waivers waived = waivers_for(closed);
  AKO_TRY_STATUS(pass(closed, waived));
  AKO_TRY(ledger::Writer writer, m_session.writer());
  if (writer.recovery()) m_out.warnings.push_back(*writer.recovery());
  m_writer.emplace(std::move(writer));
  AKO_TRY(std::string made_up, catch_up(m_session, *m_writer, m_write_texts));
  if (!made_up.empty()) m_out.warnings.push_back(std::move(made_up));
  note_waivers(closed, waived);
  m_out.number = m_facts.standing.iterations + 1;
  AKO_TRY(m_incumbent, incumbent_of(m_session));
  return {};
}

void Try::note_waivers(const std::vector<ClosedGate>& closed, const Waivers& waived) {
  for (const auto& gate : closed) {
    m_iteration.waived.push_back(to_string(gate.gate));
    m_waivers.push_back({to_string(gate.gate), waived.at(gate.gate), "try", m_request.waived_by});
  }
}

base::Status Try::build() {
  base::progress(0, "building");
  // Mostly found in the cache; when not, they are built while the candidate is.
  auto incumbent = begin_build([&] { return build_incumbent_side(m_builder, m_incumbent); });
  auto reference = begin_build([&] { return m_builder.reference(); });
  AKO_TRY(BuildOutcome candidate, m_builder.candidate());
  AKO_TRY_STATUS(m_session.note_surroundings(*m_writer, m_builder.compiler()));
  m_out.messages = candidate.result.messages;
  if (!candidate.built) {
    m_sources = std::move(candidate.sources);
    m_verdict.outcome = candidate.result.outcome;
    if (candidate.result.error) m_verdict.outcome.reason = candidate.result.error->text();
    return {};
  }
  m_sources = candidate.built->sources;
  m_out.build_seconds = candidate.built->artifact.build_seconds;
  m_out.build_cached = candidate.built->artifact.from_cache;
  m_sides.candidate = *candidate.built;
  AKO_TRY(m_sides.incumbent, must_build(incumbent.get()));
  AKO_TRY(m_sides.reference, must_build(reference.get()));
  AKO_TRY_STATUS(built_from_what_was_proven());
  m_sides.against = m_incumbent.label;
  if (m_sides.candidate.artifact.library_hash == m_sides.incumbent.artifact.library_hash)
    return base::fail(base::ErrorKind::invalid,
                      "the candidate's binary is the incumbent's, byte for byte: nothing to try",
                      {.where = m_session.contract().kernel.entry.file,
                       .found = m_incumbent.label,
                       .allowed = "sources that compile to something else",
                       .next = "edit solution/ and run it again"});
  m_built = true;
  return {};
}

base::Status Try::built_from_what_was_proven() {
  const bool proven =
      m_facts.self_test_contract == m_facts.contract && m_facts.changed_since_check.empty();
  const std::string side = "baseline:" + m_incumbent.baseline;
  if (proven) {
    AKO_TRY_STATUS(built_as_proven("reference", *m_sides.reference, m_facts.proven));
    if (m_incumbent.iteration == 0)
      AKO_TRY_STATUS(built_as_proven(side, m_sides.incumbent, m_facts.proven));
  }
  // A baseline's figures are those of a binary: by another compiler it is another baseline.
  const model::Artifact& now = m_sides.incumbent.artifact;
  if (m_incumbent.iteration > 0 || m_facts.baseline.empty() ||
      now.library_hash == m_facts.baseline || now.compiler_identity == m_facts.baseline_compiler)
    return {};
  const ClosedGate other{Gate::baseline,
                         "the baseline now builds into another binary than the one that was "
                         "measured: by " +
                             now.compiler_identity + " instead of " + m_facts.baseline_compiler,
                         "ako baseline"};
  const Waivers waived = waivers_for({other});
  AKO_TRY_STATUS(pass({other}, waived));
  m_out.warnings.push_back(other.missing);
  note_waivers({other}, waived);
  return {};
}

base::Status Try::note_fills() {
  const bool proven =
      m_facts.self_test_contract == m_facts.contract && m_facts.changed_since_check.empty();
  if (!proven) {
    AKO_TRY(m_fills, files_of_fills(m_session.workdir(), m_builder));
    return {};
  }
  for (const ledger::FileSeen& file : m_facts.proven)
    if (file.role.starts_with("fill:")) m_fills.push_back(file);
  return {};
}

std::string Try::fills_edited() const {
  return model::join(changed_paths(m_session.workdir(), m_fills));
}

base::Status Try::evaluate() {
  AKO_TRY(std::vector<inputs::Recipe> recipes, judged_recipes(m_session));
  auto setup = set_up(m_session.workdir(), m_session.contract(), m_session.shapes(), m_sides,
                      recipes, Scope::whole, m_target);
  AKO_TRY_STATUS(note_fills());
  AKO_TRY(m_lease, take_lease(m_target));
  setup.request.tried = tried();
  m_hidden_seed = setup.hidden_seed;
  m_recipes = std::move(recipes);
  AKO_TRY(m_report, evaluation::evaluate(setup.request, setup.make_stage));
  m_verdict = m_report.verdict;
  if (const std::string edited = fills_edited();
      !edited.empty() && m_verdict.outcome.kind != model::OutcomeKind::interrupted) {
    m_verdict.confirmed = false;
    m_verdict.outcome = {model::OutcomeKind::stale,
                         model::default_fault(model::OutcomeKind::stale),
                         "inputs were edited while they were measured with: " + edited +
                             "; next: ako check",
                         {}};
  }
  m_out.phases = m_report.phases;
  for (const auto& line :
       base::get_or<base::Json>(m_report.correctness, "unproven", base::Json::array()))
    m_out.unproven.push_back(line.get<std::string>());
  note_compiled(m_report, m_sides.candidate);
  return {};
}

base::Status Try::measure_against_baseline() {
  if (m_incumbent.iteration == 0 &&
      stats::winner_rule(tried(), stats::Evidence::selection) == stats::Claim::stands) {
    m_iteration.versus_baseline = m_verdict;
    return {};
  }
  AKO_TRY(std::string name, fastest_baseline(m_session));
  // Judged as ever: what computes only while it is judged would be fast here.
  Sides sides{m_sides.candidate, {}, m_sides.reference, "baseline:" + name};
  AKO_TRY(sides.incumbent, must_build(m_builder.baseline(name)));
  auto setup = set_up(m_session.workdir(), m_session.contract(), m_session.shapes(), sides,
                      {inputs::Recipe::plain}, Scope::whole, m_target);
  setup.request.second_opinion = false;
  AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
  m_out.further_device_ns += report.phases.total_ns;
  if (report.verdict.outcome.kind == model::OutcomeKind::interrupted)
    m_out.warnings.push_back("stopped before it was measured against the baseline");
  else if (const std::string edited = fills_edited(); !edited.empty())
    m_out.warnings.push_back("it was not measured against the baseline: inputs were edited "
                             "meanwhile: " +
                             edited);
  else if (report.verdict.outcome.fault == model::Fault::candidate)
    overrule(std::move(report), setup.hidden_seed);
  else if (report.verdict.outcome.fault != model::Fault::none)
    m_out.warnings.push_back("it was not measured against the baseline: " +
                             report.verdict.outcome.reason);
  else {
    m_iteration.versus_baseline = report.verdict;
    m_versus_samples = std::move(report.samples.rows);
  }
  return {};
}

void Try::look_for_the_fault() {
  if (!m_built || !m_target.device || m_verdict.outcome.fault != model::Fault::candidate) return;
  FaultRequest request;
  request.tools = tools_for(m_verdict.outcome);
  if (request.tools.empty()) return;
  const std::int64_t started = base::monotonic_ns();
  LaunchRequest wanted;
  wanted.shape = shape_of_fault(m_verdict.outcome);
  if (wanted.shape.empty()) wanted.shape = m_session.shapes().front().tag;
  wanted.hidden_seed = m_hidden_seed, wanted.device = m_target.device->uuid;
  auto launch = PlainLaunch::of(m_session, m_sides.candidate, wanted);
  if (!launch) {
    m_out.warnings.push_back("the fault was not looked for: " + launch.error().text());
    return;
  }
  request.target = launch->command(), request.environment = m_sides.candidate.spec.environment;
  request.at = fmt::format("shape {}, seed {}", wanted.shape, wanted.seed);
  request.working_folder = m_session.workdir().task().string(), request.sources = &m_sources;
  FaultLook look = look_for_fault(request, executors::local_runner());
  m_out.further_device_ns += base::monotonic_ns() - started;
  m_pages = std::move(look.pages);
  auto& evidence = m_verdict.outcome.evidence;
  for (auto& each : look.evidence) {
    m_out.places.push_back(each.text);
    evidence.push_back(std::move(each));
  }
  for (auto& warning : look.warnings)
    m_out.warnings.push_back("the fault was not found: " + std::move(warning));
}

void Try::overrule(evaluation::Report report, std::uint64_t hidden_seed) {
  m_report = std::move(report);
  m_hidden_seed = hidden_seed;
  m_recipes = {inputs::Recipe::plain};
  m_verdict = m_report.verdict;
  m_verdict.outcome.reason =
      "measured against " + m_verdict.against + ": " + m_verdict.outcome.reason;
  m_out.step = decide(m_verdict, m_request.flag_risk);
}

tl::unexpected<base::Error> Try::ended_early(base::Error error) {
  if (error.kind == base::ErrorKind::interrupted)
    if (auto noted = append(ledger::Interrupted{"try", error.message, m_out.number}); !noted)
      error = noted.error();
  return tl::unexpected(std::move(error));
}

base::Expected<TryResult> Try::record_interruption() {
  AKO_TRY_STATUS(append(ledger::Interrupted{"try", m_verdict.outcome.reason, m_out.number}));
  return base::fail(base::ErrorKind::interrupted, "stopped; nothing was decided",
                    {.where = fmt::format("iteration {}", m_out.number),
                     .found = {},
                     .allowed = {},
                     .next = "solution/ is as it was: run the same command again"});
}

base::Expected<TryResult> try_candidate(const Session& session, const TryRequest& request,
                                        const TextWriter& write_texts) {
  if (request.hypothesis.find_first_not_of(" \t\r\n") == std::string::npos)
    return base::fail(base::ErrorKind::usage, "an iteration needs a hypothesis",
                      {.where = "--hypothesis",
                       .found = "nothing",
                       .allowed = "one sentence: what was changed and why it should be faster",
                       .next = "ako try --hypothesis \"...\""});
  AKO_TRY(Target target, session.target());
  return Try(session, request, write_texts, std::move(target)).run();
}

base::Expected<std::vector<Stop>> standing_stops(const Session& session) {
  constexpr std::int64_t k_recent = 6;
  StopFacts facts;
  for (const auto& shape : session.shapes()) facts.shapes.push_back(shape.tag);
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(const auto rows, reader.page(k_recent));
  for (const auto& row : rows) {
    AKO_TRY(auto recorded, reader.iteration(row.number));
    if (recorded) facts.recent.push_back(std::move(recorded->payload));
  }
  AKO_TRY(const auto ports, reader.all<ledger::Port>());
  for (const auto& each : ports) {
    const auto iteration = base::get_or<std::int64_t>(each.payload.data, "iteration", 0);
    // Of one port the last word counts.
    if (each.payload.state == "rejected") {
      facts.rejected_iteration = iteration;
      facts.rejected_reason = each.payload.detail;
      facts.confirmed_iteration = 0;
    }
    if (each.payload.state == "confirmed") facts.confirmed_iteration = iteration;
  }
  return stops(facts);
}

} // namespace ako::loop
