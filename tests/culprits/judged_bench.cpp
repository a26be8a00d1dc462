#include "judged_bench.hpp"

#include "evaluation/oracle.hpp"
#include "loop/recipes.hpp"
#include "model/contract_toml.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

namespace ako::culprits {
namespace {

namespace fs = base::fs;
using model::OutcomeKind;

constexpr std::int64_t k_self_test_bytes = 1 << 20;
/// Of a measurement that the machine spoils.
constexpr int k_attempts = 4;
/// More than any core does: a floor that holds on machines that were never calibrated.
constexpr double k_most_flops_per_s = 1e12;
/// Behind an expectation: the second opinion must have found it.
constexpr std::string_view k_second = ", second";

template <class T> T must(base::Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().text());
  return std::move(*value);
}

/// As it was built, or where a run on another machine has them.
fs::path folder(const char* lane) {
  const char* given = std::getenv("AKO_CULPRITS");
  return (given != nullptr ? fs::path(given) : fs::path(AKO_SOURCE_DIR) / "tests/culprits") / lane;
}

/// Where no device is to say so.
constexpr const char* k_architecture = "sm_90a";

base::TemporaryDir task_folder(const Shelf& shelf, const std::string& task) {
  auto made = must(base::TemporaryDir::make("ako-judged-"));
  fs::create_directory(made.path() / "solution");
  fs::copy(shelf.folder / task / "task.toml", made.path() / "task.toml");
  fs::copy(shelf.folder / task / "input", made.path() / "input");
  fs::copy(shelf.folder / task / "input" / ("plain" + shelf.ending),
           made.path() / "solution" / ("kernel" + shelf.ending));
  return made;
}

model::Contract contract_of(const fs::path& folder, const loop::Target& target) {
  auto contract = must(model::load_contract(folder));
  if (loop::needs_device(contract.kernel.lane) && contract.kernel.architectures.empty() &&
      !target.device)
    contract.kernel.architectures = {k_architecture};
  return contract;
}

/// Builds of former runs are found again: sources decide, not file names.
void use_build_cache() {
  static const bool done = [] {
    if (std::getenv("AKO_CULPRITS") != nullptr) return true; // and the caller says where
    return setenv("XDG_CACHE_HOME", AKO_BUILD_DIR "/tests/culprits-cache", 1) == 0;
  }();
  if (!done) throw std::runtime_error("no environment");
}

bool was_measured(OutcomeKind kind) {
  return kind == OutcomeKind::improved || kind == OutcomeKind::equivalent ||
         kind == OutcomeKind::regressed || kind == OutcomeKind::undecided;
}

/// What a word of the raw protocol means for the whole judge.
std::string meaning(const std::string& word) {
  static const std::map<std::string, std::string> words = {
      {"unwritten", "incorrect (unwritten_elements)"},
      {"red_zone", "incorrect (red_zone)"},
      {"input_changed", "incorrect (changed_input)"},
      {"changed", "suspect (process_state)"},
      {"interposed", "gain below 30 %"}, // what is built hides the candidate's names
      {"stray_work", "gain below 30 % (stray_threads)"},
      {"hung", "timeout (hung)"},
      {"violation", "suspect (violation)"},
      {"forbidden_call", "suspect (forbidden_call)"},
      {"crashed", "crashed (crashed)"},
      {"exited", "crashed (exited)"},
      {"threw", "crashed (threw)"},
      {"output_flood", "crashed (output_flood)"},
      {"disk_filled", "crashed (disk_filled)"},
      {"too_many_threads", "crashed (too_many_threads)"},
      {"returned_error", "launch_failed (returned_error)"}};
  const auto found = words.find(word);
  return found == words.end() ? word : found->second;
}

/// "gain below 30 %": judged in full, nothing found, and the whole interval lies below. What could
/// not be told apart from a larger gain is not like it.
bool gains_less(const std::string& word, const model::Verdict& verdict) {
  constexpr std::string_view k_words = "gain below ";
  const std::string number = word.substr(k_words.size());
  if (!number.ends_with(" %")) throw std::runtime_error("expects: " + word + ": gain below N %");
  return was_measured(verdict.outcome.kind) && verdict.interval.high < std::stod(number) / 100;
}

bool is_like(const std::string& word, const model::Verdict& verdict) {
  const OutcomeKind kind = verdict.outcome.kind;
  if (word == "clean") return was_measured(kind);
  if (word == "not improved") return was_measured(kind) && kind != OutcomeKind::improved;
  if (word.starts_with("gain below ")) return gains_less(word, verdict);
  return word == model::to_string(kind);
}

/// "suspect (untimed_work)" in two: the word and the guard, which may be missing.
std::pair<std::string, std::string> parts_of(const std::string& alternative) {
  const auto open = alternative.find(" (");
  if (open == std::string::npos) return {alternative, ""};
  return {alternative.substr(0, open), alternative.substr(open + 2, alternative.size() - open - 3)};
}

std::vector<std::string> alternatives_of(std::string expects) {
  if (expects.ends_with(k_second)) expects.resize(expects.size() - k_second.size());
  std::vector<std::string> out;
  for (std::size_t at = 0; at < expects.size();) {
    auto end = expects.find(" or ", at);
    if (end == std::string::npos) end = expects.size();
    out.push_back(expects.substr(at, end - at));
    at = end + 4;
  }
  return out;
}

/// The guard, or how the worker ended, is among the evidence: where the outcome is one that
/// evidence decides, it decided.
bool shows(const model::Outcome& outcome, const std::string& guard) {
  return std::any_of(outcome.evidence.begin(), outcome.evidence.end(), [&](const auto& each) {
    const bool named =
        each.guard == guard || base::get_or<std::string>(each.data, "failure", "") == guard;
    return named && (each.decisive || was_measured(outcome.kind));
  });
}

bool came(const std::string& alternative, const model::Verdict& verdict) {
  const auto [word, guard] = parts_of(alternative);
  return is_like(word, verdict) && (guard.empty() || shows(verdict.outcome, guard));
}

} // namespace

