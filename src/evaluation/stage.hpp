// The world of one evaluation behind a small interface: a keeper, up to three workers, one set of
// buffers at a time. The real one talks to children (child_stage.hpp); tests bring fakes.
#pragma once

#include "client/failure.hpp"
#include "client/keeper.hpp"
#include "client/worker.hpp"
#include "model/contract.hpp"
#include "model/resolved.hpp"
#include "model/samples.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace ako::evaluation {

using client::Answer;

/// What stands in the buffers: everything that decides their content.
struct Content {
  inputs::Recipe recipe = inputs::Recipe::plain;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  bool operator==(const Content&) const = default;
};

/// One placement at a time: open() makes new shared buffers and binds every live side to them.
class Stage {
public:
  virtual ~Stage() = default;

  /// Starts the side's worker (where it does not run yet) and loads its library.
  virtual Answer<client::LoadReport> load(model::Side side) = 0;
  virtual bool has(model::Side side) const = 0;

  /// New buffers: `sets` copies of the fresh tensors, and the reference's private ones when there
  /// is a reference. `colour` shifts buffers within pages. Replaces what was open.
  virtual base::Status open(const model::ResolvedShape& shape, int sets, std::uint64_t colour) = 0;
  virtual void close() = 0;

  /// Whole new content. Inouts are handed to the reference as well.
  virtual base::Status fill(const Content& content) = 0;
  /// Overwrites one input in the shared buffers: self-tests bend inputs in ways no fill does.
  virtual base::Status write(int tensor, int set, std::span<const std::byte> bytes) = 0;
  virtual base::Status poison(inputs::Sentinel sentinel, const std::vector<int>& sets) = 0;
  virtual base::Expected<client::CheckReport> check(const std::vector<int>& sets) = 0;

  /// Binds the side to the open buffers where it is not yet.
  virtual Answer<void> bind(model::Side side) = 0;
  virtual Answer<client::CallReport> call(model::Side side, int set,
                                          client::Function function = client::Function::call) = 0;
  virtual Answer<client::SampleReport> sample(model::Side side, const client::SampleJob& job) = 0;

  /// Bytes as they stand: in the shared buffers, and where the reference wrote (outputs, inouts).
  /// Valid until the next command. From a device they are fetched first, which can fail.
  virtual base::Expected<std::span<const std::byte>> bytes(int tensor, int set) = 0;
  virtual base::Expected<std::span<const std::byte>> expected_bytes(int tensor, int set) = 0;

  /// Captures the candidate's calls on these sets of the open buffers and hands them to a process
  /// that holds the artifact's device code and nothing else of it. Empty = replay() may be asked;
  /// otherwise why not.
  virtual base::Expected<std::string> hand_over(const std::vector<int>& /*sets*/) {
    return "calls on the host are not captured";
  }
  virtual Answer<client::SampleReport> replay(const client::SampleJob& /*job*/) {
    return client::SampleReport{};
  }

  /// Empties the measuring cores' caches from outside the workers: all of them are stopped.
  virtual base::Status sweep() { return {}; }

  /// What the side's interpreter compiled and tuned so far, outside the samples: {compiled: [...],
  /// tuned: [...], first_call_ns, compile_ns}; empty = nothing, or a side that is a library.
  virtual base::Json compiled(model::Side /*side*/) const { return base::Json::object(); }

  /// Hardware counters of the timed calls so far: Counted::json() of counted.hpp.
  virtual base::Json counted() const { return base::Json::array(); }

  virtual base::Expected<client::MachineState> machine() = 0;
  virtual std::int64_t cache_bytes() const = 0; ///< last-level cache
  /// Waits, nothing running, before a disturbed block is run again.
  virtual void settle(std::int64_t /*ns*/) {}
};

using StageFactory = std::function<base::Expected<std::unique_ptr<Stage>>()>;

} // namespace ako::evaluation
