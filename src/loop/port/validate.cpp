#include "loop/port/validate.hpp"

#include "base/log.hpp"
#include "executors/runner.hpp"
#include "loop/interrupt.hpp"
#include "loop/port/flags.hpp"
#include "loop/port/gate_runs.hpp"
#include "loop/port/target_library.hpp"
#include "loop/profile.hpp"
#include "loop/recipes.hpp"
#include "loop/setup.hpp"
#include "loop/try.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::loop {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;
namespace fs = base::fs;

namespace {

class Validating {
public:
  Validating(const Session& session, const ValidateRequest& request, workspace::PortStore store,
             model::PortSpec spec, PortState port)
      : m_session(session), m_request(request), m_store(std::move(store)), m_spec(std::move(spec)),
        m_port(std::move(port)), m_contract(session.contract()) {}

  Expected<ValidateResult> run() {
    AKO_TRY(base::FileLock lock, m_session.lock());
    AKO_TRY_STATUS(begin());
    AKO_TRY(const bool built, build_both());
    if (built) {
      AKO_TRY_STATUS(compare_flags());
      if (!m_spec.measure.empty() && !m_request.gates_only) AKO_TRY_STATUS(measure_operator());
      if (passed_all()) AKO_TRY_STATUS(run_gates());
      if (passed_all()) look_at_profiles();
    }
    AKO_TRY_STATUS(conclude());
    return std::move(m_out);
  }

private:
  Status begin() {
    AKO_TRY(ledger::Writer writer, m_session.writer());
    m_writer.emplace(std::move(writer));
    AKO_TRY(const Facts facts, m_session.facts());
    auto closed = closed_gates(Claim::port, facts);
    AKO_TRY_STATUS(pass(closed, m_request.waive));
    for (const auto& gate : closed)
      AKO_TRY_STATUS(
          append(ledger::Waiver{to_string(gate.gate), *m_request.waive, "validate", "user"}));
    const std::string branch = base::get_or<std::string>(m_port.port.data, "target_branch", "");
    AKO_TRY(const std::string tip, m_store.tip(branch));
    if (tip != m_port.base)
      return fail(ErrorKind::refused, "the target branch moved since the port was made",
                  {.where = m_store.repository().string(),
                   .found = fmt::format("{} at {}", branch, tip.substr(0, 12)),
                   .allowed = "the commit the port stands on: " + m_port.base.substr(0, 12),
                   .next = "ako port"});
    AKO_TRY(const auto now, m_store.branch_commit(m_port.port.branch));
    if (!now || *now != m_port.port.commit)
      return fail(ErrorKind::refused, "the port's branch is not as it was tested",
                  {.where = m_store.repository().string(),
                   .found = m_port.port.branch + (now ? " at " + now->substr(0, 12) : " is gone"),
                   .allowed = m_port.port.commit.substr(0, 12),
                   .next = "ako port"});
    m_out.branch = m_port.port.branch;
    m_out.commit = m_port.port.commit;
    if (m_spec.measure.empty() && m_contract.gates.empty())
      return fail(ErrorKind::refused, "nothing would show that the target got faster",
                  {.where = "task.toml",
                   .found = "neither [port] measure nor a [[gate]]",
                   .allowed = "the operator in the target, or a command with a number",
                   .next = "add one of them (docs/discipline.md has examples)"});
    return {};
  }

  template <class Payload>
  Status append(const Payload& payload, std::vector<ledger::Attachment> blobs = {},
                std::vector<model::Sample> samples = {}) {
    return m_writer->append(payload, std::move(blobs), std::move(samples)).map([](const auto&) {});
  }

  Status step(ledger::Validation validation, std::vector<ledger::Attachment> blobs = {},
              std::vector<model::Sample> samples = {}) {
    AKO_TRY_STATUS(append(validation, std::move(blobs), std::move(samples)));
    m_out.steps.push_back(std::move(validation));
    return {};
  }

  bool passed_all() const {
    return std::all_of(m_out.steps.begin(), m_out.steps.end(),
                       [](const auto& each) { return each.passed; });
  }