Culprit read_culprit(const fs::path& path) {
  std::ifstream file(path);
  Culprit out;
  std::string comment, line;
  bool in_comment = true;
  while (std::getline(file, line)) {
    in_comment = in_comment && line.starts_with("// ");
    if (in_comment) comment += line.substr(2);
    else out.source += line + '\n';
  }
  constexpr std::string_view k_mark = "expects: ";
  const auto at = comment.find(k_mark);
  if (at == std::string::npos)
    throw std::runtime_error(path.string() + ": the first comment says what is expected");
  out.expects = comment.substr(at + k_mark.size());
  return out;
}

const Shelf& cpu_shelf() {
  static const Shelf shelf{model::Lane::cpu, folder("cpu"), ".cpp"};
  return shelf;
}

const Shelf& cuda_shelf() {
  static const Shelf shelf{model::Lane::cuda, folder("cuda"), ".cu"};
  return shelf;
}

std::vector<std::string> all_culprits(const Shelf& shelf) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(shelf.folder)) {
    if (entry.path().extension() == shelf.ending) names.push_back(entry.path().stem().string());
    if (!entry.is_directory()) continue;
    const std::string task = entry.path().filename().string();
    for (const auto& file : fs::directory_iterator(entry.path()))
      if (file.path().extension() == shelf.ending)
        names.push_back(task + "/" + file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path path_of(const Shelf& shelf, const std::string& name) {
  return shelf.folder / (name + shelf.ending);
}

std::string task_of(const std::string& name) {
  const auto slash = name.find('/');
  return slash == std::string::npos ? "flat" : name.substr(0, slash);
}

std::string as_candidate(const std::string& name, const Culprit& culprit) {
  if (name.find('/') != std::string::npos) return culprit.source;
  return "#define ako_call raw_call\n" + culprit.source + R"(
#undef ako_call
int kernel(const float* x, float* y, const float* t, float s, std::int64_t n) {
  void* tensors[] = {const_cast<float*>(x), y, const_cast<float*>(t)};
  const std::int64_t integers[] = {n};
  const double scalars[] = {s};
  return raw_call(tensors, integers, scalars, nullptr);
}
)";
}

Workshop::Workshop(const Shelf& shelf, const std::string& task, const loop::Target& target)
    : m_folder(task_folder(shelf, task)), m_workdir(must(workspace::Workdir::at(m_folder.path()))),
      m_contract(contract_of(m_folder.path(), target)),
      m_shapes(must(model::resolve_all(m_contract))),
      m_builder(std::make_unique<loop::Builder>(m_workdir, m_contract, target.architecture())) {
  use_build_cache();
}

base::Expected<loop::BuildOutcome> Workshop::candidate(const std::string& source) {
  return m_builder->from_sources(
      workspace::make_sources({{m_contract.kernel.entry.file, source, false}}),
      lanes::Role::candidate);
}

loop::Built Workshop::plain() { return must(loop::must_build(m_builder->baseline("plain"))); }
loop::Built Workshop::reference() { return must(loop::must_build(m_builder->reference())); }

Bench& Bench::of(const Shelf& shelf, const std::string& task, const loop::Target& target) {
  static std::map<fs::path, std::unique_ptr<Bench>> benches;
  auto& bench = benches[shelf.folder / task];
  if (!bench) bench.reset(new Bench(shelf, task, target));
  return *bench;
}

Bench::Bench(const Shelf& shelf, const std::string& task, const loop::Target& target)
    : m_target(target), m_workshop(shelf, task, target) {
  m_sides.incumbent = m_workshop.plain();
  m_sides.reference = m_workshop.reference();
  m_sides.candidate = m_sides.incumbent;
  m_sides.against = "plain";
  auto setup = loop::set_up(m_workshop.workdir(), m_workshop.contract(), m_workshop.shapes(),
                            m_sides, {inputs::Recipe::plain}, loop::Scope::contract_shapes, target);
  auto stage = must(setup.make_stage());
  const auto tested = must(evaluation::self_test(*stage, setup.request, k_self_test_bytes));
  // What `ako check` refuses proves nothing. The recipes that the contract needs are judged on.
  if (!target.device && !tested.faults.empty())
    throw std::runtime_error(task + ": " + tested.faults.front().text);
  m_recipes = tested.judged;
}

loop::Sides Bench::sides(const std::string& candidate) {
  loop::Sides out = m_sides;
  out.candidate = must(loop::must_build(m_workshop.candidate(candidate)));
  return out;
}

evaluation::Report Bench::judge(const std::string& source) { return judge(sides(source)); }

evaluation::Report Bench::judge(const loop::Sides& sides) {
  // Given back after each: others measure between.
  const auto lease = must(loop::take_lease(m_target));
  for (int attempt = 1;; ++attempt) {
    auto setup = loop::set_up(m_workshop.workdir(), m_workshop.contract(), m_workshop.shapes(),
                              sides, m_recipes, loop::Scope::whole, m_target);
    setup.request.progress = nullptr;
    if (!m_target.device) setup.request.ceilings.flops_per_s = k_most_flops_per_s;
    auto report = must(evaluation::evaluate(setup.request, setup.make_stage));
    if (!spoiled(report) || attempt >= k_attempts) return report;
  }
}

bool decided_unmeasured(const std::string& expects) {
  static const std::set<std::string> after_measuring = {"untimed_work", "time_claim",
                                                        "wrong_later"};
  if (expects.ends_with(k_second)) return false;
  const auto alternatives = alternatives_of(meaning(expects));
  return std::none_of(alternatives.begin(), alternatives.end(), [&](const std::string& each) {
    const auto [word, guard] = parts_of(each);
    return word == "clean" || word == "not improved" || word.starts_with("gain below ") ||
           word == "improved" || word == "invalid_measurement" || after_measuring.contains(guard);
  });
}

bool spoiled(const evaluation::Report& report) {
  const auto& outcome = report.verdict.outcome;
  return outcome.kind == OutcomeKind::invalid_measurement &&
         std::none_of(outcome.evidence.begin(), outcome.evidence.end(),
                      [](const auto& each) { return each.decisive; });
}

std::string unlike(const std::string& expects, const evaluation::Report& report) {
  const auto alternatives = alternatives_of(meaning(expects));
  const bool like =
      !spoiled(report) && std::any_of(alternatives.begin(), alternatives.end(),
                                      [&](const auto& each) { return came(each, report.verdict); });
  if (like && (!expects.ends_with(k_second) || report.second)) return {};
  const auto& outcome = report.verdict.outcome;
  std::string out =
      "expected " + expects + ", came " + model::to_string(outcome.kind) + ": " + outcome.reason;
  for (const auto& evidence : outcome.evidence)
    out += "\n  " + evidence.guard + (evidence.decisive ? ": " : " (weak): ") + evidence.text;
  return out;
}

} // namespace ako::culprits
