#include "workspace/preflight.hpp"
#include "cli/command.hpp"
#include "loop/harness.hpp"
#include "loop/session.hpp"

#include <cstdlib>
#include <fmt/format.h>

namespace ako::cli {
namespace {

using workspace::Checkout;

base::Json json_of(const Checkout& checkout) {
  base::Json troubles = base::Json::array();
  for (const auto& each : checkout.troubles)
    troubles.push_back({{"state", workspace::to_string(each.state)},
                        {"found", each.found},
                        {"remedy", each.remedy}});
  const char* done = checkout.done == Checkout::Done::cloned      ? "cloned"
                     : checkout.done == Checkout::Done::forwarded ? "forwarded"
                                                                  : "nothing";
  return {{"checkout", checkout.path.string()},
          {"head", checkout.head},
          {"branch", checkout.branch},
          {"remote", checkout.remote},
          {"url", checkout.url},
          {"default_branch", checkout.default_branch},
          {"upstream", checkout.upstream},
          {"ahead", checkout.ahead},
          {"behind", checkout.behind},
          {"done", done},
          {"troubles", std::move(troubles)}};
}

std::string text_of(const Checkout& checkout) {
  std::string out =
      fmt::format("{}: clean, {} at {}/{}\n", checkout.path.string(), checkout.head.substr(0, 12),
                  checkout.remote, checkout.default_branch);
  if (checkout.done == Checkout::Done::cloned) out += "cloned from " + checkout.url + "\n";
  if (checkout.done == Checkout::Done::forwarded)
    out += fmt::format("moved forward by {} commits\n", checkout.behind);
  for (const auto& remark : checkout.remarks) out += "  " + remark + "\n";
  return out;
}

/// Every trouble with its remedy; the first one's is what to do next.
tl::unexpected<base::Error> refused(const Checkout& checkout) {
  std::string rest;
  for (const auto& each : checkout.troubles)
    rest += fmt::format("{}{}: {}", rest.empty() ? "" : "; ", workspace::to_string(each.state),
                        each.remedy);
  return base::fail(
      base::ErrorKind::refused, "the AKO4ALL checkout is not clean and at its upstream",
      {.where = checkout.path.string(),
       .found = checkout.text(),
       .allowed = "a clean checkout, exactly at the upstream's default branch; ako "
                  "changes nothing of yours to get there",
       .next = checkout.troubles.size() == 1 ? checkout.troubles.front().remedy : rest});
}

base::Expected<Reply> run_preflight(const Context& context, const Arguments& arguments) {
  auto session = loop::Session::open(context.dir, loop::Need::record);
  std::optional<base::fs::path> harness;
  if (session) harness = loop::harness_of(session->workdir());
  workspace::PreflightRequest request;
  if (auto base_dir = arguments.maybe("base-dir")) {
    std::error_code why;
    request.checkout = base::fs::weakly_canonical(context.dir / *base_dir, why) / "AKO4ALL";
  } else {
    request.checkout = harness ? *harness : workspace::find_checkout(context.dir);
  }
  if (const char* url = std::getenv("AKO4ALL_UPSTREAM_URL")) request.upstream_url = url;
  if (arguments.has("look")) request.mode = workspace::PreflightRequest::Mode::look;
  AKO_TRY(const Checkout checkout, workspace::preflight(request));
  Reply reply;
  if (harness && *harness == request.checkout) {
    // A gate rests on what is on record, so that nothing else has to ask the network.
    AKO_TRY(ledger::Writer writer, session->writer());
    AKO_TRY_STATUS(writer.append(loop::validation_of(checkout)).map([](const auto&) {}));
  }
  if (!checkout.whole()) return refused(checkout);
  reply.text = text_of(checkout);
  reply.data = json_of(checkout);
  reply.data["recorded"] = harness && *harness == request.checkout;
  return reply;
}

} // namespace

extern const Command k_preflight{
    "preflight",
    "is the AKO4ALL checkout clean and exactly at its upstream?",
    "Clones it when it is missing (AKO4ALL_UPSTREAM_URL), moves a clean one that is behind "
    "forward\n"
    "along its branch, and otherwise says what is in the way and how its owner can mend it. "
    "Nothing\n"
    "of yours is reset, cleaned, stashed or checked out. In a task inside an AKO4ALL worktree the\n"
    "result goes on record: its gate opens. Exit 4 when the checkout is not as it must be.",
    {{"base-dir", "folder that holds AKO4ALL (default: the nearest at or above this one)",
      Arity::one, false}},
    {{"look", "", "clone nothing, move nothing", Arity::flag}},
    {"ako preflight", "ako preflight ~/kernels",
     "AKO4ALL_UPSTREAM_URL=https://git.example/AKO4ALL.git ako preflight",
     "ako preflight --look --json"},
    run_preflight};

} // namespace ako::cli