  std::string switch_variable() const {
    return m_spec.switch_kind == model::PortSpec::Switch::environment ? m_spec.switch_name
                                                                      : std::string();
  }

  /// The base in its own tree, never a switch in the same binary: the old side is what production
  /// has.
  Expected<bool> build_both() {
    AKO_TRY(m_out.old_tree, m_store.work_tree("old", m_port.base, {}));
    AKO_TRY(m_out.new_tree, m_store.work_tree("new", m_port.port.commit, {}));
    if (m_spec.build.empty()) {
      m_out.untested.emplace_back("nothing was built: [port] build is not set");
      return true;
    }
    const std::pair<fs::path, const char*> sides[] = {{m_out.old_tree, "old"},
                                                      {m_out.new_tree, "new"}};
    for (const auto& [tree, side] : sides) {
      base::progress(0, std::string("building the target, ") + side);
      AKO_TRY(const auto result, run_in_tree(m_spec.build, tree, side, switch_variable(),
                                             m_spec.build_seconds, executors::local_runner()));
      ledger::Validation out{std::string("build:") + side, result.ok(), {}, {}};
      out.detail = result.ok() ? fmt::format("{:.1f} s", static_cast<double>(result.wall_ns) / 1e9)
                   : result.timed_out ? fmt::format("not done in {} s", m_spec.build_seconds)
                                      : result.ending.text() + ": " + tail_of(result);
      const bool good = result.ok();
      AKO_TRY_STATUS(step(std::move(out), {{"output", result.out + result.err}}));
      if (!good) return false;
    }
    return true;
  }

  Status compare_flags() {
    if (m_spec.compile_commands.empty() || m_spec.call_site.empty()) {
      m_out.untested.emplace_back("the target's compiler flags were not compared with the measured "
                                  "ones: [port] compile_commands is not set");
      return {};
    }
    AKO_TRY(ledger::Reader reader, m_session.reader());
    AKO_TRY(const auto iteration, reader.iteration(m_port.iteration));
    const std::string measured =
        iteration && iteration->payload.artifact ? iteration->payload.artifact->compile_line : "";
    AKO_TRY(const std::string json, base::read_file(m_out.new_tree / m_spec.compile_commands));
    AKO_TRY(const std::string target, compile_command(json, m_spec.call_site));
    const auto differences = flag_differences(measured, target);
    ledger::Validation out{"flags", true, "as measured", {}};
    if (!differences.empty()) {
      out.detail.clear();
      for (const auto& each : differences) out.detail += (out.detail.empty() ? "" : "; ") + each;
      m_out.untested.push_back("compiled with other flags than measured: " + out.detail);
    }
    out.data = {{"measured", measured}, {"target", target}, {"differences", differences}};
    // Other flags are a risk to be seen; whether they matter is what is measured next.
    return step(std::move(out));
  }

  Expected<TargetLibrary> library_in(const fs::path& tree) {
    TargetLibrary out;
    out.tree = tree;
    if (is_python(m_contract.kernel.lane)) {
      out.path = tree;
      AKO_TRY(out.hash, workspace::Git(tree).run({"rev-parse", "--verify", "HEAD^{commit}"}));
      return out;
    }
    if (m_spec.library.empty())
      return fail(ErrorKind::invalid, "it is not said where the function to be measured is",
                  {.where = "task.toml [port] library",
                   .found = "nothing",
                   .allowed = "the shared library that [port] build makes",
                   .next = "name it beside measure"});
    AKO_TRY(out.path, base::resolve_inside(tree, m_spec.library));
    auto hash = base::sha256_file(out.path);
    if (!hash)
      return fail(ErrorKind::invalid, "the build made no such library",
                  {.where = out.path.string(),
                   .found = hash.error().text(),
                   .allowed = "the shared library that [port] build makes",
                   .next = "mend [port] library or build"});
    out.hash = *hash;
    return out;
  }

