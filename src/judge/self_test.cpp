// The contract's self-test: every probe and mutant put to the comparison until some input shows it.
#include "inputs/codec.hpp"
#include "judge/probes.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace ako::judge {
namespace {

using inputs::Recipe;
using FaultKind = SelfTestFault::Kind;

/// Answers of the reference for one shape and recipe, fetched when first needed.
struct Answers {
  OracleAnswer right, other_seed, shortened, swapped;
  bool short_exists = false, swap_exists = false;
};

/// Whether one row's indices pick the largest (or the smallest) of its values, and whether one that
/// is left out equals the last of them. Empty: they pick something else.
std::optional<bool> tied(const std::vector<double>& values, const std::vector<double>& indices) {
  std::vector<bool> picked(values.size());
  for (double index : indices) {
    if (!(index >= 0) || index >= static_cast<double>(values.size())) return std::nullopt;
    picked[static_cast<std::size_t>(index)] = true;
  }
  double least = INFINITY, most = -INFINITY, least_left = INFINITY, most_left = -INFINITY;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& low = picked[i] ? least : least_left;
    double& high = picked[i] ? most : most_left;
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  if (least < most_left && most > least_left) return std::nullopt;
  return least == most_left || most == least_left;
}

/// The first row with ties of indices that pick extremes in every row; -1 = none.
std::int64_t tied_row(const TensorView& indices, const TensorView& source) {
  const std::int64_t picks = indices.tensor->shape.back(), outcomes = source.tensor->shape.back();
  const std::int64_t rows = indices.tensor->elements / picks;
  if (outcomes <= picks || source.tensor->elements / outcomes != rows) return -1;
  std::vector<double> values(static_cast<std::size_t>(outcomes)),
      picked(static_cast<std::size_t>(picks));
  std::int64_t found = -1;
  for (std::int64_t row = 0; row < rows; ++row) {
    read_elements(source, row * outcomes, values);
    read_elements(indices, row * picks, picked);
    const auto here = tied(values, picked);
    if (!here) return -1;
    if (*here && found < 0) found = row;
  }
  return found;
}

class Run {
public:
  explicit Run(const SelfTest& test) : m_test(test) {}

  base::Expected<SelfTestReport> run() {
    m_out.judged.push_back(Recipe::plain);
    for (std::size_t s = 0; s < m_test.shapes.size(); ++s) {
      m_shape = static_cast<int>(s);
      AKO_TRY_STATUS(check_reference());
      if (!m_out.faults.empty()) return std::move(m_out);
      for (std::size_t t = 0; t < shape().tensors.size(); ++t) {
        const auto role = shape().tensors[t].role;
        if (role != model::TensorRole::out && role != model::TensorRole::inout) continue;
        m_tensor = t;
        for (Probe probe : all_probes()) AKO_TRY_STATUS(put_probe(probe));
        for (Mutant mutant : all_mutants()) AKO_TRY_STATUS(put_mutant(mutant));
      }
    }
    for (std::size_t s = 0; s < m_test.shapes.size(); ++s) {
      m_shape = static_cast<int>(s);
      AKO_TRY_STATUS(check_honest());
    }
    AKO_TRY(Answers * plain, answers(Recipe::plain));
    if (!contents_differ(*plain))
      m_out.warnings.push_back(
          "no input changes with the seed: a kernel that remembers its answer cannot be told from "
          "one that works it out; give one input that the result depends on a fill that is drawn");
    return std::move(m_out);
  }

private:
  const model::ResolvedShape& shape() const {
    return m_test.shapes[static_cast<std::size_t>(m_shape)];
  }
  const model::ResolvedTensor& tensor() const { return shape().tensors[m_tensor]; }
  const model::Tensor& declared(std::size_t t) const { return m_test.contract->tensors[t]; }

  TensorView expected(std::size_t t, const OracleAnswer& answer) const {
    return expected_view(shape().tensors[t], m_test.contract->reference.precision,
                         declared(t).compare, answer.tensors[t]);
  }

  void note(FaultKind kind, std::size_t t, std::string text) {
    m_out.faults.push_back({kind, shape().tensors[t].name, std::move(text)});
  }

