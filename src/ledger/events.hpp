// What can stand on record. Each kind has a typed payload with its JSON; one payload = one event.
// A field that an older ako did not write reads as its default; a field of the wrong type is an
// error.
#pragma once

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "ledger/file_seen.hpp"
#include "model/artifact.hpp"
#include "model/outcome.hpp"
#include "model/samples.hpp"
#include "model/verdict.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ako::ledger {

#define AKO_EVENT_KINDS(X)                                                                         \
  X(task_created)                                                                                  \
  X(contract)                                                                                      \
  X(self_test)                                                                                     \
  X(environment)                                                                                   \
  X(references_read)                                                                               \
  X(baseline)                                                                                      \
  X(iteration)                                                                                     \
  X(committed)                                                                                     \
  X(compare)                                                                                       \
  X(bench)                                                                                         \
  X(second_opinion)                                                                                \
  X(stall)                                                                                         \
  X(direction)                                                                                     \
  X(waiver)                                                                                        \
  X(profile)                                                                                       \
  X(port)                                                                                          \
  X(validation)                                                                                    \
  X(note)                                                                                          \
  X(interrupted)                                                                                   \
  X(campaign)

enum class EventKind {
#define AKO_X(name) name,
  AKO_EVENT_KINDS(AKO_X)
#undef AKO_X
};
const char* to_string(EventKind);
std::optional<EventKind> kind_from(std::string_view);

struct TaskCreated {
  static constexpr EventKind k_kind = EventKind::task_created;
  std::string task, kernel, lane;
  std::string origin; ///< "REPO:path::symbol" or the template it was made from
  std::string ako_version;
};

/// The contract as understood; appended when its hash is not the last one on record.
struct ContractSeen {
  static constexpr EventKind k_kind = EventKind::contract;
  base::Hash hash;
  std::string echo; ///< model::echo_toml
};

struct SelfTestStep {
  std::string name; ///< "probe:zeros", "mutant:off_by_one", "a/a", "slow_down", ...
  bool passed = false;
  std::string detail; ///< one sentence with the numbers
};
/// Result of `ako check`.
struct SelfTest {
  static constexpr EventKind k_kind = EventKind::self_test;
  base::Hash contract;
  bool passed = false;
  std::vector<SelfTestStep> steps;
  std::vector<std::string> recipes; ///< input recipes that joined the judged inputs
  double seconds = 0;
  std::vector<FileSeen> files{}; ///< read by reference, baselines and fills; empty in old records
};

struct Environment {
  static constexpr EventKind k_kind = EventKind::environment;
  std::string machine; ///< "Intel Xeon ..., 2 cores"
  std::string device;  ///< what is measured on: the cpu model, or the GPU
  std::string os, compiler, ako_version;
  base::Hash identity; ///< what must match before two results are compared
  base::Json details;
};

struct GuideReceipt {
  std::string id, title;
  base::Hash hash;
};
struct ReferencesRead {
  static constexpr EventKind k_kind = EventKind::references_read;
  std::vector<GuideReceipt> guides;
};

/// One side's times at one shape, per call.
struct ShapeFigure {
  std::string tag;
  std::string shape; ///< "M=4096 H=4096"
  std::string dtype; ///< "bfloat16", or "x bfloat16, scale float16"
  double weight = 1;
  double p50_ns = 0, p95_ns = 0, mean_ns = 0;
  double floor_ns = 0; ///< 0 = none known
  std::int64_t samples = 0;
};
/// How figures were taken: stands beside every one of them.
struct HowTaken {
  std::string clock, cache, statistic, device;
  std::int64_t warmup = 0, iterations = 0; ///< calls
};
struct BaselineEntry {
  std::string name; ///< as in the contract
  model::Artifact artifact;
  std::vector<ShapeFigure> shapes;
};
struct Baseline {
  static constexpr EventKind k_kind = EventKind::baseline;
  base::Hash contract, environment;
  std::vector<BaselineEntry> entries;
  std::string fastest; ///< name of the entry that counts
  base::Hash hash;     ///< its library hash: identity of the baseline
  HowTaken how;
  std::vector<FileSeen> files{}; ///< read by baselines and fills; empty in old records
};

enum class Explore { no, yes }; ///< yes: does not count towards a stall

struct Iteration {
  static constexpr EventKind k_kind = EventKind::iteration;
  std::int64_t number = 0; ///< from 1, without gaps
  std::string hypothesis, prediction;
  std::optional<double> predicted_gain; ///< 0.05 = 5 %
  std::string cites;                    ///< guide or finding
  std::string direction, lane;          ///< direction: given with this step (ends a stall)
  Explore explore = Explore::no;
  std::string change; ///< what was changed, one paragraph or a diff stat; whole diff = blob "diff"
  model::Snapshot snapshot;
  std::optional<model::Artifact> artifact; ///< absent when it was not built
  base::Hash incumbent;                    ///< snapshot it was measured against
  base::Hash contract, environment, baseline;
  model::Verdict verdict;                        ///< against the incumbent
  std::optional<model::Verdict> versus_baseline; ///< measured, never a product of steps
  model::Decision decision = model::Decision::revert;
  std::string decision_reason;     ///< with flag: the named risk
  std::string commit;              ///< where known already; else an event `committed` follows
  std::vector<std::string> waived; ///< gates that were waived for this step
  HowTaken how;
  double seconds = 0; ///< of the whole evaluation
};

