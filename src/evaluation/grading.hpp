// One set judged in full: what the side wrote against what the reference makes of the same content.
#pragma once

#include "evaluation/request.hpp"
#include "judge/compare.hpp"
#include "judge/tolerance.hpp"

#include <map>
#include <vector>

namespace ako::evaluation {

/// The comparison of every output of one set.
struct Graded {
  std::vector<judge::CompareResult> outputs; ///< in the order of `tensors`
  std::vector<int> tensors;
  std::vector<model::Evidence> evidence; ///< of mismatches; reference faults are task errors
  bool pass = true;
};

/// Per tensor: the least magnitude of its rows, see judge/tolerance.hpp; 0 = they say it
/// themselves.
using Scales = std::vector<double>;

/// Scales of outputs of few elements, from the reference on contents of its own that no candidate
/// ever meets. Needs open buffers and leaves another content in them. A reference that fails makes
/// no scale: it says so where its answer is asked for.
base::Expected<Scales> scales_of(Stage& stage, const Request& request,
                                 const model::ResolvedShape& shape, inputs::Recipe recipe,
                                 std::uint64_t seed);

/// Runs the reference once per (content, set) and keeps its answer as long as the content stands.
class Grader {
public:
  Grader(Stage& stage, const Request& request, const model::ResolvedShape& shape,
         Scales scales = {})
      : m_stage(stage), m_request(request), m_shape(shape), m_scales(std::move(scales)) {}

  /// The content changed: answers of before are void.
  void renew(const Content& content);
  /// Makes the reference's answer for this set stand ready. Candidates run first: call it after
  /// them, never before the first run of a content.
  Answer<void> expect(int set);
  /// Compares `set` as it stands in the shared buffers. Where that fails the reference is run again
  /// on the content: one whose own answer of before would fail is at fault itself. With inouts that
  /// fills all sets anew.
  base::Expected<Graded> grade(int set, const judge::Place& place) const;
  base::Expected<judge::CompareResult> compare_output(int tensor, int set) const;
  /// The same of outputs that were kept, by tensor; what is missing is taken from the buffers.
  using Kept = std::map<int, std::span<const std::byte>>;
  base::Expected<judge::CompareResult> compare_kept(int tensor, int set, const Kept& kept) const;
  /// Of a tensor that is compared closely.
  base::Expected<judge::Tolerance> tolerance(int tensor) const;
  void set_scales(Scales scales) { m_scales = std::move(scales); }

private:
  base::Status doubt_reference(int set, Graded& graded) const;
  Stage& m_stage;
  const Request& m_request;
  const model::ResolvedShape& m_shape;
  Scales m_scales; ///< empty = none is needed
  Content m_content;
  std::map<int, bool> m_ready;
};

/// Whether the reference's answer of before, rounded to the output's type, would be judged wrong
/// by its answer of now: in words, empty = it would not. A property has no single right answer.
base::Expected<std::string> contradiction(const model::Contract& contract,
                                          const model::ResolvedShape& shape, int tensor,
                                          std::span<const std::byte> before,
                                          std::span<const std::byte> now,
                                          const judge::Tolerance& tolerance);

/// Indices of out and inout tensors.
std::vector<int> outputs_of(const model::ResolvedShape& shape);

/// Prefixes of libraries that belong to the language and the C library, not to a vendor.
const std::vector<std::string>& runtime_libraries();
/// Libraries that came along while the candidate ran, as load_claims() sees them.
std::vector<model::Evidence> library_evidence(const model::Contract& contract,
                                              const std::vector<std::string>& libraries,
                                              const judge::Place& place);

/// Evidence from the keeper's check: unwritten elements, red zones, gaps, changed inputs.
std::vector<model::Evidence> evidence_of(const client::CheckReport& report,
                                         const model::ResolvedShape& shape, judge::Place place);

/// Evidence from a check of `marked` sets after a call on `called` alone: their outputs must be
/// marks through and through.
std::vector<model::Evidence> merged_evidence(const client::CheckReport& report,
                                             const model::Contract& contract,
                                             const model::ResolvedShape& shape,
                                             const std::vector<int>& marked, int called,
                                             judge::Place place);

} // namespace ako::evaluation
