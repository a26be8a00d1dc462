// One round of measuring in pieces: pairs of blocks (measuring.cpp), one block and what is seen of
// it (block.cpp), and what a win must stand before it counts: audit.cpp grades more of it,
// confirm.cpp takes its times in other ways. Of this room alone.
#pragma once

#include "evaluation/claims.hpp"
#include "evaluation/measuring.hpp"
#include "evaluation/watch.hpp"

#include <map>

namespace ako::evaluation {

/// Two blocks that belong together, with what was seen around them.
struct PairRun {
  stats::Pair pair;
  model::Sample rows[2];
  judge::PairClaims claims;
};

class Rounds {
public:
  Rounds(Stage& stage, const Request& request, const stats::Plan& plan, std::uint64_t seed,
         Round round, int scrutiny);
  base::Expected<Measured> run();

private:
  using Side = model::Side;

  // Pairs, placement after placement.
  base::Expected<std::vector<stats::Pair>> run_shape();
  /// The first timing decides how blocks are cut; it is not a sample.
  base::Status plan_shape();
  void set_floor();
  base::Expected<stats::Pair> run_pair_until_quiet(Grader& grader);
  base::Expected<PairRun> run_pair(Grader& grader);
  /// Calls that come alone, first on the untimed set, then on a timed one: each must write its own
  /// outputs and no others.
  base::Status look_at_lone_calls();
  void report_progress() const;
  /// Faster than the machine can be: the candidate's claim is void; the incumbent's, the contract.
  base::Status check_floors();

  // One block.
  /// Of one side: marks laid, timed, marks looked at, one set graded by lot.
  base::Expected<model::Sample> run_block(Side side, int turn, Grader& grader);
  /// Marks laid on the job's sets, timed, marks and times looked at. Nothing where it ended.
  struct Observed {
    client::SampleReport report;
    client::CheckReport checked;
  };
  enum class Swept { no, by_keeper }; ///< the cache, when the marks are laid
  base::Expected<std::optional<Observed>> observe(Side side, const client::SampleJob& job,
                                                  Swept swept = Swept::no);
  base::Status grade(Side side, const client::CheckReport& checked, model::Sample& row,
                     Grader& grader);
  base::Status grade_set(Side side, int set, Grader& grader);
  /// The set whose outputs look most like marks where marks prove nothing; -1 = none does.
  int doubtful_set(const client::CheckReport& checked) const;
  base::Status look_at(Side side, const client::SampleReport& report,
                       const client::CheckReport& checked, std::int64_t ordered);
  /// Threads and processes that came along.
  std::vector<model::Evidence> strays(Side side, const client::SampleReport& report);
  /// Operations and memory of a device.
  std::vector<model::Evidence> device_signs(Side side, const client::SampleReport& report);
  /// The candidate's evidence is kept and may end it; the incumbent's makes the task wrong.
  base::Status take(Side side, std::vector<model::Evidence> evidence);
  /// One weak sign of a kind for each shape is enough.
  bool kept(const model::Evidence& sign) const;
  client::SampleJob timed_job() const;
  /// The timed sets in an order drawn by lot: who is called next is nobody's to know.
  std::vector<int> drawn_order();

  // Before a win counts.
  /// A win that comes early leaves few calls graded: the rest of those that it takes are made here,
  /// as far as a second suffices, each shape its share of it.
  base::Status audit();
  base::Status audit_shape(std::int64_t wanted);
  /// A block of the candidate on new content, graded as far as the audit's time suffices.
  base::Status run_audited(Grader& grader);
  /// A kernel may be right for as long as it is looked at and wrong ever after: one block behind a
  /// thousand calls is graded.
  base::Status look_late();
  /// Calls that nobody times or looks at.
  base::Status make_calls(std::int64_t until);
  bool audit_is_over() const;

  /// Faster than what it replaces by its own clock alone.
  base::Status check_claims();
  /// Pairs whose untimed calls come before the timed contents are there, so that nothing can be
  /// done ahead: what is still saved then, and still missing outside, is honest.
  base::Expected<Claims> without_preparation();
  /// An alarm that does not stand there is taken back; a win that the outside clock leaves open
  /// must stand there.
  base::Status look_again(bool win, std::vector<model::Evidence>& evidence);
  /// One pair of blocks on new contents, each run by `sample`, in an order drawn by coin; again
  /// where it was disturbed. False where it stayed so, or where it ended.
  using Sampled = std::function<base::Expected<std::optional<client::SampleReport>>(Side)>;
  base::Expected<bool> sample_both(const Sampled& sample, client::SampleReport (&reports)[2]);
  /// What a win claims is measured again where a clock that was bent by little and a cache that was
  /// not emptied show.
  base::Status confirm();
  /// Blocks long enough for the outside clock to see a small share of them.
  base::Status confirm_clock();
  /// Lone calls behind a sweep by the keeper.
  base::Status confirm_cold();
  bool confirms() const;

  const model::ResolvedShape& shape() const { return m_request.shapes[m_index]; }
  BlockPlan& blocks() { return m_out.blocks[m_index]; }
  const BlockPlan& blocks() const { return m_out.blocks[m_index]; }
  bool on_host() const { return m_request.contract->kernel.lane == model::Lane::cpu; }
  judge::Place place() const;
  void end(const client::WorkerFailure& failure, Side side);
  /// New buffers, new content, both sides ready.
  base::Status open(int sets);
  base::Status renew_content();
  bool stopped();

  Stage& m_stage;
  const Request& m_request;
  stats::Plan m_plan;
  Coins m_coins;
  Watch m_watch;
  Round m_round;
  stats::DisturbedPolicy m_policy;
  stats::Series m_series;
  Measured m_out;
  Content m_content;
  std::vector<Claims> m_claims;         ///< per shape
  std::vector<std::int64_t> m_graded;   ///< per shape: timed calls of the candidate
  std::vector<std::int64_t> m_called;   ///< per shape: calls in blocks, warm-up included
  std::map<Side, int> m_threads;        ///< of each side when it had loaded
  std::vector<std::int64_t> m_taken[2]; ///< device memory, per block of this placement: old, new
  int m_usual_threads = 0;              ///< that came to the incumbent since
  int m_scrutiny = 0;
  bool m_late = false;            ///< in the block behind the calls of look_late()
  std::int64_t m_audit_until = 0; ///< 0 = before the audit
  std::vector<Scales> m_scales;   ///< per shape, of the plain recipe
  client::SampleReport m_last;    ///< of the block that ran last
  std::int64_t m_grading_ns = 0;
  std::size_t m_index = 0;
  int m_placement = 0, m_pair = 0, m_lot = 0; ///< m_lot: the pair whose blocks are graded
  bool m_large = false;
};

} // namespace ako::evaluation
