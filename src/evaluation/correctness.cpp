#include "evaluation/correctness.hpp"

#include "base/memory.hpp"
#include "evaluation/blocks.hpp"
#include "evaluation/failures.hpp"
#include "judge/stability.hpp"
#include "judge/tolerance.hpp"
#include "model/arena.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::evaluation {
namespace {

using model::Side;

/// Sets above this are judged on one content of the plain recipe, twice: time goes into measuring.
constexpr std::int64_t k_large_set_bytes = 16ll << 20;
constexpr int k_repeats = 3, k_large_repeats = 2;
constexpr double k_mebibyte = 1 << 20;

std::vector<int> first_sets(int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(i);
  return out;
}

/// What one case leaves behind, or how it ended everything.
struct CaseResult {
  std::vector<model::Evidence> evidence;
  std::optional<model::Outcome> ended;
  base::Json line;
  std::optional<judge::Precision> precision;
  std::vector<std::string> unproven;
};

class CaseRun {
public:
  CaseRun(Stage& stage, const Request& request, const Case& judged, std::uint64_t seed,
          const char* phase)
      : m_stage(stage), m_request(request), m_case(judged), m_grader(stage, request, *judged.shape),
        m_phase(phase) {
    m_content.recipe = judged.recipe;
    m_content.seed = seed;
  }

  base::Expected<CaseResult> run() {
    m_out.line = {{"shape", m_case.shape->tag},
                  {"recipe", std::string(inputs::to_string(m_case.recipe))},
                  {"sets", m_case.sets},
                  {"repeats", m_case.repeats}};
    AKO_TRY_STATUS(m_stage.open(*m_case.shape, m_case.sets, Coins(m_content.seed).draw()));
    AKO_TRY(Scales scales, scales_of(m_stage, m_request, *m_case.shape, m_case.recipe,
                                     Coins(m_content.seed).draw()));
    m_grader.set_scales(std::move(scales));
    AKO_TRY_STATUS(m_stage.fill(m_content));
    m_grader.renew(m_content);
    if (m_case.unmarked) {
      AKO_TRY(m_first_inputs, inputs_of_set());
    }
    if (auto ready = make_ready(m_stage, Side::candidate); !ready)
      return ended(ready.error(), Side::candidate);
    for (int repeat = 0; repeat < m_case.repeats && !m_out.ended; ++repeat)
      AKO_TRY_STATUS(run_once(repeat));
    if (m_out.ended) return std::move(m_out);
    AKO_TRY_STATUS(grade());
    if (m_out.ended || !m_out.evidence.empty()) return std::move(m_out);
    AKO_TRY_STATUS(classify());
    if (m_case.precision) AKO_TRY_STATUS(compare_precision());
    if (m_case.unmarked && !m_out.ended) AKO_TRY_STATUS(run_unmarked());
    return std::move(m_out);
  }

private:
  CaseResult ended(const client::WorkerFailure& failure, Side side) {
    m_out.ended = outcome_of(failure, side, m_case.shape->tag);
    return std::move(m_out);
  }
  void end(const client::WorkerFailure& failure, Side side) {
    m_out.ended = outcome_of(failure, side, m_case.shape->tag);
  }
  judge::Place place() const {
    judge::Place out;
    out.shape = m_case.shape->tag;
    out.seed = m_content.seed;
    out.epoch = m_content.epoch;
    out.recipe = inputs::to_string(m_content.recipe);
    out.phase = m_phase;
    return out;
  }

  /// Poison, call on every set back to back, check the marks.
  base::Status run_once(int repeat) {
    if (repeat > 0 && has_inouts(*m_case.shape)) AKO_TRY_STATUS(m_stage.fill(m_content));
    const auto sets = first_sets(m_case.sets);
    auto sentinel = repeat % 2 == 0 ? inputs::Sentinel::first : inputs::Sentinel::second;
    AKO_TRY_STATUS(m_stage.poison(sentinel, sets));
    for (int set : sets) {
      auto called = m_stage.call(Side::candidate, set);
      if (!called) {
        end(called.error(), Side::candidate);
        return {};
      }
      note_changes(*called);
      // Once it knows the other sets' addresses, one call alone must still leave them alone.
      if (repeat > 0 && set == sets.front()) AKO_TRY_STATUS(look_for_merged(set));
    }
    AKO_TRY(client::CheckReport report, m_stage.check(sets));
    auto found = evidence_of(report, *m_case.shape, place());
    m_out.evidence.insert(m_out.evidence.end(), found.begin(), found.end());
    // What the last run wrote stands in the buffers.
    return repeat + 1 < m_case.repeats ? keep_outputs() : base::Status{};
  }

