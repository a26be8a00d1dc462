// The sequential paired test over placements: which of two programs is faster, by how much, and
// whether that is enough to say so.
//
// The replicate is the placement (new shared buffers), never the sample. Within a placement both
// sides take turns, each pair in an order that the caller drew by coin. After each placement the
// caller asks `look`; the answer is to go on or a decision. Everything here is a pure function of
// the series: asking twice gives the same answer, and the order of placements already in the series
// matters only for which look stopped.
#pragma once

#include "base/error.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ako::stats {

enum class Order { old_first, new_first };
enum class Condition { quiet, disturbed }; ///< disturbed pairs are left out

/// Two neighbouring measurements of one shape on the same buffers.
struct Pair {
  double old_ns = 0, new_ns = 0; ///< time of ONE call, by the deciding clock
  Order order = Order::old_first;
  Condition condition = Condition::quiet;
  double old_clock = 1, new_clock = 1; ///< clock during each, against the session's median
};

/// What was measured on one set of buffers: pairs[s] belongs to Series::shapes[s].
struct Placement {
  std::vector<std::vector<Pair>> pairs;
};

struct Shape {
  std::string tag;
  double weight = 1; ///< calls in production
};

struct Series {
  std::vector<Shape> shapes;
  std::vector<Placement> placements;
};

/// Whether times are multiplied by the clock that was seen during them before they are compared
/// (for kernels bound by the core's clock; wrong for those bound by memory).
enum class ClockUse { as_measured, normalised };

struct Plan {
  double min_gain = 0.02;       ///< a win is a gain shown to exceed this
  double max_regression = 0.02; ///< each shape's gain must be shown to exceed minus this
  double alpha = 0.001;         ///< stated chance of a false `improved`, one-sided, whole run
  double spend = 0.7;           ///< share of alpha that the test uses; the rest is margin
  double level = 0.99;          ///< of the intervals, valid at whatever look the run stopped
  /// Stated chance, whole run, of calling equivalent what lies on a limit: two one-sided tests, one
  /// for each limit.
  double equivalence_alpha = 0.05;
  int most_placements = 20;
  int pairs_per_placement = 10;
  int first_look = 2; ///< placements before the first look
  int candidates = 1; ///< K when the best of K is tested: alpha is divided by it
  /// Standard deviation of the gain from placement to placement that is not exceeded on shared
  /// buffers. Used before the spread can be estimated well (up to 4 placements), and only while the
  /// spread that is seen stays below what it and the pairs' own noise make together: lets a clear
  /// case end after 2. 0 = assume nothing.
  double placement_spread = 0.01;
  /// Largest difference that may stand between the sides by chance for a whole placement, e.g. two
  /// clock states where the clock is not watched. Until 7 placements have been seen, every interval
  /// is wider by it, because a few placements may all fall on the same side.
  double unwatched_step = 0;
  /// Step of the deciding clock in the time of one call (step / calls of a batch). Differences
  /// below it are not resolved however often they are seen: every interval is wider by it on both
  /// sides.
  double tick_ns = 0;
  ClockUse clock = ClockUse::as_measured;
};

/// A plan that cannot be carried out (alpha outside (0, 0.5), no placements, ...): kind invalid.
base::Status check(const Plan& plan);

enum class State {
  go_on,      ///< measure another placement and look again
  improved,   ///< gain shown above min_gain, every shape shown within max_regression
  equivalent, ///< gain shown inside +- min_gain, no shape shown beyond max_regression
  regressed,  ///< gain shown below -min_gain, or a shape shown beyond max_regression
  undecided,  ///< the placements are used up
  invalid     ///< too few quiet pairs are left to judge by
};
const char* to_string(State state);

/// Gain = 1 - new/old; `low` and `high` hold it with probability `Plan::level` at any stopping.
/// `low` is minus infinity where fewer than two placements are usable.
struct Gain {
  double value = 0, low = 0, high = 0;
};

/// within: shown (at alpha) to lose less than max_regression; beyond: shown (by the interval) to
/// lose more; open: neither.
enum class Regression { within, beyond, open };
const char* to_string(Regression regression);

struct ShapeResult {
  std::string tag;
  double weight = 1;
  double old_ns = 0, new_ns = 0; ///< centres of one call's time; new/old is 1 - gain
  Gain gain;
  Regression regression = Regression::open;
};

/// What it would take to decide, at the spread seen so far.
struct More {
  bool reachable = false; ///< within most_placements
  int placements = 0;     ///< in all; 0 = no number helps (the gain sits on a boundary)
  std::string text;       ///< one sentence with the numbers
};

struct Decision {
  State state = State::go_on;
  Gain gain;              ///< of the weighted sum of times
  double spread = 0;      ///< standard deviation of the gain from placement to placement
  double alpha_spent = 0; ///< of Plan::alpha, so far
  int placements = 0;     ///< usable ones
  int pairs = 0;          ///< quiet pairs used, all shapes
  std::vector<ShapeResult> shapes;
  std::optional<More> more; ///< with undecided
  std::string reason;       ///< one sentence with the numbers and the threshold that decided
};

/// The state of the run after the placements in `series`. Errors (kind invalid): no shapes, weights
/// or times that are zero, negative or not finite, a placement with another number of shapes.
base::Expected<Decision> look(const Series& series, const Plan& plan);

/// The same with the critical values worked out once: for callers that look very often.
class Tester {
public:
  static base::Expected<Tester> make(const Plan& plan);
  base::Expected<Decision> look(const Series& series) const;
  /// Whether the plan looks after this many placements (the last always counts).
  bool looks_after(int placements) const;

  Tester(Tester&&) noexcept;
  Tester& operator=(Tester&&) noexcept;
  ~Tester();

private:
  struct Rules;
  explicit Tester(std::unique_ptr<const Rules> rules);
  std::unique_ptr<const Rules> m_rules;
};

/// Runs `look` on every prefix: the first that is not go_on, as a caller in a loop would have seen.
base::Expected<Decision> decide(const Series& series, const Plan& plan);

} // namespace ako::stats
