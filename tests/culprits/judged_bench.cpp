#include "judged_bench.hpp"

#include "evaluation/oracle.hpp"
#include "loop/recipes.hpp"
#include "model/contract_toml.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>

namespace ako::culprits {
namespace {

namespace fs = base::fs;
using model::OutcomeKind;

constexpr std::int64_t k_self_test_bytes = 1 << 20;
/// Of a measurement that the machine spoils: where the expectation hangs on it, and where not.
constexpr int k_attempts_needed = 8, k_attempts = 2;

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

std::string whole(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

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
      {"unwritten", "incorrect"},      {"red_zone", "incorrect"},
      {"input_changed", "incorrect"},  {"hung", "timeout"},
      {"violation", "suspect"},        {"forbidden_call", "suspect"},
      {"changed", "suspect"},          {"interposed", "not improved"},
      {"exited", "crashed"},           {"threw", "launch_failed"},
      {"output_flood", "crashed"},     {"disk_filled", "crashed"},
      {"out_of_memory", "crashed"},    {"returned_error", "launch_failed"},
      {"load_failed", "launch_failed"}};
  const auto found = words.find(word);
  return found == words.end() ? word : found->second;
}

bool is_like(const std::string& word, OutcomeKind kind) {
  if (word == "any") return true;
  if (word == "clean") return was_measured(kind) || kind == OutcomeKind::invalid_measurement;
  if (word == "not improved" || word == "stray_work")
    return kind != OutcomeKind::improved && is_like("clean", kind);
  return word == model::to_string(kind);
}

} // namespace

Culprit read_culprit(const fs::path& path) {
  const std::string text = whole(path);
  const auto line = text.find('\n');
  constexpr std::string_view k_mark = "expects: ";
  const auto at = text.find(k_mark);
  if (at == std::string::npos || at > line)
    throw std::runtime_error(path.string() + ": the first comment says what is expected");
  return {text.substr(at + k_mark.size(), line - at - k_mark.size()), text.substr(line + 1)};
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
  // A contract that cannot judge is refused by `ako check`; the recipes that it needs are judged
  // on.
  m_recipes = must(evaluation::self_test(*stage, setup.request, k_self_test_bytes)).judged;
}

evaluation::Report Bench::judge(const std::string& source, const std::string& expects) {
  static auto lease = must(loop::take_lease(m_target));
  for (int attempt = 1;; ++attempt) {
    auto report = judge_once(source);
    const int most = unlike(expects, report).empty() ? k_attempts : k_attempts_needed;
    if (report.verdict.outcome.kind != OutcomeKind::invalid_measurement || attempt >= most)
      return report;
  }
}

evaluation::Report Bench::judge_once(const std::string& source) {
  m_sides.candidate = must(loop::must_build(m_workshop.candidate(source)));
  auto setup = loop::set_up(m_workshop.workdir(), m_workshop.contract(), m_workshop.shapes(),
                            m_sides, m_recipes, loop::Scope::whole, m_target);
  setup.request.progress = nullptr;
  return must(evaluation::evaluate(setup.request, setup.make_stage));
}

std::string unlike(const std::string& expects, const evaluation::Report& report) {
  const auto& outcome = report.verdict.outcome;
  std::string alternatives = expects;
  constexpr std::string_view k_second = ", second";
  bool second = false;
  if (alternatives.ends_with(k_second)) {
    second = true;
    alternatives.resize(alternatives.size() - k_second.size());
  }
  bool like = false;
  for (std::size_t at = 0; at < alternatives.size();) {
    auto end = alternatives.find(" or ", at);
    if (end == std::string::npos) end = alternatives.size();
    like = like || is_like(meaning(alternatives.substr(at, end - at)), outcome.kind);
    at = end + 4;
  }
  if (like && (!second || report.second)) return {};
  std::string out =
      "expected " + expects + ", came " + model::to_string(outcome.kind) + ": " + outcome.reason;
  for (const auto& evidence : outcome.evidence)
    out += "\n  " + evidence.guard + (evidence.decisive ? ": " : " (weak): ") + evidence.text;
  return out;
}

} // namespace ako::culprits
