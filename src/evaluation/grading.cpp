#include "evaluation/grading.hpp"

#include "evaluation/blocks.hpp"
#include "judge/probes.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::evaluation {
namespace {

/// The rms over so many contents is right within a third or so, also where the output is one sum.
constexpr int k_scale_contents = 8;

} // namespace

std::vector<int> outputs_of(const model::ResolvedShape& shape) {
  std::vector<int> out;
  for (std::size_t t = 0; t < shape.tensors.size(); ++t)
    if (shape.tensors[t].role == model::TensorRole::out ||
        shape.tensors[t].role == model::TensorRole::inout)
      out.push_back(static_cast<int>(t));
  return out;
}

base::Expected<Scales> scales_of(Stage& stage, const Request& request,
                                 const model::ResolvedShape& shape, inputs::Recipe recipe,
                                 std::uint64_t seed) {
  std::vector<int> asked;
  for (int tensor : outputs_of(shape)) {
    const auto index = static_cast<std::size_t>(tensor);
    if (judge::needs_scale(request.contract->tensors[index], shape.tensors[index]))
      asked.push_back(tensor);
  }
  if (asked.empty() || !request.judged) return Scales{};
  Scales scales(shape.tensors.size());
  Coins coins(seed);
  for (int content = 0; content < k_scale_contents; ++content) {
    AKO_TRY_STATUS(stage.fill({recipe, coins.draw(), 0}));
    if (!stage.call(model::Side::reference, 0)) return Scales{};
    for (int tensor : asked) {
      const auto index = static_cast<std::size_t>(tensor);
      AKO_TRY(const auto bytes, stage.expected_bytes(tensor, 0));
      const auto view =
          judge::expected_view(shape.tensors[index], request.contract->reference.precision,
                               request.contract->tensors[index].compare, bytes);
      std::vector<double> values(static_cast<std::size_t>(shape.tensors[index].elements));
      judge::read_elements(view, 0, values);
      for (double value : values)
        if (std::isfinite(value))
          scales[index] += value * value / (k_scale_contents * static_cast<double>(values.size()));
    }
  }
  for (double& scale : scales) scale = std::sqrt(scale);
  return scales;
}

void Grader::renew(const Content& content) {
  m_content = content;
  m_ready.clear();
}

Answer<void> Grader::expect(int set) {
  if (m_ready[set]) return {};
  auto called = m_stage.call(model::Side::reference, set);
  if (!called) return tl::unexpected(called.error());
  m_ready[set] = true;
  return {};
}

base::Expected<judge::Tolerance> Grader::tolerance(int tensor) const {
  AKO_TRY(judge::Tolerance out, judge::derive_tolerance(*m_request.contract, m_shape, tensor));
  if (!m_scales.empty()) out.scale = m_scales[static_cast<std::size_t>(tensor)];
  return out;
}

base::Expected<judge::CompareResult> Grader::compare_output(int tensor, int set) const {
  return compare_kept(tensor, set, {});
}

base::Expected<judge::CompareResult> Grader::compare_kept(int tensor, int set,
                                                          const Kept& kept) const {
  const auto as_it_was = [&](int t) -> base::Expected<std::span<const std::byte>> {
    if (const auto found = kept.find(t); found != kept.end()) return found->second;
    return m_stage.bytes(t, set);
  };
  const auto index = static_cast<std::size_t>(tensor);
  const model::Tensor& declared = m_request.contract->tensors[index];
  const model::ResolvedTensor& resolved = m_shape.tensors[index];
  judge::CompareRequest compare;
  AKO_TRY(const auto got, as_it_was(tensor));
  AKO_TRY(const auto expected, m_stage.expected_bytes(tensor, set));
  compare.got = judge::view(resolved, got);
  compare.expected = judge::expected_view(resolved, m_request.contract->reference.precision,
                                          declared.compare, expected);
  compare.how = declared.compare;
  compare.property = declared.property;
  compare.tolerance.nan_meaningful = declared.nan_meaningful;
  if (declared.compare == model::Compare::close) {
    AKO_TRY(compare.tolerance, tolerance(tensor));
  }
  if (declared.compare == model::Compare::property)
    for (std::size_t t = 0; t < m_shape.tensors.size(); ++t) {
      AKO_TRY(const auto other, as_it_was(static_cast<int>(t)));
      compare.others.push_back(judge::view(m_shape.tensors[t], other));
    }
  return judge::compare(compare);
}

base::Expected<Graded> Grader::grade(int set, const judge::Place& place) const {
  Graded out;
  for (int tensor : outputs_of(m_shape)) {
    AKO_TRY(judge::CompareResult result, compare_output(tensor, set));
    out.pass = out.pass && result.pass;
    out.tensors.push_back(tensor);
    out.outputs.push_back(std::move(result));
  }
  if (!out.pass) AKO_TRY_STATUS(doubt_reference(set, out));
  for (std::size_t i = 0; i < out.tensors.size(); ++i) {
    const auto& tensor = m_shape.tensors[static_cast<std::size_t>(out.tensors[i])];
    judge::Place here = place;
    here.set = set;
    here.seed = m_content.seed;
    here.tensor = tensor.name;
    if (auto found = judge::compared(here, out.outputs[i], tensor, m_shape))
      out.evidence.push_back(std::move(*found));
  }
  return out;
}

