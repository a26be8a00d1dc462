#include "lanes/cuda/features.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::lanes::cuda {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

constexpr int k_numbers[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
constexpr const char* k_allowed =
    "sm_80, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_103, sm_103a, sm_120, sm_120a";

struct Word {
  const char* text; ///< looked for where no letter, digit or '_' precedes it
  const char* feature;
  int least;
  std::vector<int> only_with_a;
};

/// Held against ptxas 13.0 instruction by instruction (tests/unit/lanes/cuda_features_test.cpp).
const std::vector<Word>& known_words() {
  static const std::vector<Word> s_words = {
      {"wgmma.", "wgmma", 90, {90}},
      {"GMMA::", "wgmma", 90, {90}},
      {"warpgroup_arrive", "wgmma", 90, {90}},
      {"SM90_64x", "wgmma", 90, {90}},
      // What CUTLASS instantiates for a kind of device is written with its instructions.
      {"arch::Sm90", "wgmma", 90, {90}},
      {"tcgen05.", "tcgen05", 100, {100, 103, 110}},
      {"tcgen05_", "tcgen05", 100, {100, 103, 110}},
      {"SM100_MMA_", "tcgen05", 100, {100, 103, 110}},
      {"arch::Sm100", "tcgen05", 100, {100, 103, 110}},
      {"setmaxnreg.", "setmaxnreg", 90, {90, 100, 103, 110, 120, 121}},
      {"warpgroup_reg_alloc", "setmaxnreg", 90, {90, 100, 103, 110, 120, 121}},
      {"warpgroup_reg_dealloc", "setmaxnreg", 90, {90, 100, 103, 110, 120, 121}},
      {"tensormap.replace", "tensormap.replace", 90, {90, 100, 103, 110, 120, 121}},
      {"SM120_16x8x", "mma of narrow types", 120, {120, 121}},
      {"arch::Sm120", "mma of narrow types", 120, {120, 121}},
      {"cp.async.bulk.tensor", "cp.async.bulk.tensor", 90, {}},
      {"cp.async.bulk", "cp.async.bulk", 90, {}},
      {"cp_async_bulk", "cp.async.bulk", 90, {}},
      {"griddepcontrol.", "griddepcontrol", 90, {}},
      {"barrier.cluster.", "clusters", 90, {}},
      {"__cluster_dims__", "clusters", 90, {}},
      {"mapa.", "clusters", 90, {}},
      {"stmatrix.", "stmatrix", 90, {}},
      {"elect.sync", "elect.sync", 90, {}},
      {"multimem.", "multimem", 90, {}},
      {"mbarrier.try_wait", "mbarrier.try_wait", 90, {}},
      {"cp.async.", "cp.async", 80, {}},
  };
  return s_words;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Comments become blanks; strings stay: inline PTX stands in them.
std::string without_comments(const std::string& text) {
  std::string out = text;
  enum class In { code, line, block, string } in = In::code;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = out[i], next = i + 1 < out.size() ? out[i + 1] : '\0';
    if (in == In::code && c == '/' && next == '/') in = In::line;
    else if (in == In::code && c == '/' && next == '*') {
      in = In::block;
      out[i] = out[i + 1] = ' ';
      ++i;
      continue;
    } else if (in == In::code && c == '"') in = In::string;
    else if (in == In::string && c == '\\') {
      ++i;
      continue;
    } else if (in == In::string && c == '"') in = In::code;
    else if (in == In::line && c == '\n') in = In::code;
    else if (in == In::block && c == '*' && next == '/') {
      in = In::code;
      out[i] = out[i + 1] = ' ';
      ++i;
      continue;
    }
    if ((in == In::line || in == In::block) && c != '\n') out[i] = ' ';
  }
  return out;
}

std::optional<std::size_t> find_word(const std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (at == 0 || !is_word(text[at - 1])) return at;
  return std::nullopt;
}

} // namespace

Expected<Architecture> parse_architecture(const std::string& text) {
  Architecture out;
  if (text.starts_with("sm_")) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + 3, end, out.number);
    if (error == std::errc()) out.suffix = std::string(rest, end);
  }
  const bool known =
      std::find(std::begin(k_numbers), std::end(k_numbers), out.number) != std::end(k_numbers);
  const bool suffix = out.suffix.empty() || (out.number >= 90 && out.suffix == "a") ||
                      (out.number >= 100 && out.suffix == "f");
  if (known && suffix) return out;
  return fail(ErrorKind::invalid, "ako builds for no such architecture",
              {.where = "kernel.architectures",
               .found = text,
               .allowed = k_allowed,
               .next = "name the device's; `ako doctor` shows it"});
}

bool runs_on(const Architecture& built, const Architecture& device) {
  if (built.suffix == "a") return built.number == device.number;
  return built.number / 10 == device.number / 10 && built.number <= device.number;
}

bool FeatureUse::had_by(const Architecture& architecture) const {
  if (only_with_a.empty()) return architecture.number >= least;
  const bool number =
      std::find(only_with_a.begin(), only_with_a.end(), architecture.number) != only_with_a.end();
  return number && !architecture.suffix.empty();
}

std::string FeatureUse::needs() const {
  if (only_with_a.empty()) return fmt::format("sm_{} or newer", least);
  std::vector<std::string> names;
  for (const int number : only_with_a) names.push_back(fmt::format("sm_{}a", number));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<FeatureUse> find_features(const model::Sources& sources) {
  std::vector<FeatureUse> uses;
  for (const auto& source : sources.texts) {
    const std::string text = without_comments(source.content);
    for (const auto& word : known_words()) {
      const bool known = std::any_of(uses.begin(), uses.end(), [&](const FeatureUse& use) {
        return use.feature == word.feature;
      });
      if (known) continue;
      const auto at = find_word(text, word.text);
      if (!at) continue;
      const auto line =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*at), '\n');
      uses.push_back(
          {word.feature, source.path, static_cast<int>(line) + 1, word.least, word.only_with_a});
    }
  }
  return uses;
}

Architecture suited(const Architecture& device, const std::vector<FeatureUse>& uses) {
  Architecture with_a = device;
  with_a.suffix = "a";
  Architecture plain = device;
  plain.suffix.clear();
  for (const auto& use : uses)
    if (!use.had_by(plain) && use.had_by(with_a)) return with_a;
  return plain;
}

base::Error explain_feature(const std::string& instruction, const Architecture& built,
                            const std::vector<FeatureUse>& uses) {
  const FeatureUse* match = nullptr;
  for (const auto& use : uses)
    if (instruction.starts_with(use.feature) &&
        (match == nullptr || use.feature.size() > match->feature.size()))
      match = &use;
  base::Error error{ErrorKind::invalid,
                    fmt::format("'{}' is not there on {}", instruction, built.text()),
                    "kernel.architectures",
                    built.text(),
                    {},
                    {}};
  if (match == nullptr) {
    error.allowed = "instructions that this architecture has";
    error.next =
        "build for an architecture that has it (with the suffix a where it is bound to one "
        "device kind), or leave the instruction out";
    return error;
  }
  error.where = fmt::format("{}:{}", match->file, match->line);
  error.allowed = fmt::format("{} needs {}", match->feature, match->needs());
  Architecture with_a = built;
  with_a.suffix = "a";
  if (match->had_by(with_a) && !match->had_by(built))
    error.next =
        fmt::format("write architectures = [\"{}\"] in [kernel] of task.toml", with_a.text());
  else
    error.next = fmt::format("build for {}, or keep the instruction behind a test of "
                             "__CUDA_ARCH__",
                             match->needs());
  return error;
}

} // namespace ako::lanes::cuda
