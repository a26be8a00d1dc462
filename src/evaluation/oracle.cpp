#include "evaluation/oracle.hpp"

#include "evaluation/blocks.hpp"
#include "evaluation/correctness.hpp"
#include "evaluation/failures.hpp"
#include "evaluation/grading.hpp"

#include <algorithm>
#include <map>

namespace ako::evaluation {
namespace {

using model::Side;

/// At most this many shapes: the self-test asks whether the contract can judge, not the candidate.
constexpr std::size_t k_most_shapes = 2;

base::Status failed(const client::WorkerFailure& failure, const std::string& shape) {
  return base::fail(base::ErrorKind::invalid, outcome_of(failure, Side::reference, shape).reason,
                    {.where = "[reference]",
                     .found = {},
                     .allowed = "a reference that answers every lawful input",
                     .next = "mend it, then: ako check"});
}

base::Status apply_change(Stage& stage, judge::InputChange change,
                          const model::ResolvedShape& shape) {
  std::vector<std::vector<std::byte>> copies;
  for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
    AKO_TRY(const auto bytes, stage.bytes(static_cast<int>(t), 0));
    copies.emplace_back(bytes.begin(), bytes.end());
  }
  std::vector<std::span<std::byte>> views(copies.begin(), copies.end());
  if (!judge::change_inputs(change, shape, views)) return {};
  for (std::size_t t = 0; t < shape.tensors.size(); ++t)
    if (shape.tensors[t].role == model::TensorRole::in)
      AKO_TRY_STATUS(stage.write(static_cast<int>(t), 0, copies[t]));
  return {};
}

} // namespace

judge::Oracle make_oracle(Stage& stage, const std::vector<model::ResolvedShape>& shapes) {
  return [&stage, &shapes](const judge::OracleCase& asked) -> base::Expected<judge::OracleAnswer> {
    const auto& shape = shapes[static_cast<std::size_t>(asked.shape)];
    AKO_TRY_STATUS(stage.open(shape, 1, asked.seed));
    AKO_TRY_STATUS(stage.fill({asked.recipe, asked.seed, 0}));
    if (asked.change != judge::InputChange::none)
      AKO_TRY_STATUS(apply_change(stage, asked.change, shape));
    if (auto called = stage.call(Side::reference, 0); !called)
      return tl::unexpected(failed(called.error(), shape.tag).error());
    judge::OracleAnswer answer;
    for (std::size_t t = 0; t < shape.tensors.size(); ++t) {
      const auto role = shape.tensors[t].role;
      std::span<const std::byte> bytes;
      if (role == model::TensorRole::in) {
        AKO_TRY(bytes, stage.bytes(static_cast<int>(t), 0));
      } else if (role != model::TensorRole::workspace) {
        AKO_TRY(bytes, stage.expected_bytes(static_cast<int>(t), 0));
      }
      answer.tensors.emplace_back(bytes.begin(), bytes.end());
    }
    return answer;
  };
}

