// ako-child: the processes that ako starts for itself. Not meant to be run by hand.
//   ako-child keeper                     channel on descriptor 3
//   ako-child worker [--uncontained] [-- PROGRAM WORD...]
//                                        channel on descriptor 3, crash records to descriptor 4;
//                                        the program becomes the worker and calls ako_guest_run
//   ako-child devices                    JSON of all devices and what is missing, to stdout
//   ako-child calibrate UUID CACHE       JSON of one device's ceilings and constants, to stdout
#include "base/json.hpp"
#include "device/calibrate.hpp"
#include "device/inventory.hpp"
#include "keeper/keeper.hpp"
#include "protocol/kinds.hpp"
#include "worker/worker.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int k_channel = 3, k_crash = 4, k_exit_usage = 2;

int usage() {
  std::fprintf(
      stderr,
      "ako-child is started by ako (protocol %d): ako-child keeper|worker|devices|calibrate\n",
      ako::protocol::k_version);
  return k_exit_usage;
}

int calibrate(const char* uuid, const char* cache) {
  const auto found = ako::device::calibrate(uuid, cache);
  if (found) std::printf("%s\n", ako::base::dump_json(*found, 1).c_str());
  else std::fprintf(stderr, "%s\n", found.error().text().c_str());
  return found ? 0 : 1;
}

int worker(std::vector<std::string> words) {
  auto containment = ako::worker::Containment::full;
  if (!words.empty() && words.front() == "--uncontained") {
    containment = ako::worker::Containment::none;
    words.erase(words.begin());
  }
  if (words.empty()) return ako::worker::run_worker(k_channel, k_crash, containment);
  if (words.size() < 2 || words.front() != "--") return usage();
  words.erase(words.begin());
  return ako::worker::run_worker(k_channel, k_crash, containment, words);
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (role == "keeper" && argc == 2) return ako::keeper::run_keeper(k_channel);
  if (role == "worker") return worker({argv + 2, argv + argc});
  if (role == "devices" && argc == 2) {
    std::printf("%s\n", ako::base::dump_json(ako::device::inventory(), 1).c_str());
    return 0;
  }
  if (role == "calibrate" && argc == 4) return calibrate(argv[2], argv[3]);
  return usage();
}