  Status measure_operator() {
    AKO_TRY(const Incumbent incumbent, incumbent_of(m_session));
    if (incumbent.kernel) m_contract.kernel = *incumbent.kernel;
    AKO_TRY(const TargetLibrary old_library, library_in(m_out.old_tree));
    AKO_TRY(const TargetLibrary new_library, library_in(m_out.new_tree));
    if (old_library.hash == new_library.hash)
      return step({"operator",
                   false,
                   "both builds are the same, byte for byte: the new kernel is not in the library",
                   {{"library", new_library.hash}}});
    AKO_TRY(const Target target, m_session.target());
    Builder builder(m_session.workdir(), m_contract, target.architecture());
    Sides& sides = m_sides;
    AKO_TRY(sides.candidate, target_side(builder, m_contract, m_spec, incumbent.sources,
                                         new_library, lanes::Role::candidate, "new"));
    AKO_TRY(sides.incumbent, target_side(builder, m_contract, m_spec, incumbent.sources,
                                         old_library, lanes::Role::incumbent, "old"));
    AKO_TRY(sides.reference, must_build(builder.reference()));
    sides.against = "target:" + m_port.base.substr(0, 12);
    AKO_TRY(const auto recipes, judged_recipes(m_session));
    auto setup = set_up(m_session.workdir(), m_contract, m_session.shapes(), sides, recipes,
                        Scope::whole, target);
    AKO_TRY(executors::Lease lease, take_lease(target));
    AKO_TRY(evaluation::Report report, evaluation::evaluate(setup.request, setup.make_stage));
    if (report.verdict.outcome.kind == model::OutcomeKind::interrupted) {
      AKO_TRY_STATUS(append(ledger::Interrupted{"validate", report.verdict.outcome.reason, 0}));
      return fail(ErrorKind::interrupted, "stopped; nothing was decided",
                  {.where = "ako validate", .found = {}, .allowed = {}, .next = "run it again"});
    }
    return record_operator(report, target, old_library, new_library);
  }

  /// Of modules: the tree is at its commit, and no tracked file differs from it.
  Expected<bool> unchanged(const TargetLibrary& library) {
    if (!is_python(m_contract.kernel.lane)) {
      auto hash = base::sha256_file(library.path);
      return hash && *hash == library.hash;
    }
    const workspace::Git git(library.path);
    AKO_TRY(const std::string head, git.run({"rev-parse", "--verify", "HEAD^{commit}"}));
    AKO_TRY(const std::string changes,
            git.run({"status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"}));
    return head == library.hash && changes.empty();
  }

  Status record_operator(evaluation::Report& report, const Target& target,
                         const TargetLibrary& old_library, const TargetLibrary& new_library) {
    const model::Verdict& verdict = report.verdict;
    m_out.verdict = verdict;
    ledger::Validation out{
        "operator",
        verdict.outcome.kind == model::OutcomeKind::improved,
        fmt::format("{}: {}", model::to_string(verdict.outcome.kind), verdict.outcome.reason),
        {}};
    for (const auto& library : {old_library, new_library}) {
      AKO_TRY(const bool same, unchanged(library));
      if (same) continue;
      out.passed = false;
      out.detail = "what was loaded changed while it was measured: " + library.path.string();
    }
    out.data = {{"verdict", model::to_json(verdict)},
                {"old_library", old_library.hash},
                {"new_library", new_library.hash},
                {"contract", m_contract.hash},
                {"device", target.name()},
                {"seed", report.seed},
                {"loaded", report.loaded}};
    return step(std::move(out), {{"correctness", base::dump_json(report.correctness)}},
                std::move(report.samples.rows));
  }

  Status note_changed_terms() {
    AKO_TRY(ledger::Reader reader, m_session.reader());
    AKO_TRY(auto recorded, reader.all<ledger::Validation>());
    std::vector<ledger::Validation> before;
    for (auto& each : recorded) before.push_back(std::move(each.payload));
    for (auto& each : changed_terms(m_contract.gates, before))
      m_out.untested.push_back(std::move(each));
    return {};
  }

