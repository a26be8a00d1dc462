// drive_fake TASK CAMPAIGN AGENT: the driver as `ako drive` runs it, judged by a fake.
#include "drive/side_by_side.hpp"
#include "fake_evaluator.hpp"
#include "loop/interrupt.hpp"

#include <cstdio>

namespace {

using namespace ako;

base::Expected<base::Json> run(const std::string& task, const std::string& file,
                               const std::string& agent) {
  AKO_TRY(const drive::Campaign campaign, drive::read_campaign(file, agent));
  if (campaign.settings.empty()) AKO_TRY_STATUS(drive::undo_open_turn(task, campaign.name));
  AKO_TRY(const loop::Session session, loop::Session::open(task, loop::Need::contract));
  if (!campaign.settings.empty()) {
    AKO_TRY(const drive::SideBySide all,
            drive::drive_side_by_side(session, campaign, test::fake_evaluator));
    base::Json ends = base::Json::object();
    for (const auto& end : all.settings) ends[end.name] = end.outcome;
    return base::Json{
        {"winner", all.winner},
        {"settings", std::move(ends)},
        {"incumbent", all.standing.incumbent ? all.standing.incumbent->snapshot : ""}};
  }
  const auto evaluator = test::fake_evaluator();
  AKO_TRY(const drive::Driven driven,
          drive::drive(session, {campaign, campaign.agent, ""}, *evaluator));
  return base::Json{
      {"stopped", driven.state.stopped},
      {"turns", driven.state.turn},
      {"money", driven.state.money},
      {"wall_seconds", driven.state.wall_seconds},
      {"device_seconds", driven.state.device_seconds},
      {"landlock", driven.landlock},
      {"alone", driven.alone},
      {"iterations", driven.standing.iterations},
      {"incumbent", driven.standing.incumbent ? driven.standing.incumbent->snapshot : ""}};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  loop::install_interrupt_handler();
  const auto result = run(argv[1], argv[2], argv[3]);
  if (result) {
    std::printf("%s\n", base::dump_json(*result).c_str());
    return 0;
  }
  std::fprintf(stderr, "%s\n", result.error().text().c_str());
  switch (result.error().kind) {
  case base::ErrorKind::interrupted: return 130;
  case base::ErrorKind::refused: return 4;
  case base::ErrorKind::stale: return 14;
  case base::ErrorKind::usage:
  case base::ErrorKind::invalid: return 2;
  default: return 3;
  }
}
