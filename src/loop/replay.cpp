#include "loop/replay.hpp"

#include "loop/faults.hpp"
#include "loop/recipes.hpp"
#include "loop/setup.hpp"
#include "loop/try.hpp"
#include "workspace/snapshot.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <sstream>

namespace ako::loop {
namespace {

/// What the evaluation left on record for this purpose.
struct Setting {
  std::vector<std::uint64_t> seeds;
  std::uint64_t hidden_seed = 0;
  std::vector<inputs::Recipe> recipes;
};

std::optional<std::uint64_t> hex_value(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

tl::unexpected<base::Error> not_judged(std::int64_t number, std::string found) {
  return base::fail(base::ErrorKind::refused, "there is no judgement to see again",
                    {.where = fmt::format("iteration {}", number),
                     .found = std::move(found),
                     .allowed = "an iteration that was built and judged",
                     .next = "ako log"});
}

base::Expected<Setting> setting_of(ledger::Reader& reader,
                                   const ledger::Recorded<ledger::Iteration>& recorded) {
  const std::int64_t number = recorded.payload.number;
  std::string text;
  for (const auto& blob : recorded.event.blobs)
    if (blob.name == "evaluation") {
      AKO_TRY(text, reader.blob(blob.hash));
    }
  if (text.empty()) return not_judged(number, "it was never evaluated");
  AKO_TRY(base::Json record, base::parse_json(text, "evaluation"));
  Setting out;
  std::istringstream words(base::get_or<std::string>(record, "seed", ""));
  for (std::string word; words >> word;)
    if (auto seed = hex_value(word)) out.seeds.push_back(*seed);
  const auto hidden = hex_value(base::get_or<std::string>(record, "hidden_seed", ""));
  if (out.seeds.empty() || !hidden) return not_judged(number, "its record names no seed");
  out.hidden_seed = *hidden;
  for (const auto& name : base::get_or<base::Json>(record, "recipes", base::Json::array()))
    if (auto recipe = inputs::recipe_from(name.is_string() ? name.get<std::string>() : ""))
      out.recipes.push_back(*recipe);
  return out;
}

/// What it was held against then, by the label on record.
base::Expected<Built> build_against(const Session& session, Builder& builder,
                                    const std::string& label) {
  constexpr std::string_view k_baseline = "baseline:", k_iteration = "iteration ";
  if (label.starts_with(k_baseline))
    return must_build(builder.baseline(label.substr(k_baseline.size())));
  if (label.starts_with(k_iteration)) {
    AKO_TRY(
        model::Sources sources,
        workspace::read_snapshot(session.workdir(), "iter-" + label.substr(k_iteration.size())));
    return must_build(builder.from_sources(std::move(sources), lanes::Role::incumbent));
  }
  return base::fail(base::ErrorKind::invalid, "the record does not say what it was held against",
                    {.where = "against",
                     .found = label,
                     .allowed = "a baseline or an iteration",
                     .next = "ako verify"});
}

/// Shape, tensor and what kind of thing happened there.
std::vector<std::string> place_of(const model::Evidence& evidence) {
  const auto at = [](const base::Json& json, const char* key) {
    return json.is_object() ? base::get_or<std::string>(json, key, "") : std::string();
  };
  const base::Json& data = evidence.data;
  const base::Json place =
      data.is_object() && data.contains("place") ? data["place"] : base::Json::object();
  std::string shape = at(place, "shape");
  if (shape.empty()) shape = at(data, "shape");
  if (shape.empty()) shape = at(data, "where");
  std::string tensor = at(place, "tensor");
  if (tensor.empty()) tensor = at(data, "tensor");
  return {shape, tensor, at(data, "failure")};
}

} // namespace

bool same_evidence(const model::Evidence& a, const model::Evidence& b) {
  return a.guard == b.guard && place_of(a) == place_of(b);
}

bool Replayed::all_again() const {
  return std::all_of(evidence.begin(), evidence.end(), [](const auto& one) { return one.again; });
}

base::Expected<Replayed> replay_iteration(const Session& session, std::int64_t number) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(auto recorded, reader.iteration(number));
  if (!recorded) return not_judged(number, "no such iteration");
  const ledger::Iteration& iteration = recorded->payload;
  AKO_TRY(Setting setting, setting_of(reader, *recorded));
  if (iteration.contract != session.contract().hash)
    return base::fail(base::ErrorKind::stale, "the contract is not the one it was judged by",
                      {.where = "task.toml",
                       .found = session.contract().hash.substr(0, 12),
                       .allowed = iteration.contract.substr(0, 12),
                       .next = "check out the commit of that iteration"});
  AKO_TRY(const Target target, session.target());
  Builder builder(session.workdir(), session.contract(), target.architecture());
  AKO_TRY(model::Sources sources,
          workspace::read_snapshot(session.workdir(), workspace::kept_name(number)));
  Sides sides;
  AKO_TRY(sides.candidate,
          must_build(builder.from_sources(std::move(sources), lanes::Role::candidate)));
  AKO_TRY(sides.incumbent, build_against(session, builder, iteration.verdict.against));
  AKO_TRY(sides.reference, must_build(builder.reference()));
  sides.against = iteration.verdict.against;
  auto setup = set_up(session.workdir(), session.contract(), session.shapes(), sides,
                      setting.recipes, Scope::whole, target, setting.hidden_seed);
  setup.request.seeds = setting.seeds;
  AKO_TRY(executors::Lease lease, take_lease(target));
  Replayed out;
  AKO_TRY(out.report, evaluation::evaluate(setup.request, setup.make_stage));
  out.recorded = iteration.verdict.outcome;
  out.now = out.report.verdict.outcome;
  for (const auto& was : out.recorded.evidence) {
    if (is_of_a_tool(was)) continue; // it followed from what the judge saw
    ReplayedEvidence line{was, false, {}};
    for (const auto& is : out.now.evidence)
      // Two sets of one shape may speak alike: the very same words are the better match.
      if (same_evidence(was, is) && (!line.again || is.text == was.text)) {
        line.again = true;
        line.text = is.text;
      }
    out.evidence.push_back(std::move(line));
  }
  for (const auto& is : out.now.evidence)
    if (std::none_of(out.recorded.evidence.begin(), out.recorded.evidence.end(),
                     [&](const auto& was) { return same_evidence(was, is); }))
      out.others.push_back(is);
  return out;
}

} // namespace ako::loop