  Status run_gates() {
    AKO_TRY_STATUS(note_changed_terms());
    GateTrees trees{m_out.old_tree, m_out.new_tree, switch_variable(),
                    m_contract.limits.evaluation_seconds};
    for (const auto& gate : m_contract.gates) {
      AKO_TRY(ledger::Validation out, run_gate(gate, trees, executors::local_runner()));
      AKO_TRY_STATUS(step(std::move(out)));
    }
    if (m_contract.gates.empty())
      m_out.untested.emplace_back(
          "no model or service level benchmark: the contract has no [[gate]]");
    return {};
  }

  /// The function in the target before and after: why it got faster. Without counters it is
  /// reasoned from the measured times, and says so. A look that fails rejects nothing.
  void look_at_profiles() {
    if (!m_out.verdict) {
      m_out.untested.emplace_back("no profile: the operator was not measured in the target");
      return;
    }
    for (const Built* side : {&m_sides.incumbent, &m_sides.candidate}) {
      ProfileRequest request;
      request.side = side->label;
      request.built = *side;
      for (const auto& shape : m_out.verdict->shapes)
        request.times_ns[shape.tag] = side == &m_sides.candidate ? shape.new_ns : shape.old_ns;
      auto looked = profile(m_session, request, executors::local_runner());
      if (looked)
        m_out.steps.push_back({"profile:" + side->label, true, profile_summary(*looked), {}});
      else m_out.untested.push_back("no profile of " + side->label + ": " + looked.error().text());
    }
  }

  /// Ended by the machine, or without an answer: neither confirmed nor rejected.
  bool left_open() const {
    return m_out.verdict && (m_out.verdict->outcome.fault == model::Fault::machine ||
                             m_out.verdict->outcome.kind == model::OutcomeKind::undecided);
  }

  Status conclude() {
    const auto failed = std::find_if(m_out.steps.begin(), m_out.steps.end(),
                                     [](const auto& each) { return !each.passed; });
    const bool shown = std::any_of(m_out.steps.begin(), m_out.steps.end(), [](const auto& each) {
      return each.name == "operator" || each.name.starts_with("gate:");
    });
    if (left_open() || (failed == m_out.steps.end() && (!shown || m_request.gates_only))) {
      m_out.state = k_integrated;
      m_out.reason = left_open() ? m_out.verdict->outcome.reason
                                 : "the gates passed; the operator was not measured again";
      return {};
    }
    const bool good = failed == m_out.steps.end();
    m_out.state = good ? k_confirmed : k_rejected;
    const bool micro_won =
        m_out.verdict && m_out.verdict->outcome.kind == model::OutcomeKind::improved;
    m_out.reason = good ? "measured in the target against its own baseline"
                        : fmt::format("{}{}: {}",
                                      micro_won ? "the operator won, and that did not carry: " : "",
                                      failed->name, failed->detail);
    ledger::Port port = m_port.port;
    port.state = m_out.state;
    port.detail = m_out.reason;
    port.data["untested"] = m_out.untested;
    if (m_out.verdict) port.data["verdict"] = model::to_json(*m_out.verdict);
    return append(port);
  }

  const Session& m_session;
  const ValidateRequest& m_request;
  workspace::PortStore m_store;
  model::PortSpec m_spec;
  PortState m_port;
  model::Contract m_contract; ///< with the [kernel] that the incumbent was kept under
  std::optional<ledger::Writer> m_writer;
  Sides m_sides; ///< the target's functions, as they were measured
  ValidateResult m_out;
};

} // namespace

Expected<ValidateResult> validate(const Session& session, const ValidateRequest& request) {
  AKO_TRY(model::PortSpec spec, model::load_port(session.workdir().task()));
  AKO_TRY(auto port, standing_port(session));
  if (!port || !spec.declared)
    return fail(ErrorKind::refused, "the incumbent is not in the target yet",
                {.where = session.workdir().task().string(),
                 .found = "no port of it on record",
                 .allowed = "a port of the incumbent, integrated and tested",
                 .next = "ako port"});
  AKO_TRY(workspace::PortStore store, open_store(session, spec));
  return Validating(session, request, std::move(store), std::move(spec), std::move(*port)).run();
}

} // namespace ako::loop
