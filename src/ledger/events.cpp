// Kinds and the payloads without times in them. Payloads with figures: measured_events.cpp.
#include "ledger/events.hpp"

#include "ledger/fields.hpp"

namespace ako::ledger {

using base::Expected;
using base::Json;

const char* to_string(EventKind kind) {
  switch (kind) {
#define AKO_X(name)                                                                                \
  case EventKind::name: return #name;
    AKO_EVENT_KINDS(AKO_X)
#undef AKO_X
  }
  return "?";
}

std::optional<EventKind> kind_from(std::string_view text) {
#define AKO_X(name)                                                                                \
  if (text == #name) return EventKind::name;
  AKO_EVENT_KINDS(AKO_X)
#undef AKO_X
  return std::nullopt;
}

Json to_json(const TaskCreated& p) {
  return {{"task", p.task},
          {"kernel", p.kernel},
          {"lane", p.lane},
          {"origin", p.origin},
          {"ako_version", p.ako_version}};
}
template <> Expected<TaskCreated> payload_from<TaskCreated>(const Json& json) {
  TaskCreated p;
  return Fields(json, "task_created")
      .read("task", p.task)
      .read("kernel", p.kernel)
      .read("lane", p.lane)
      .read("origin", p.origin)
      .read("ako_version", p.ako_version)
      .finish(p);
}

Json to_json(const ContractSeen& p) { return {{"hash", p.hash}, {"echo", p.echo}}; }
template <> Expected<ContractSeen> payload_from<ContractSeen>(const Json& json) {
  ContractSeen p;
  return Fields(json, "contract").read("hash", p.hash).read("echo", p.echo).finish(p);
}

Json to_json(const SelfTest& p) {
  Json steps = Json::array();
  for (const SelfTestStep& each : p.steps)
    steps.push_back({{"name", each.name}, {"passed", each.passed}, {"detail", each.detail}});
  return {{"contract", p.contract},
          {"passed", p.passed},
          {"steps", std::move(steps)},
          {"recipes", p.recipes},
          {"seconds", base::number_or_null(p.seconds)},
          {"files", files_json(p.files)}};
}
template <> Expected<SelfTest> payload_from<SelfTest>(const Json& json) {
  SelfTest p;
  const auto step = [](const Json& each) -> Expected<SelfTestStep> {
    SelfTestStep s;
    return Fields(each, "self_test.steps")
        .read("name", s.name)
        .read("passed", s.passed)
        .read("detail", s.detail)
        .finish(s);
  };
  return Fields(json, "self_test")
      .read("contract", p.contract)
      .read("passed", p.passed)
      .list("steps", p.steps, step)
      .read("recipes", p.recipes)
      .read("seconds", p.seconds)
      .list("files", p.files, file_from)
      .finish(p);
}

Json to_json(const Environment& p) {
  return {{"machine", p.machine},   {"device", p.device},           {"os", p.os},
          {"compiler", p.compiler}, {"ako_version", p.ako_version}, {"identity", p.identity},
          {"details", p.details}};
}
template <> Expected<Environment> payload_from<Environment>(const Json& json) {
  Environment p;
  return Fields(json, "environment")
      .read("machine", p.machine)
      .read("device", p.device)
      .read("os", p.os)
      .read("compiler", p.compiler)
      .read("ako_version", p.ako_version)
      .read("identity", p.identity)
      .read("details", p.details)
      .finish(p);
}

Json to_json(const ReferencesRead& p) {
  Json guides = Json::array();
  for (const GuideReceipt& each : p.guides)
    guides.push_back({{"id", each.id}, {"title", each.title}, {"hash", each.hash}});
  return {{"guides", std::move(guides)}};
}
template <> Expected<ReferencesRead> payload_from<ReferencesRead>(const Json& json) {
  ReferencesRead p;
  const auto guide = [](const Json& each) -> Expected<GuideReceipt> {
    GuideReceipt g;
    return Fields(each, "references_read.guides")
        .read("id", g.id)
        .read("title", g.title)
        .read("hash", g.hash)
        .finish(g);
  };
  return Fields(json, "references_read").list("guides", p.guides, guide).finish(p);
}

Json to_json(const Committed& p) {
  return {{"iteration", p.iteration}, {"commit", p.commit}, {"head", p.head}};
}
template <> Expected<Committed> payload_from<Committed>(const Json& json) {
  Committed p;
  return Fields(json, "committed")
      .read("iteration", p.iteration)
      .read("commit", p.commit)
      .read("head", p.head)
      .finish(p);
}

Json to_json(const Direction& p) {
  return {{"text", p.text}, {"lane", p.lane}, {"after_iteration", p.after_iteration}};
}
template <> Expected<Direction> payload_from<Direction>(const Json& json) {
  Direction p;
  return Fields(json, "direction")
      .read("text", p.text)
      .read("lane", p.lane)
      .read("after_iteration", p.after_iteration)
      .finish(p);
}

Json to_json(const Waiver& p) {
  return {{"gate", p.gate}, {"why", p.why}, {"command", p.command}, {"by", p.by}};
}
template <> Expected<Waiver> payload_from<Waiver>(const Json& json) {
  Waiver p;
  return Fields(json, "waiver")
      .read("gate", p.gate)
      .read("why", p.why)
      .read("command", p.command)
      .read("by", p.by)
      .finish(p);
}

Json to_json(const Profile& p) {
  return {{"tool", p.tool},
          {"target", p.target},
          {"summary", p.summary},
          {"findings", p.findings},
          {"data", p.data}};
}
template <> Expected<Profile> payload_from<Profile>(const Json& json) {
  Profile p;
  return Fields(json, "profile")
      .read("tool", p.tool)
      .read("target", p.target)
      .read("summary", p.summary)
      .read("findings", p.findings)
      .read("data", p.data)
      .finish(p);
}

Json to_json(const Port& p) {
  return {{"state", p.state},   {"repository", p.repository}, {"branch", p.branch},
          {"commit", p.commit}, {"detail", p.detail},         {"data", p.data}};
}
template <> Expected<Port> payload_from<Port>(const Json& json) {
  Port p;
  return Fields(json, "port")
      .read("state", p.state)
      .read("repository", p.repository)
      .read("branch", p.branch)
      .read("commit", p.commit)
      .read("detail", p.detail)
      .read("data", p.data)
      .finish(p);
}

Json to_json(const Validation& p) {
  return {{"name", p.name}, {"passed", p.passed}, {"detail", p.detail}, {"data", p.data}};
}
template <> Expected<Validation> payload_from<Validation>(const Json& json) {
  Validation p;
  return Fields(json, "validation")
      .read("name", p.name)
      .read("passed", p.passed)
      .read("detail", p.detail)
      .read("data", p.data)
      .finish(p);
}

Json to_json(const Note& p) { return {{"topic", p.topic}, {"text", p.text}, {"author", p.author}}; }
template <> Expected<Note> payload_from<Note>(const Json& json) {
  Note p;
  return Fields(json, "note")
      .read("topic", p.topic)
      .read("text", p.text)
      .read("author", p.author)
      .finish(p);
}

Json to_json(const Interrupted& p) {
  return {{"what", p.what}, {"detail", p.detail}, {"iteration", p.iteration}};
}
template <> Expected<Interrupted> payload_from<Interrupted>(const Json& json) {
  Interrupted p;
  return Fields(json, "interrupted")
      .read("what", p.what)
      .read("detail", p.detail)
      .read("iteration", p.iteration)
      .finish(p);
}

Json to_json(const Campaign& p) {
  return {{"name", p.name}, {"step", p.step}, {"turn", p.turn}, {"data", p.data}};
}
template <> Expected<Campaign> payload_from<Campaign>(const Json& json) {
  Campaign p;
  return Fields(json, "campaign")
      .read("name", p.name)
      .read("step", p.step)
      .read("turn", p.turn)
      .read("data", p.data)
      .finish(p);
}

} // namespace ako::ledger