base::Status Grader::doubt_reference(int set, Graded& graded) const {
  std::map<int, std::vector<std::byte>> before;
  for (int tensor : graded.tensors) {
    AKO_TRY(const auto bytes, m_stage.expected_bytes(tensor, set));
    before[tensor].assign(bytes.begin(), bytes.end());
  }
  if (has_inouts(m_shape)) AKO_TRY_STATUS(m_stage.fill(m_content));
  const auto called = m_stage.call(model::Side::reference, set);
  for (std::size_t i = 0; i < graded.tensors.size(); ++i) {
    judge::CompareResult& result = graded.outputs[i];
    if (result.pass || result.reference_at_fault) continue;
    std::string found = "it fails when it is run again on the same inputs";
    if (called) {
      const int index = graded.tensors[i];
      judge::Tolerance allowed;
      if (m_request.contract->tensors[static_cast<std::size_t>(index)].compare ==
          model::Compare::close) {
        AKO_TRY(allowed, tolerance(index));
      }
      AKO_TRY(const auto now, m_stage.expected_bytes(index, set));
      AKO_TRY(found,
              contradiction(*m_request.contract, m_shape, index, before[index], now, allowed));
    }
    if (found.empty()) continue;
    result.reference_at_fault = true;
    result.reason = std::move(found);
  }
  return {};
}

base::Expected<std::string> contradiction(const model::Contract& contract,
                                          const model::ResolvedShape& shape, int tensor,
                                          std::span<const std::byte> before,
                                          std::span<const std::byte> now,
                                          const judge::Tolerance& tolerance) {
  const auto index = static_cast<std::size_t>(tensor);
  const model::Tensor& declared = contract.tensors[index];
  if (declared.compare == model::Compare::property || std::ranges::equal(before, now))
    return std::string();
  const auto seen = [&](std::span<const std::byte> bytes) {
    return judge::expected_view(shape.tensors[index], contract.reference.precision,
                                declared.compare, bytes);
  };
  const auto rounded = judge::ideal_answer(shape.tensors[index], seen(before));
  judge::CompareRequest compare;
  compare.got = judge::view(shape.tensors[index], rounded);
  compare.expected = seen(now);
  compare.how = declared.compare;
  compare.tolerance = tolerance;
  compare.tolerance.nan_meaningful = declared.nan_meaningful;
  AKO_TRY(const judge::CompareResult result, judge::compare(compare));
  if (result.pass) return std::string();
  return fmt::format("the reference gives another answer for \"{}\" when it is run again on the "
                     "same inputs: {}",
                     declared.name, result.reason);
}

const std::vector<std::string>& runtime_libraries() {
  static const std::vector<std::string> all = {
      "libc.", "libm.", "libmvec.", "libstdc++", "libgcc_s", "libgomp", "libomp", "libpthread",
      "libdl.", "librt.", "ld-linux", "libatomic", "libquadmath.",
      // What launches on a device needs, and what the driver loads by itself.
      "libcuda.", "libcudart.", "libcudadebugger", "libcupti", "libnvperf", "libnvidia-",
      "libnvrtc", "libnvJitLink"};
  return all;
}

std::vector<model::Evidence> library_evidence(const model::Contract& contract,
                                              const std::vector<std::string>& libraries,
                                              const judge::Place& place) {
  judge::LoadedState state;
  state.new_libraries = libraries;
  state.allowed_libraries = runtime_libraries();
  state.library_calls_forbidden = contract.kernel.library_calls == model::Permission::forbidden;
  return judge::load_claims(place, state);
}

std::vector<model::Evidence> evidence_of(const client::CheckReport& report,
                                         const model::ResolvedShape& shape, judge::Place place) {
  std::vector<model::Evidence> out;
  auto add = [&](judge::Found found) {
    if (found) out.push_back(std::move(*found));
  };
  for (const client::BufferCheck& buffer : report.buffers) {
    place.tensor = shape.tensors[static_cast<std::size_t>(buffer.tensor)].name;
    place.set = buffer.set;
    inputs::PoisonFound poison;
    poison.count = buffer.unwritten;
    poison.first = buffer.first;
    poison.last = buffer.last;
    poison.gap_damage = buffer.gap_damage;
    if (buffer.unwritten > 0) add(judge::unwritten(place, poison, judge::Proof::one_run));
    if (buffer.gap_damage > 0) add(judge::gap_damage(place, poison));
    if (buffer.red_before > 0) {
      inputs::RedZoneDamage damage;
      damage.bytes = buffer.red_before;
      damage.first = damage.last = buffer.red_distance;
      add(judge::red_zone(place, damage, judge::Side::before));
    }
    if (buffer.red_after > 0) {
      inputs::RedZoneDamage damage;
      damage.bytes = buffer.red_after;
      damage.first = damage.last = buffer.red_distance;
      add(judge::red_zone(place, damage, judge::Side::after));
    }
    if (buffer.input_changed) add(judge::changed_input(place, 0, 1));
  }
  return out;
}

std::vector<model::Evidence> merged_evidence(const client::CheckReport& report,
                                             const model::Contract& contract,
                                             const model::ResolvedShape& shape,
                                             const std::vector<int>& marked, int called,
                                             judge::Place place) {
  std::vector<model::Evidence> out;
  for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
    if (shape.tensors[t].role != model::TensorRole::out ||
        contract.tensors[t].lifetime != model::Lifetime::fresh)
      continue;
    for (int set : marked) {
      std::int64_t left = 0;
      for (const client::BufferCheck& buffer : report.buffers)
        if (buffer.tensor == static_cast<int>(t) && buffer.set == set)
          left = buffer.unwritten + buffer.doubtful;
      place.tensor = shape.tensors[t].name;
      place.set = set;
      if (auto found = judge::merged_calls(place, shape.tensors[t].elements - left, called))
        out.push_back(std::move(*found));
    }
  }
  return out;
}

} // namespace ako::evaluation
