#include "cli/texts.hpp"

#include "executors/runner.hpp"
#include "lanes/registry.hpp"
#include "report/text/iterations_md.hpp"

namespace ako::cli {
namespace {

/// The microbench is the user's to edit: it is written once and never again.
base::Status write_microbench(const loop::Session& session) {
  AKO_TRY(const lanes::LaneDriver* lane, lanes::find_lane(session.contract().kernel.lane));
  AKO_TRY(model::SourceText text, lane->microbench(session.contract()));
  const auto path = session.workdir().task() / text.path;
  std::error_code ignored;
  if (base::fs::exists(path, ignored)) return {};
  return base::write_file_atomic(path, text.content);
}

} // namespace

base::Status write_texts(const loop::Session& session) {
  AKO_TRY(ledger::Reader reader, session.reader());
  AKO_TRY(report::Data data, report::collect(reader));
  AKO_TRY_STATUS(
      report::write_texts(data, {session.workdir().iterations(),
                                 session.workdir().notes(session.contract().kernel.name)}));
  return write_microbench(session);
}

} // namespace ako::cli