  base::Expected<OracleAnswer> ask(Recipe recipe, std::uint64_t seed, InputChange change) const {
    return m_test.oracle({m_shape, recipe, seed, change});
  }

  base::Expected<Answers*> answers(Recipe recipe) {
    auto key = std::pair(m_shape, recipe);
    if (auto found = m_answers.find(key); found != m_answers.end()) return &found->second;
    Answers made;
    AKO_TRY(made.right, ask(recipe, m_test.seed, InputChange::none));
    AKO_TRY(made.other_seed, ask(recipe, m_test.seed + 1, InputChange::none));
    made.short_exists = exists(InputChange::short_sum, made.right);
    made.swap_exists = exists(InputChange::swapped, made.right);
    if (made.short_exists) {
      AKO_TRY(made.shortened, ask(recipe, m_test.seed, InputChange::short_sum));
    }
    if (made.swap_exists) {
      AKO_TRY(made.swapped, ask(recipe, m_test.seed, InputChange::swapped));
    }
    return &m_answers.emplace(key, std::move(made)).first->second;
  }

  bool exists(InputChange change, const OracleAnswer& answer) const {
    auto copies = answer.tensors;
    std::vector<std::span<std::byte>> views(copies.begin(), copies.end());
    return change_inputs(change, shape(), views);
  }

  /// No NaN that nobody declared, and the same twice. Infinity may be the right answer (the table
  /// in compare.cpp): what is measured against it must give it as well.
  base::Status check_reference() {
    AKO_TRY(Answers * first, answers(Recipe::plain));
    AKO_TRY(OracleAnswer again, ask(Recipe::plain, m_test.seed, InputChange::none));
    for (std::size_t t = 0; t < shape().tensors.size(); ++t) {
      const auto& resolved = shape().tensors[t];
      if (resolved.role != model::TensorRole::out && resolved.role != model::TensorRole::inout)
        continue;
      if (first->right.tensors[t] != again.tensors[t])
        note(FaultKind::reference, t,
             fmt::format("the reference gives another answer for \"{}\" at {} when run again on "
                         "the same inputs",
                         resolved.name, shape().tag));
      AKO_TRY(CompareResult result,
              judge(t, first->right, ideal(t, first->right), Strictness::full));
      if (result.reference_at_fault)
        note(FaultKind::reference, t,
             fmt::format("\"{}\" at {}: {}", resolved.name, shape().tag, result.reason));
    }
    return {};
  }

  std::vector<std::byte> ideal(std::size_t t, const OracleAnswer& answer) const {
    return ideal_answer(shape().tensors[t], expected(t, answer));
  }

  enum class Strictness { full, elements_alone };

  base::Expected<CompareResult> judge(std::size_t t, const OracleAnswer& answer,
                                      const std::vector<std::byte>& got,
                                      Strictness strictness) const {
    CompareRequest request;
    request.got = view(shape().tensors[t], got);
    request.expected = expected(t, answer);
    request.how = declared(t).compare;
    request.property = declared(t).property;
    request.tolerance.nan_meaningful = declared(t).nan_meaningful;
    if (request.how == model::Compare::close) {
      AKO_TRY(request.tolerance, derive_tolerance(*m_test.contract, shape(), static_cast<int>(t)));
    }
    if (strictness == Strictness::elements_alone)
      request.tolerance.slope_limit = request.tolerance.bias_limit = 0;
    if (request.how == model::Compare::property)
      for (std::size_t other = 0; other < shape().tensors.size(); ++other)
        if (shape().tensors[other].role != model::TensorRole::workspace)
          request.others.push_back(expected(other, answer));
    return compare(request);
  }

  /// The right answer must pass, on every recipe that will be judged: rounded to nearest, and with
  /// the noise that a sum in another order has.
  base::Status check_honest() {
    for (Recipe recipe : std::vector(m_out.judged)) {
      AKO_TRY(Answers * known, answers(recipe));
      if (is_extra(recipe)) {
        AKO_TRY(const bool joins, may_join(recipe));
        if (!joins) leave(recipe);
        if (!joins) continue;
      }
      for (std::size_t t = 0; t < shape().tensors.size(); ++t) {
        const auto& resolved = shape().tensors[t];
        if (resolved.role != model::TensorRole::out) continue;
        warn_of_ties(t, *known, recipe);
        AKO_TRY(CompareResult result,
                judge(t, known->right, noisy(t, known->right), Strictness::full));
        if (result.reference_at_fault) continue;
        m_out.lines.push_back(
            {"honest:noise_of_sums", resolved.name, shape().tag,
             result.pass ? SelfTestLine::Result::failed_as_it_must : SelfTestLine::Result::passed,
             recipe, result.pass ? "an honest answer passes" : result.reason});
        if (!result.pass)
          note(FaultKind::honest, t,
               fmt::format("an honest answer to \"{}\" at {} would fail ({} inputs): {}",
                           resolved.name, shape().tag, inputs::to_string(recipe), result.reason));
      }
    }
    return {};
  }