  void note_changes(const client::CallReport& called) {
    if (auto found = judge::process_state(place(), called.changed))
      m_out.evidence.push_back(*found);
    auto found = library_evidence(*m_request.contract, called.libraries, place());
    m_out.evidence.insert(m_out.evidence.end(), found.begin(), found.end());
  }

  base::Status look_for_merged(int called) {
    std::vector<int> others;
    for (int set = 0; set < m_case.sets; ++set)
      if (set != called) others.push_back(set);
    if (others.empty()) return {};
    AKO_TRY(client::CheckReport report, m_stage.check(others));
    auto found =
        merged_evidence(report, *m_request.contract, *m_case.shape, others, called, place());
    m_out.evidence.insert(m_out.evidence.end(), found.begin(), found.end());
    return {};
  }

  /// New content, while the output holds the answer to the last one and no marks: in production
  /// nobody marks anything.
  base::Status run_unmarked() {
    m_phase = "unmarked";
    ++m_content.epoch;
    AKO_TRY_STATUS(m_stage.fill(m_content));
    AKO_TRY(const auto after, inputs_of_set());
    if (!after.empty() && after == m_first_inputs) note_repeated();
    m_grader.renew(m_content);
    auto called = m_stage.call(Side::candidate, 0);
    if (!called) {
      end(called.error(), Side::candidate);
      return {};
    }
    if (auto expected = m_grader.expect(0); !expected) {
      end(expected.error(), Side::reference);
      return {};
    }
    AKO_TRY(Graded graded, m_grader.grade(0, place()));
    m_out.evidence.insert(m_out.evidence.end(), graded.evidence.begin(), graded.evidence.end());
    return {};
  }

  base::Expected<std::vector<std::vector<std::byte>>> inputs_of_set() {
    std::vector<std::vector<std::byte>> out;
    for (std::size_t t = 0; t < m_case.shape->tensors.size(); ++t) {
      const auto role = m_case.shape->tensors[t].role;
      if (role != model::TensorRole::in && role != model::TensorRole::inout) continue;
      AKO_TRY(const auto bytes, m_stage.bytes(static_cast<int>(t), 0));
      out.emplace_back(bytes.begin(), bytes.end());
    }
    return out;
  }

  /// A kernel that remembers its answer is right as long as it is asked the same: no comparison can
  /// tell it.
  void note_repeated() {
    const std::string text = fmt::format(
        "shape {}: every call sees the same inputs (recorded, or a fill that does not look at its "
        "seed): a kernel that remembers an answer cannot be told from one that works it out; give "
        "one input that its result depends on a fill that is drawn",
        m_case.shape->tag);
    m_out.unproven.push_back(text);
    m_out.evidence.push_back(
        {"content_repeats", text, {{"place", judge::to_json(place())}}, false});
  }

  base::Status keep_outputs() {
    for (int tensor : outputs_of(*m_case.shape)) {
      AKO_TRY(const auto bytes, m_stage.bytes(tensor, 0));
      m_runs[tensor].emplace_back(bytes.begin(), bytes.end());
    }
    return {};
  }

  base::Status grade() {
    base::Json outputs = base::Json::array();
    for (int set = 0; set < m_case.sets; ++set) {
      if (auto expected = m_grader.expect(set); !expected) {
        end(expected.error(), Side::reference);
        return {};
      }
      AKO_TRY(Graded graded, m_grader.grade(set, place()));
      m_out.evidence.insert(m_out.evidence.end(), graded.evidence.begin(), graded.evidence.end());
      for (const auto& result : graded.outputs)
        if (result.reference_at_fault) {
          m_out.ended = model::Outcome{
              model::OutcomeKind::task_error, model::Fault::task,
              "reference at shape " + m_case.shape->tag + ": " + result.reason, graded.evidence};
          return {};
        }
      // With inouts the reference was asked again on contents filled anew.
      if (!graded.pass && has_inouts(*m_case.shape)) break;
      if (set == 0) {
        m_graded = graded;
        for (std::size_t i = 0; i < graded.outputs.size(); ++i)
          outputs.push_back(output_line(graded.tensors[i], graded.outputs[i]));
      }
    }
    m_out.line["outputs"] = std::move(outputs);
    return {};
  }