/// The git commit made for an iteration after it went on record (its trailer names the ledger's
/// head).
struct Committed {
  static constexpr EventKind k_kind = EventKind::committed;
  std::int64_t iteration = 0;
  std::string commit;
  base::Hash head; ///< what the trailer says
};

struct Compare {
  static constexpr EventKind k_kind = EventKind::compare;
  std::string old_name, new_name;
  base::Hash old_snapshot, new_snapshot;
  bool judged = false; ///< false: no reference judged it
  model::Verdict verdict;
  HowTaken how;
};

struct Bench {
  static constexpr EventKind k_kind = EventKind::bench;
  std::string what; ///< "incumbent", "solution", "baseline:<name>"
  base::Hash snapshot;
  std::vector<ShapeFigure> shapes;
  HowTaken how;
};

struct SecondOpinion {
  static constexpr EventKind k_kind = EventKind::second_opinion;
  std::int64_t iteration = 0;
  base::Hash candidate; ///< snapshot
  bool agreed = false;
  std::string replay;     ///< "replayed" or "self-timed"
  model::Verdict verdict; ///< verdict.against says against what
};

struct Stall {
  static constexpr EventKind k_kind = EventKind::stall;
  std::int64_t after_iteration = 0;
  int in_a_row = 0;
  std::vector<ShapeFigure> incumbent_again; ///< the incumbent, measured anew
  std::vector<std::string> lessons;         ///< what was tried and how it ended
};

struct Direction {
  static constexpr EventKind k_kind = EventKind::direction;
  std::string text, lane; ///< one of them
  std::int64_t after_iteration = 0;
};

struct Waiver {
  static constexpr EventKind k_kind = EventKind::waiver;
  std::string gate, why;
  std::string command; ///< what went on because of it
  std::string by;      ///< "user" or "campaign file"
};

struct Profile {
  static constexpr EventKind k_kind = EventKind::profile;
  std::string tool, target, summary; ///< target: snapshot hash
  std::vector<std::string> findings;
  base::Json data;
};

struct Port {
  static constexpr EventKind k_kind = EventKind::port;
  std::string state; ///< "measured", "integrated", "confirmed", "rejected"
  std::string repository, branch, commit, detail;
  base::Json data{}; ///< base commit, trees, patch, guard, flags: what loop/port.hpp says
};

struct Validation {
  static constexpr EventKind k_kind = EventKind::validation;
  std::string name; ///< "preflight", "build", "operator", "gate:<name>", ...
  bool passed = false;
  std::string detail;
  base::Json data{}; ///< the figures behind it
};

struct Note {
  static constexpr EventKind k_kind = EventKind::note;
  std::string topic; ///< "finding", "failed_attempt", "risk", "untested", "note"
  std::string text, author;
};

struct Interrupted {
  static constexpr EventKind k_kind = EventKind::interrupted;
  std::string what, detail;
  std::int64_t iteration = 0; ///< 0 = none
};

/// A step of an unattended campaign; drive/state.hpp says which there are and what `data` holds.
struct Campaign {
  static constexpr EventKind k_kind = EventKind::campaign;
  std::string name; ///< of the campaign
  std::string step; ///< "begun", "turn", "answered", "tried", "stopped", ...
  std::int64_t turn = 0;
  base::Json data = base::Json::object();
};

#define AKO_PAYLOADS(X)                                                                            \
  X(TaskCreated)                                                                                   \
  X(ContractSeen)                                                                                  \
  X(SelfTest)                                                                                      \
  X(Environment)                                                                                   \
  X(ReferencesRead)                                                                                \
  X(Baseline)                                                                                      \
  X(Iteration)                                                                                     \
  X(Committed)                                                                                     \
  X(Compare)                                                                                       \
  X(Bench)                                                                                         \
  X(SecondOpinion)                                                                                 \
  X(Stall)                                                                                         \
  X(Direction)                                                                                     \
  X(Waiver)                                                                                        \
  X(Profile)                                                                                       \
  X(Port)                                                                                          \
  X(Validation)                                                                                    \
  X(Note)                                                                                          \
  X(Interrupted)                                                                                   \
  X(Campaign)

template <class T> base::Expected<T> payload_from(const base::Json&);
#define AKO_X(T)                                                                                   \
  base::Json to_json(const T&);                                                                    \
  template <> base::Expected<T> payload_from<T>(const base::Json&);
AKO_PAYLOADS(AKO_X)
#undef AKO_X

} // namespace ako::ledger
