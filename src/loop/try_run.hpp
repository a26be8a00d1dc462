// One `ako try`, step by step. Judging is in try.cpp; what goes on record, and what becomes of the
// files and of a stall, in try_record.cpp. Of this room alone.
#pragma once

#include "ledger/writer.hpp"
#include "loop/builds.hpp"
#include "loop/gates.hpp"
#include "loop/incumbent.hpp"
#include "loop/try.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ako::loop {

/// Each step leaves what the next one needs in a member.
class Try {
public:
  Try(const Session& session, const TryRequest& request, const TextWriter& write_texts,
      Target target)
      : m_session(session), m_request(request), m_write_texts(write_texts),
        m_target(std::move(target)),
        m_builder(session.workdir(), session.contract(), m_target.architecture()) {}
  base::Expected<TryResult> run();

private:
  base::Status read_prediction();
  /// The waivers and the prediction, once there is something to judge and before anything is
  /// measured: nobody can bend a prediction to the figures afterwards. An attempt that was refused
  /// leaves none; one that was stopped and is made again does not say the same twice.
  base::Status announce();
  base::Expected<bool> said_already(const base::Json& payload, ledger::EventKind kind) const;
  base::Status hold_prediction();
  /// An attempt that failed comes back under another hypothesis, or with other comments: it is
  /// measured again if that is wanted, but not unknowingly.
  void look_for_the_same();
  /// The iteration that carries an attachment of this hash.
  static base::Expected<std::optional<ledger::IterationRow>>
  with_attachment(ledger::Reader& reader, const base::Hash& hash);
  base::Status pass_gates();
  /// On record with each gate's own reason.
  void note_waivers(const std::vector<ClosedGate>& closed, const Waivers& waived);
  Waivers waivers_for(const std::vector<ClosedGate>& closed) const {
    return m_request.waive ? waive_all(closed, m_request.waive) : m_request.waivers;
  }
  template <class Payload> base::Status append(const Payload& payload) {
    AKO_TRY(ledger::Appended appended, m_writer->append(payload));
    m_head = appended.hash;
    return {};
  }
  base::Status build();
  /// The gates looked at files; what judges is what a compiler made of them a moment later.
  base::Status built_from_what_was_proven();
  base::Status evaluate();
  /// Inputs are read while they are measured with: they must be the same before and after.
  base::Status note_fills();
  std::string fills_edited() const; ///< empty: none
  /// Candidates so far, this one included.
  int tried() const { return static_cast<int>(m_facts.standing.iterations) + 1; }
  /// The final figure is measured, never a product of steps; and afresh where the samples that
  /// would give it are those that chose one of several.
  base::Status measure_against_baseline();
  /// Where the judge saw what points at a race or at memory: one plain launch under the tools that
  /// name the place. They only add to what was seen.
  void look_for_the_fault();
  /// What was seen of the candidate there decides the iteration, and can be seen again from its
  /// record.
  void overrule(evaluation::Report report, std::uint64_t hidden_seed);
  /// An error before there was anything to judge. That the user stopped it is on record as well.
  tl::unexpected<base::Error> ended_early(base::Error error);
  base::Expected<TryResult> record_interruption();

  base::Status record();
  /// With its samples, so that this figure too can be worked out again.
  base::Status record_against_baseline();
  /// The difference to the incumbent as git shows it, the judge's lines, what was loaded.
  std::vector<ledger::Attachment> attachments();
  std::vector<std::string> recipe_names() const;
  base::Status stall_if_due();
  base::Status settle_stall();
  /// A stall asks for evidence, not for another guess. A look that fails stops nothing.
  void look_at_incumbent(ledger::Stall& stall);
  /// The incumbent against itself: its figures anew, so that nobody argues from stale ones.
  base::Expected<std::vector<ledger::ShapeFigure>> measure_incumbent_again();
  /// Files last: the record stands whatever happens to them. What was edited since it was judged is
  /// the user's and stays; what is committed is what was judged.
  base::Status settle_files();
  base::Status commit_files(const model::Sources& candidate);
  base::Status tell_of_edit(bool was_to_go_back);
  /// task.toml and what else decides, where it is no longer what this iteration was judged with.
  std::vector<std::string> edited_beside() const;

  const Session& m_session;
  const TryRequest& m_request;
  const TextWriter& m_write_texts;
  Target m_target;
  Builder m_builder;
  Facts m_facts;
  std::vector<Term> m_prediction;
  std::vector<ledger::Waiver> m_waivers;
  std::vector<ledger::FileSeen> m_fills;
  Incumbent m_incumbent;
  std::vector<std::string> m_cited;
  std::optional<ledger::Writer> m_writer;
  std::optional<executors::Lease> m_lease;
  base::Hash m_head;
  model::Sources m_sources;
  Sides m_sides;
  bool m_built = false;
  evaluation::Report m_report;
  std::uint64_t m_hidden_seed = 0;
  std::vector<inputs::Recipe> m_recipes;
  model::Verdict m_verdict;
  std::vector<model::Sample> m_versus_samples; ///< where it was measured against the baseline apart
  std::vector<ledger::Attachment> m_pages;     ///< of the tools that looked for a fault
  ledger::Iteration m_iteration;
  TryResult m_out;
};

} // namespace ako::loop