  base::Json output_line(int tensor, const judge::CompareResult& result) const {
    base::Json line = judge::to_json(result);
    line["tensor"] = m_case.shape->tensors[static_cast<std::size_t>(tensor)].name;
    return line;
  }

  /// Run `repeat` of the case: kept, or as it stands.
  base::Expected<std::span<const std::byte>> run_of(int tensor, std::size_t repeat) const {
    const auto kept = m_runs.find(tensor);
    if (kept != m_runs.end() && repeat < kept->second.size())
      return std::span<const std::byte>(kept->second[repeat]);
    return m_stage.bytes(tensor, 0);
  }

  base::Expected<judge::StabilityResult> classify(int tensor) const {
    const auto index = static_cast<std::size_t>(tensor);
    const auto how = m_request.contract->tensors[index].compare;
    judge::Tolerance tolerance;
    if (how == model::Compare::close) {
      AKO_TRY(tolerance, m_grader.tolerance(tensor));
    }
    std::vector<std::span<const std::byte>> views;
    for (int repeat = 0; repeat < m_case.repeats; ++repeat) {
      AKO_TRY(const auto bytes, run_of(tensor, static_cast<std::size_t>(repeat)));
      views.push_back(bytes);
    }
    // A property may name other outputs: those of the same run.
    const auto by_property = [&](std::size_t run) -> base::Expected<judge::CompareResult> {
      Grader::Kept kept;
      for (const auto& [other, runs] : m_runs)
        if (run < runs.size()) kept[other] = runs[run];
      return m_grader.compare_kept(tensor, 0, kept);
    };
    return judge::classify_repeats(m_case.shape->tensors[index], views, how, tolerance,
                                   by_property);
  }

  base::Status classify() {
    auto worst = judge::Stability::stable;
    for (int tensor : outputs_of(*m_case.shape)) {
      if (m_case.repeats < 2) break;
      AKO_TRY(judge::StabilityResult result, classify(tensor));
      worst = std::max(worst, result.kind);
      m_out.line["stability"] = judge::to_string(worst);
      auto found = judge::stability_evidence(
          result,
          m_request.contract->kernel.deterministic ? judge::Determinism::declared
                                                   : judge::Determinism::undeclared,
          fmt::format("\"{}\" at shape {}",
                      m_case.shape->tensors[static_cast<std::size_t>(tensor)].name,
                      m_case.shape->tag));
      m_out.evidence.insert(m_out.evidence.end(), found.begin(), found.end());
    }
    return {};
  }

  /// The incumbent on the same content: its error tells whether the candidate's is of its class.
  base::Status compare_precision() {
    if (!m_stage.has(Side::incumbent)) return {};
    if (has_inouts(*m_case.shape)) {
      AKO_TRY_STATUS(m_stage.fill(m_content));
      m_grader.renew(m_content); // with the inouts its answers were overwritten
    }
    AKO_TRY_STATUS(m_stage.poison(inputs::Sentinel::first, {0}));
    if (auto ready = make_ready(m_stage, Side::incumbent); !ready) {
      end(ready.error(), Side::incumbent);
      return {};
    }
    if (auto called = m_stage.call(Side::incumbent, 0); !called) {
      end(called.error(), Side::incumbent);
      return {};
    }
    if (auto expected = m_grader.expect(0); !expected) {
      end(expected.error(), Side::reference);
      return {};
    }
    for (std::size_t i = 0; i < m_graded.tensors.size(); ++i) {
      const auto index = static_cast<std::size_t>(m_graded.tensors[i]);
      const auto& declared = m_request.contract->tensors[index];
      if (declared.compare != model::Compare::close) continue;
      AKO_TRY(judge::CompareResult old, m_grader.compare_output(m_graded.tensors[i], 0));
      if (!old.pass) {
        m_out.ended =
            model::Outcome{model::OutcomeKind::task_error,
                           model::Fault::task,
                           fmt::format("{} is itself wrong at shape {}: {}", m_request.against,
                                       m_case.shape->tag, old.reason),
                           {judge::evidence_of(old, m_case.shape->tensors[index], *m_case.shape)}};
        return {};
      }
      auto output = m_case.shape->tensors[index].dtype;
      auto expected = expected_dtype(output);
      judge::Precision precision = judge::classify_precision(
          m_graded.outputs[i], old, output, expected,
          judge::accumulate_length(*m_request.contract, *m_case.shape, m_graded.tensors[i]));
      auto found = judge::precision_evidence(precision, m_request.contract->kernel.precision,
                                             m_request.contract->tolerance.ratio_to_baseline,
                                             m_case.shape->tag);
      m_out.evidence.insert(m_out.evidence.end(), found.begin(), found.end());
      if (!m_out.precision || precision.ratio > m_out.precision->ratio) m_out.precision = precision;
    }
    if (!m_out.precision) return {};
    m_out.line["precision"] = judge::to_string(m_out.precision->kind);
    m_out.line["error_ratio"] = base::number_or_null(m_out.precision->ratio);
    return {};
  }