  /// Indices of the largest or smallest of a row, where one left out equals one picked: which of
  /// them is picked is nobody's business, and a set asks for the reference's.
  void warn_of_ties(std::size_t t, const Answers& known, Recipe recipe) {
    const auto& resolved = shape().tensors[t];
    if (declared(t).compare != model::Compare::set || resolved.shape.empty() ||
        model::class_of(resolved.dtype) == model::DtypeClass::floating)
      return;
    for (std::size_t in = 0; in < shape().tensors.size(); ++in) {
      const auto& source = shape().tensors[in];
      if (source.role != model::TensorRole::in || source.shape.empty()) continue;
      const std::int64_t row =
          tied_row(view(resolved, known.right.tensors[t]), view(source, known.right.tensors[in]));
      if (row < 0) continue;
      const std::string warning = fmt::format(
          "\"{}\" is compared as a set, and on {} inputs at {} row {} of \"{}\" has ties between "
          "what is picked and what is not: a kernel that picks another of equal values is called "
          "incorrect; compare = \"property\" with property = \"picks:{}\" takes either",
          resolved.name, inputs::to_string(recipe), shape().tag, row, source.name, source.name);
      if (m_warned.insert(resolved.name).second) m_out.warnings.push_back(warning);
    }
  }

  /// Whether this recipe bends these inputs at all, and every right answer with the noise of its
  /// sums passes on it.
  base::Expected<bool> may_join(Recipe recipe) {
    AKO_TRY(Answers * plain, answers(Recipe::plain));
    AKO_TRY(Answers * known, answers(recipe));
    bool bent = false;
    for (std::size_t t = 0; t < shape().tensors.size(); ++t) {
      const auto role = shape().tensors[t].role;
      if (role == model::TensorRole::in)
        bent = bent || known->right.tensors[t] != plain->right.tensors[t];
      if (role != model::TensorRole::out) continue;
      AKO_TRY(CompareResult result,
              judge(t, known->right, noisy(t, known->right), Strictness::full));
      if (!result.pass) return false;
    }
    return bent;
  }

  /// Rounded to nearest after the error of a sum of `accumulate` terms in float32 was added, with
  /// alternating signs: what another order of summation leaves. Without a sum there is none.
  std::vector<std::byte> noisy(std::size_t t, const OracleAnswer& answer) const {
    const auto& resolved = shape().tensors[t];
    const TensorView right = expected(t, answer);
    std::vector<std::byte> out(static_cast<std::size_t>(resolved.bytes));
    const RowPlan rows = plan_rows(resolved);
    const double unit = resolved.dtype == model::Dtype::float64 ? 0x1p-53 : 0x1p-24;
    const std::int64_t terms = shape().accumulate;
    const double error = terms > 1 ? std::sqrt(static_cast<double>(terms)) * unit : 0;
    const bool floating = model::class_of(resolved.dtype) == model::DtypeClass::floating;
    std::vector<double> row(static_cast<std::size_t>(rows.length));
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      read_elements(right, r * rows.length, row);
      double squares = 0;
      for (double value : row) squares += std::isfinite(value) ? value * value : 0;
      const double rms = std::sqrt(squares / static_cast<double>(rows.length));
      for (std::int64_t i = 0; i < rows.length; ++i) {
        double& value = row[static_cast<std::size_t>(i)];
        if (floating && declared(t).compare == model::Compare::close && std::isfinite(value))
          value += (i % 2 ? error : -error) * rms;
        inputs::store(resolved.dtype, out, offset_of(resolved, r * rows.length + i), value);
      }
    }
    return out;
  }