namespace {

/// Whether what is to be beaten passes on these inputs. A side that fails otherwise says so later.
base::Expected<bool> incumbent_passes(Stage& stage, const Request& request,
                                      const model::ResolvedShape& shape, inputs::Recipe recipe,
                                      std::uint64_t seed) {
  AKO_TRY_STATUS(stage.open(shape, 1, seed));
  AKO_TRY(Scales scales, scales_of(stage, request, shape, recipe, seed + 1));
  const Content content{recipe, seed, 0};
  AKO_TRY_STATUS(stage.fill(content));
  Grader grader(stage, request, shape, std::move(scales));
  grader.renew(content);
  AKO_TRY_STATUS(stage.poison(inputs::Sentinel::first, {0}));
  if (!make_ready(stage, Side::incumbent) || !stage.call(Side::incumbent, 0)) return false;
  if (auto expected = grader.expect(0); !expected)
    return tl::unexpected(failed(expected.error(), shape.tag).error());
  AKO_TRY(const Graded graded, grader.grade(0, {}));
  return graded.pass;
}

/// The self-test asks its small shapes twice; a reference may be unsteady where many work at it.
base::Status repeat_largest(Stage& stage, const Request& request, const judge::SelfTest& test,
                            judge::SelfTestReport& report) {
  const auto size = [&](const auto& shape) { return fresh_bytes(*request.contract, shape); };
  const auto& shape =
      *std::max_element(request.shapes.begin(), request.shapes.end(),
                        [&](const auto& a, const auto& b) { return size(a) < size(b); });
  if (size(shape) <= size(test.shapes.back())) return {};
  AKO_TRY_STATUS(stage.open(shape, 1, test.seed));
  std::map<int, std::vector<std::byte>> before;
  for (int run = 0; run < 2; ++run) {
    if (run == 0 || has_inouts(shape))
      AKO_TRY_STATUS(stage.fill({inputs::Recipe::plain, test.seed, 0}));
    if (auto called = stage.call(Side::reference, 0); !called)
      return tl::unexpected(failed(called.error(), shape.tag).error());
    for (int tensor : outputs_of(shape)) {
      AKO_TRY(const auto bytes, stage.expected_bytes(tensor, 0));
      if (run == 0) {
        before[tensor].assign(bytes.begin(), bytes.end());
        continue;
      }
      judge::Tolerance tolerance;
      if (request.contract->tensors[static_cast<std::size_t>(tensor)].compare ==
          model::Compare::close) {
        AKO_TRY(tolerance, judge::derive_tolerance(*request.contract, shape, tensor));
      }
      AKO_TRY(const std::string found,
              contradiction(*request.contract, shape, tensor, before[tensor], bytes, tolerance));
      if (!found.empty())
        report.faults.push_back({judge::SelfTestFault::Kind::reference,
                                 shape.tensors[static_cast<std::size_t>(tensor)].name,
                                 "at " + shape.tag + " " + found});
    }
  }
  return {};
}

/// A recipe that nothing needs must not make a task out of a kernel that was good enough so far.
base::Status drop_extra(Stage& stage, const Request& request, const judge::SelfTest& test,
                        judge::SelfTestReport& report) {
  if (!stage.has(Side::incumbent)) return {};
  for (const inputs::Recipe recipe : std::vector(report.extra))
    for (const auto& shape : test.shapes) {
      AKO_TRY(const bool passes, incumbent_passes(stage, request, shape, recipe, test.seed));
      if (passes) continue;
      std::erase(report.extra, recipe);
      std::erase(report.judged, recipe);
      break;
    }
  return {};
}

} // namespace

base::Expected<judge::SelfTestReport> self_test(Stage& stage, const Request& request,
                                                std::int64_t most_bytes) {
  if (auto loaded = stage.load(Side::reference); !loaded)
    return tl::unexpected(failed(loaded.error(), "").error());
  judge::SelfTest test;
  test.contract = request.contract;
  test.shapes = request.shapes;
  std::stable_sort(test.shapes.begin(), test.shapes.end(), [&](const auto& a, const auto& b) {
    return fresh_bytes(*request.contract, a) < fresh_bytes(*request.contract, b);
  });
  while (test.shapes.size() > 1 &&
         (test.shapes.size() > k_most_shapes ||
          fresh_bytes(*request.contract, test.shapes.back()) > most_bytes))
    test.shapes.pop_back();
  test.seed = draw_seed();
  test.oracle = make_oracle(stage, test.shapes);
  AKO_TRY(judge::SelfTestReport report, judge::self_test(test));
  if (report.faults.empty()) AKO_TRY_STATUS(repeat_largest(stage, request, test, report));
  if (report.faults.empty()) AKO_TRY_STATUS(drop_extra(stage, request, test, report));
  return report;
}

} // namespace ako::evaluation