  model::Dtype expected_dtype(model::Dtype output) const {
    switch (m_request.contract->reference.precision) {
    case model::ErrorPrecision::float64: return model::Dtype::float64;
    case model::ErrorPrecision::float32: return model::Dtype::float32;
    case model::ErrorPrecision::native: return output;
    }
    return output;
  }

  Stage& m_stage;
  const Request& m_request;
  const Case& m_case;
  Grader m_grader;
  const char* m_phase;
  Content m_content;
  CaseResult m_out;
  Graded m_graded;
  std::map<int, std::vector<std::vector<std::byte>>> m_runs;
  std::vector<std::vector<std::byte>> m_first_inputs; ///< of cases that go on to another content
};

bool decisive(const std::vector<model::Evidence>& evidence) {
  return std::any_of(evidence.begin(), evidence.end(), [](const auto& e) { return e.decisive; });
}

/// Of the shared arena, the reference's own one with its wider outputs, and the kept copies.
std::int64_t need_bytes(const Request& request, const Case& judged) {
  const auto& shape = *judged.shape;
  std::int64_t bytes = 0;
  if (auto shared = model::plan_arena(*request.contract, shape, judged.sets, 0, 0))
    bytes += shared->bytes;
  if (auto own = model::plan_reference_arena(*request.contract, shape, judged.sets, 0))
    bytes += own->bytes;
  for (int tensor : outputs_of(shape))
    bytes += (judged.repeats - 1) * shape.tensors[static_cast<std::size_t>(tensor)].bytes;
  return bytes;
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / k_mebibyte);
}

/// As much of it as fits; false where not even one call does.
bool cut_to_fit(const Request& request, Case& judged, std::int64_t free_bytes,
                std::vector<std::string>& unproven) {
  if (need_bytes(request, judged) > free_bytes) judged.sets = 1;
  if (need_bytes(request, judged) <= free_bytes) return true;
  const std::int64_t wanted = need_bytes(request, judged);
  judged.repeats = 1;
  const std::int64_t need = need_bytes(request, judged);
  unproven.push_back(fmt::format("{}: {}needs {}, {} are free", judged.shape->tag,
                                 need <= free_bytes ? "the same answer twice: " : "",
                                 mebibytes(need <= free_bytes ? wanted : need),
                                 mebibytes(free_bytes)));
  return need <= free_bytes;
}

std::string names_of(const std::vector<inputs::Recipe>& recipes) {
  std::string out;
  for (const auto recipe : recipes)
    if (recipe != inputs::Recipe::plain)
      out += (out.empty() ? "" : ", ") + std::string(inputs::to_string(recipe));
  return out;
}

} // namespace

