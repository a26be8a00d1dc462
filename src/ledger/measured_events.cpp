// The payloads that carry figures and verdicts.
#include "ledger/events.hpp"

#include "ledger/fields.hpp"

namespace ako::ledger {

using base::Expected;
using base::Json;
using base::number_or_null;

namespace {

Json figure_json(const ShapeFigure& f) {
  return {{"tag", f.tag},
          {"shape", f.shape},
          {"dtype", f.dtype},
          {"weight", number_or_null(f.weight)},
          {"p50_ns", number_or_null(f.p50_ns)},
          {"p95_ns", number_or_null(f.p95_ns)},
          {"mean_ns", number_or_null(f.mean_ns)},
          {"floor_ns", number_or_null(f.floor_ns)},
          {"samples", f.samples}};
}
Expected<ShapeFigure> figure_from(const Json& json) {
  ShapeFigure f;
  return Fields(json, "shapes")
      .read("tag", f.tag)
      .read("shape", f.shape)
      .read("dtype", f.dtype)
      .read("weight", f.weight)
      .read("p50_ns", f.p50_ns)
      .read("p95_ns", f.p95_ns)
      .read("mean_ns", f.mean_ns)
      .read("floor_ns", f.floor_ns)
      .read("samples", f.samples)
      .finish(f);
}
Json figures_json(const std::vector<ShapeFigure>& figures) {
  Json out = Json::array();
  for (const ShapeFigure& each : figures) out.push_back(figure_json(each));
  return out;
}

Json how_json(const HowTaken& h) {
  return {{"clock", h.clock},   {"cache", h.cache},   {"statistic", h.statistic},
          {"device", h.device}, {"warmup", h.warmup}, {"iterations", h.iterations}};
}
Expected<HowTaken> how_from(const Json& json) {
  HowTaken h;
  return Fields(json, "how")
      .read("clock", h.clock)
      .read("cache", h.cache)
      .read("statistic", h.statistic)
      .read("device", h.device)
      .read("warmup", h.warmup)
      .read("iterations", h.iterations)
      .finish(h);
}

Expected<BaselineEntry> entry_from(const Json& json) {
  BaselineEntry e;
  return Fields(json, "baseline.entries")
      .read("name", e.name)
      .object("artifact", e.artifact, model::artifact_from_json)
      .list("shapes", e.shapes, figure_from)
      .finish(e);
}

Expected<std::optional<model::Artifact>> optional_artifact(const Json& json) {
  AKO_TRY(model::Artifact artifact, model::artifact_from_json(json));
  return std::optional<model::Artifact>(std::move(artifact));
}
Expected<std::optional<model::Verdict>> optional_verdict(const Json& json) {
  AKO_TRY(model::Verdict verdict, model::verdict_from_json(json));
  return std::optional<model::Verdict>(std::move(verdict));
}

} // namespace

Json to_json(const Baseline& p) {
  Json entries = Json::array();
  for (const BaselineEntry& each : p.entries)
    entries.push_back({{"name", each.name},
                       {"artifact", model::to_json(each.artifact)},
                       {"shapes", figures_json(each.shapes)}});
  return {{"contract", p.contract},
          {"environment", p.environment},
          {"entries", std::move(entries)},
          {"fastest", p.fastest},
          {"hash", p.hash},
          {"how", how_json(p.how)},
          {"files", files_json(p.files)}};
}
template <> Expected<Baseline> payload_from<Baseline>(const Json& json) {
  Baseline p;
  return Fields(json, "baseline")
      .read("contract", p.contract)
      .read("environment", p.environment)
      .list("entries", p.entries, entry_from)
      .read("fastest", p.fastest)
      .read("hash", p.hash)
      .object("how", p.how, how_from)
      .list("files", p.files, file_from)
      .finish(p);
}

Json to_json(const Iteration& p) {
  Json json{{"number", p.number},
            {"hypothesis", p.hypothesis},
            {"prediction", p.prediction},
            {"predicted_gain", p.predicted_gain ? number_or_null(*p.predicted_gain) : Json()},
            {"cites", p.cites},
            {"direction", p.direction},
            {"lane", p.lane},
            {"explore", p.explore == Explore::yes},
            {"change", p.change},
            {"snapshot", model::to_json(p.snapshot)},
            {"artifact", p.artifact ? model::to_json(*p.artifact) : Json()},
            {"incumbent", p.incumbent},
            {"contract", p.contract},
            {"environment", p.environment},
            {"baseline", p.baseline}};
  json["verdict"] = model::to_json(p.verdict);
  json["versus_baseline"] = p.versus_baseline ? model::to_json(*p.versus_baseline) : Json();
  json["decision"] = model::to_string(p.decision);
  json["decision_reason"] = p.decision_reason;
  json["commit"] = p.commit;
  json["waived"] = p.waived;
  json["how"] = how_json(p.how);
  json["seconds"] = number_or_null(p.seconds);
  return json;
}

template <> Expected<Iteration> payload_from<Iteration>(const Json& json) {
  Iteration p;
  bool explore = false;
  std::string decision = model::to_string(p.decision);
  Fields fields(json, "iteration");
  fields.read("number", p.number)
      .read("hypothesis", p.hypothesis)
      .read("prediction", p.prediction)
      .read("predicted_gain", p.predicted_gain)
      .read("cites", p.cites)
      .read("direction", p.direction)
      .read("lane", p.lane)
      .read("explore", explore)
      .read("change", p.change)
      .object("snapshot", p.snapshot, model::snapshot_from_json)
      .object("artifact", p.artifact, optional_artifact)
      .read("incumbent", p.incumbent)
      .read("contract", p.contract)
      .read("environment", p.environment)
      .read("baseline", p.baseline)
      .object("verdict", p.verdict, model::verdict_from_json)
      .object("versus_baseline", p.versus_baseline, optional_verdict)
      .read("decision", decision)
      .read("decision_reason", p.decision_reason)
      .read("commit", p.commit)
      .read("waived", p.waived)
      .object("how", p.how, how_from)
      .read("seconds", p.seconds);
  p.explore = explore ? Explore::yes : Explore::no;
  if (const auto known = model::decision_from(decision)) p.decision = *known;
  else fields.note(base::ErrorKind::invalid, "decision", "keep, revert, flag", decision);
  return fields.finish(p);
}

Json to_json(const Compare& p) {
  return {{"old_name", p.old_name},
          {"new_name", p.new_name},
          {"old_snapshot", p.old_snapshot},
          {"new_snapshot", p.new_snapshot},
          {"judged", p.judged},
          {"verdict", model::to_json(p.verdict)},
          {"how", how_json(p.how)}};
}
template <> Expected<Compare> payload_from<Compare>(const Json& json) {
  Compare p;
  return Fields(json, "compare")
      .read("old_name", p.old_name)
      .read("new_name", p.new_name)
      .read("old_snapshot", p.old_snapshot)
      .read("new_snapshot", p.new_snapshot)
      .read("judged", p.judged)
      .object("verdict", p.verdict, model::verdict_from_json)
      .object("how", p.how, how_from)
      .finish(p);
}

Json to_json(const Bench& p) {
  return {{"what", p.what},
          {"snapshot", p.snapshot},
          {"shapes", figures_json(p.shapes)},
          {"how", how_json(p.how)}};
}
template <> Expected<Bench> payload_from<Bench>(const Json& json) {
  Bench p;
  return Fields(json, "bench")
      .read("what", p.what)
      .read("snapshot", p.snapshot)
      .list("shapes", p.shapes, figure_from)
      .object("how", p.how, how_from)
      .finish(p);
}

Json to_json(const SecondOpinion& p) {
  return {{"iteration", p.iteration},
          {"candidate", p.candidate},
          {"agreed", p.agreed},
          {"replay", p.replay},
          {"verdict", model::to_json(p.verdict)}};
}
template <> Expected<SecondOpinion> payload_from<SecondOpinion>(const Json& json) {
  SecondOpinion p;
  return Fields(json, "second_opinion")
      .read("iteration", p.iteration)
      .read("candidate", p.candidate)
      .read("agreed", p.agreed)
      .read("replay", p.replay)
      .object("verdict", p.verdict, model::verdict_from_json)
      .finish(p);
}

Json to_json(const Stall& p) {
  return {{"after_iteration", p.after_iteration},
          {"in_a_row", p.in_a_row},
          {"incumbent_again", figures_json(p.incumbent_again)},
          {"lessons", p.lessons}};
}
template <> Expected<Stall> payload_from<Stall>(const Json& json) {
  Stall p;
  return Fields(json, "stall")
      .read("after_iteration", p.after_iteration)
      .read("in_a_row", p.in_a_row)
      .list("incumbent_again", p.incumbent_again, figure_from)
      .read("lessons", p.lessons)
      .finish(p);
}

} // namespace ako::ledger
