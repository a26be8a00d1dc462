#include "cli/command.hpp"
#include "cli/words.hpp"
#include "loop/baseline.hpp"

#include <fmt/format.h>

namespace ako::cli {
namespace {

base::Expected<Reply> run_bench(const Context& context, const Arguments& arguments) {
  AKO_TRY(loop::Session session, loop::Session::open(context.dir, loop::Need::contract));
  session.use_device(arguments.maybe("device"));
  AKO_TRY(ledger::Bench bench, loop::bench(session, arguments.text("side", "solution")));
  Reply reply;
  reply.text = fmt::format("{}\n{}{} clock, {}, {}\n", bench.what, figure_table(bench.shapes),
                           bench.how.clock, bench.how.cache, bench.how.device);
  reply.data = {{"what", bench.what},
                {"shapes", figures_json(bench.shapes)},
                {"clock", bench.how.clock},
                {"cache", bench.how.cache},
                {"device", bench.how.device}};
  return reply;
}

} // namespace

extern const Command k_bench{
    "bench",
    "figures of one side, without a claim",
    "Looking is free: no gate, no judgement. The figures are taken as `try` takes them.",
    {{"side", "solution (default), incumbent, or baseline:NAME", Arity::one, false}},
    {{"device", "ID", k_device_help}},
    {"ako bench", "ako bench incumbent", "ako bench baseline:first --json"},
    run_bench};

} // namespace ako::cli