CasePlan plan_cases(const Request& request, const std::vector<model::ResolvedShape>& edges,
                    std::int64_t free_bytes) {
  CasePlan plan;
  std::vector<std::pair<const model::ResolvedShape*, bool>> shapes;
  for (const auto& shape : request.shapes) shapes.emplace_back(&shape, true);
  for (const auto& shape : edges) shapes.emplace_back(&shape, false);
  const auto size = [&](const auto& entry) { return fresh_bytes(*request.contract, *entry.first); };
  const auto is_large = [&](const auto& entry) { return size(entry) > k_large_set_bytes; };
  std::stable_sort(shapes.begin(), shapes.end(),
                   [&](const auto& a, const auto& b) { return size(a) < size(b); });
  // Bent inputs are judged at small shapes of the contract; where it has none at the largest small
  // one of the others, else at its smallest.
  const auto own =
      std::find_if(shapes.begin(), shapes.end(), [](const auto& e) { return e.second; });
  const auto* smallest = own == shapes.end() ? nullptr : &*own;
  const model::ResolvedShape* stands_in = nullptr;
  if (smallest && is_large(*smallest)) {
    stands_in = own->first;
    for (const auto& entry : shapes)
      if (!entry.second && !is_large(entry)) stands_in = entry.first;
  }
  const std::string bent = names_of(request.recipes);
  for (const auto& entry : shapes) {
    const auto& [shape, is_own] = entry;
    const bool large = is_large(entry), whole = !large || &entry == smallest;
    Case judged{shape, inputs::Recipe::plain, whole ? 2 : 1, large ? k_large_repeats : k_repeats,
                is_own};
    judged.unmarked = whole;
    if (!cut_to_fit(request, judged, free_bytes, plan.unproven)) {
      if (is_own && plan.blocked.empty()) plan.blocked = plan.unproven.back();
      continue;
    }
    plan.cases.push_back(judged);
    if (shape == stands_in || (is_own && !large)) {
      for (inputs::Recipe recipe : request.recipes)
        if (recipe != inputs::Recipe::plain) plan.cases.push_back({shape, recipe, 1, 1, false});
    } else if (is_own && !bent.empty()) {
      plan.unproven.push_back(
          fmt::format("{}: {} inputs: judged at smaller shapes alone, one set is {}", shape->tag,
                      bent, mebibytes(size(entry))));
    }
  }
  return plan;
}

Answer<void> make_ready(Stage& stage, model::Side side) {
  auto loaded = stage.load(side);
  if (!loaded) return tl::unexpected(loaded.error());
  if (auto bound = stage.bind(side); !bound) return bound;
  for (auto [wanted, function] : {std::pair{loaded->has_plan, client::Function::plan},
                                  std::pair{loaded->has_prepare, client::Function::prepare}}) {
    if (!wanted) continue;
    auto called = stage.call(side, 0, function);
    if (!called) return tl::unexpected(called.error());
  }
  return {};
}

base::Expected<Correctness> judge_candidate(Stage& stage, const Request& request,
                                            const std::vector<model::ResolvedShape>& edges,
                                            std::uint64_t seed, const char* phase) {
  Correctness out;
  // Less a margin for the checker's own work and for everybody else.
  const std::uint64_t available = std::min<std::uint64_t>(base::memory_room(), INT64_MAX);
  std::int64_t room = static_cast<std::int64_t>(available / 10 * 8);
  if (const auto allowed = request.contract->limits.memory_bytes; allowed > 0)
    room = std::min(room, allowed);
  CasePlan plan = plan_cases(request, edges, room);
  out.unproven = plan.unproven;
  // Correct first: what cannot be judged here is not measured here.
  if (!plan.blocked.empty()) {
    out.ended = model::Outcome{model::OutcomeKind::environment,
                               model::Fault::machine,
                               "too little memory to judge shape " + plan.blocked,
                               {}};
    return out;
  }
  Coins coins(seed);
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    if (request.stop && request.stop()) {
      out.ended = model::Outcome{
          model::OutcomeKind::interrupted, model::Fault::none, "stopped while judging", {}};
      return out;
    }
    if (request.progress)
      request.progress("judging", static_cast<double>(i) / static_cast<double>(plan.cases.size()));
    CaseRun run(stage, request, plan.cases[i], coins.draw(), phase);
    AKO_TRY(CaseResult result, run.run());
    out.lines.push_back(std::move(result.line));
    out.unproven.insert(out.unproven.end(), result.unproven.begin(), result.unproven.end());
    if (result.precision && (!out.precision || result.precision->ratio > out.precision->ratio))
      out.precision = result.precision;
    if (result.ended) {
      out.ended = std::move(result.ended);
      return out;
    }
    out.weak.insert(out.weak.end(), result.evidence.begin(), result.evidence.end());
    if (decisive(result.evidence)) {
      out.ended = judge::decide(out.weak);
      return out;
    }
  }
  return out;
}

} // namespace ako::evaluation