  std::vector<Recipe> order(Recipe own) const {
    std::vector<Recipe> out = {Recipe::plain, own};
    for (Recipe recipe : inputs::all_recipes())
      if (std::find(out.begin(), out.end(), recipe) == out.end()) out.push_back(recipe);
    return out;
  }

  /// Damage done to the output alone, so gross that its elements must show it on the inputs as
  /// declared: no recipe may excuse a tolerance that does not see it there.
  static bool gross(Mutant mutant) {
    return mutant == Mutant::scaled_072 || mutant == Mutant::negated ||
           mutant == Mutant::row_zeroed || mutant == Mutant::tile_wrong ||
           mutant == Mutant::last_element;
  }

  /// A sample has no single right answer: only what no sampler gives can be asked of the property.
  bool sampled() const {
    return declared(m_tensor).compare == model::Compare::property &&
           declared(m_tensor).property.find("sampled_from") != std::string::npos;
  }

  void join(Recipe recipe) {
    if (std::find(m_out.judged.begin(), m_out.judged.end(), recipe) == m_out.judged.end())
      m_out.judged.push_back(recipe);
    std::erase(m_out.extra, recipe); // needed now
  }

  bool is_extra(Recipe recipe) const {
    return std::find(m_out.extra.begin(), m_out.extra.end(), recipe) != m_out.extra.end();
  }
  void leave(Recipe recipe) {
    std::erase(m_out.extra, recipe);
    std::erase(m_out.judged, recipe);
  }

  /// The recipe built for a mutant that plain inputs showed already.
  template <class Make> base::Status try_own(Recipe own, Strictness strictness, Make make) {
    if (std::find(m_out.judged.begin(), m_out.judged.end(), own) != m_out.judged.end()) return {};
    AKO_TRY(Answers * known, answers(own));
    const std::vector<std::byte> got = make(*known);
    if (got.empty() || got == ideal(m_tensor, known->right)) return {};
    AKO_TRY(CompareResult result, judge(m_tensor, known->right, got, strictness));
    if (result.pass || result.reference_at_fault) return {};
    AKO_TRY(const bool joins, may_join(own));
    if (!joins) return {};
    m_out.judged.push_back(own);
    m_out.extra.push_back(own);
    return {};
  }

  /// What it means that an answer is the right one on all inputs.
  enum class Identical { harmless, fault };

  template <class Make>
  base::Status put(const char* name, const std::vector<Recipe>& recipes, Strictness strictness,
                   Identical identical, Make make) {
    AKO_TRY_STATUS(put_until_seen(name, recipes, strictness, identical, make));
    const auto& line = m_out.lines.back();
    if (recipes.size() < 2 || line.result != SelfTestLine::Result::failed_as_it_must ||
        line.recipe != Recipe::plain)
      return {};
    return try_own(recipes[1], strictness, make);
  }

  template <class Make>
  base::Status put_until_seen(const char* name, const std::vector<Recipe>& recipes,
                              Strictness strictness, Identical identical, Make& make) {
    using Result = SelfTestLine::Result;
    SelfTestLine line{name,          tensor().name,        shape().tag, Result::not_applicable,
                      Recipe::plain, "does not exist here"};
    bool same_everywhere = true, existed = false;
    for (Recipe recipe : recipes) {
      AKO_TRY(Answers * known, answers(recipe));
      const std::vector<std::byte> got = make(*known);
      if (got.empty()) continue;
      existed = true;
      if (got == ideal(m_tensor, known->right)) continue;
      same_everywhere = false;
      AKO_TRY(CompareResult result, judge(m_tensor, known->right, got, strictness));
      if (result.reference_at_fault) continue;
      line.recipe = recipe;
      line.result = Result::passed;
      line.detail = fmt::format("passes at {:.2g} of the tolerance", result.max_of_allowed);
      if (result.pass) continue;
      line.result = Result::failed_as_it_must;
      line.detail =
          fmt::format("refused on {} inputs: {}", inputs::to_string(recipe), result.reason);
      join(recipe);
      break;
    }
    if (existed && same_everywhere) {
      line.detail = "is the right answer on every kind of inputs";
      if (identical == Identical::fault) line.result = Result::passed;
    }
    if (line.result == Result::passed)
      note(same_everywhere ? FaultKind::inputs : FaultKind::tolerance, m_tensor,
           fmt::format("{} would pass for \"{}\" at {}{}: {}", name, line.tensor, line.shape,
                       recipes.size() > 1 ? " on every kind of inputs" : "",
                       same_everywhere ? "the inputs leave only one answer"
                                       : "the tolerance cannot tell it from the right answer (" +
                                             line.detail + ")"));
    m_out.lines.push_back(std::move(line));
    return {};
  }

