#include "loop/baseline.hpp"
#include "cli/command.hpp"
#include "cli/texts.hpp"
#include "cli/words.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<Reply> run_baseline(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  session.use_device(arguments.maybe("device"));
  AKO_TRY(const auto waive, persons_word(arguments, "waive"));
  AKO_TRY(loop::BaselineResult result, loop::measure_baseline(session, waive, write_texts));
  Reply reply;
  base::Json entries = base::Json::array();
  for (const auto& entry : result.baseline.entries) {
    reply.text +=
        fmt::format("baseline {}{}\n{}", entry.name,
                    entry.name == result.baseline.fastest ? " (the fastest: it counts)" : "",
                    figure_table(entry.shapes));
    entries.push_back({{"name", entry.name}, {"shapes", figures_json(entry.shapes)}});
  }
  reply.text += "next: edit solution/, then: ako try --hypothesis \"...\"\n";
  reply.data = {{"fastest", result.baseline.fastest}, {"entries", std::move(entries)}};
  return reply;
}

} // namespace

extern const Command k_baseline{
    "baseline",
    "judge and measure what a win is measured against",
    "Every [[baseline]] of the contract is judged against the reference and measured; the fastest "
    "counts.\nNeeds a proven contract (ako check).",
    {},
    {{"device", "ID", k_device_help},
     {"waive", "WHY", "go on through a closed gate; stays visible in every report"}},
    {"ako baseline", "ako baseline --waive \"the reference is still being written\""},
    run_baseline};

} // namespace ako::cli