  /// Recorded inputs are the same under every seed.
  bool inputs_differ(const Answers& known) const {
    for (std::size_t t = 0; t < shape().tensors.size(); ++t)
      if (shape().tensors[t].role == model::TensorRole::in &&
          known.right.tensors[t] != known.other_seed.tensors[t])
        return true;
    return false;
  }

  /// An inout's own content is not kept: its answer follows it.
  bool contents_differ(const Answers& known) const {
    if (inputs_differ(known)) return true;
    for (std::size_t t = 0; t < shape().tensors.size(); ++t)
      if (shape().tensors[t].role == model::TensorRole::inout &&
          known.right.tensors[t] != known.other_seed.tensors[t])
        return true;
    return false;
  }

  base::Status put_probe(Probe probe) {
    if (sampled() && probe != Probe::zeros && probe != Probe::ones) return {};
    const Identical identical =
        probe == Probe::zeros || probe == Probe::ones || probe == Probe::other_seed
            ? Identical::fault
            : Identical::harmless;
    const std::vector<Recipe> recipes =
        probe == Probe::zeros ? std::vector{Recipe::plain} : order(recipe_for(probe));
    return put(to_string(probe), recipes, Strictness::elements_alone, identical,
               [&](const Answers& known) -> std::vector<std::byte> {
                 if (probe == Probe::other_seed && !inputs_differ(known)) return {};
                 std::vector<TensorView> inputs;
                 for (std::size_t t = 0; t < shape().tensors.size(); ++t)
                   if (shape().tensors[t].role == model::TensorRole::in)
                     inputs.push_back(view(shape().tensors[t], known.right.tensors[t]));
                 return probe_answer(probe, tensor(), expected(m_tensor, known.right), inputs,
                                     expected(m_tensor, known.other_seed));
               });
  }

  base::Status put_mutant(Mutant mutant) {
    if (sampled()) return {};
    const std::vector<Recipe> recipes =
        gross(mutant) ? std::vector{Recipe::plain} : order(recipe_for(mutant));
    const bool by_elements = gross(mutant) || mutant == Mutant::swapped_operands;
    return put(to_string(mutant), recipes,
               by_elements ? Strictness::elements_alone : Strictness::full, Identical::harmless,
               [&](const Answers& known) {
                 TensorView changed;
                 if (mutant == Mutant::short_sum && known.short_exists)
                   changed = expected(m_tensor, known.shortened);
                 if (mutant == Mutant::swapped_operands && known.swap_exists)
                   changed = expected(m_tensor, known.swapped);
                 return mutant_answer(mutant, tensor(), expected(m_tensor, known.right), changed);
               });
  }

  const SelfTest& m_test;
  int m_shape = 0;
  std::size_t m_tensor = 0;
  std::map<std::pair<int, Recipe>, Answers> m_answers;
  std::set<std::string> m_warned; ///< outputs
  SelfTestReport m_out;
};

} // namespace

base::Expected<SelfTestReport> self_test(const SelfTest& test) {
  AKO_CHECK(test.contract && test.oracle && !test.shapes.empty(), "a self-test needs an oracle");
  return Run(test).run();
}

std::optional<model::Outcome> outcome_of(const SelfTestReport& report) {
  if (report.faults.empty()) return std::nullopt;
  std::string reason = report.faults.front().text;
  if (report.faults.size() > 1) reason += fmt::format("; and {} more", report.faults.size() - 1);
  base::Json lines = base::Json::array();
  for (const auto& fault : report.faults) lines.push_back(fault.text);
  return model::Outcome{model::OutcomeKind::task_error,
                        model::Fault::task,
                        reason,
                        {{"self_test", reason, {{"faults", lines}}, true}}};
}

} // namespace ako::judge
