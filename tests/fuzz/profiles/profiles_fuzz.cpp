// All text readers of profiles: the first byte chooses one, the rest is its input.
#include "profiles/diagnose.hpp"
#include "profiles/nsys.hpp"
#include "profiles/sanitizer.hpp"
#include "profiles/sass.hpp"
#include "profiles/torch_trace.hpp"

#include <cmath>
#include <cstdlib>

using namespace ako;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void ncu(std::string_view text) {
  auto report = profiles::read_ncu(text, "fuzz");
  if (!report) return;
  require(!report->kernels.empty());
  for (const auto& kernel : report->kernels) {
    for (const auto& finding : profiles::diagnose(kernel).findings) {
      require(finding.gain_bound >= 0 && finding.gain_bound < 1);
      require(!finding.id.empty());
    }
  }
}

void timeline(const profiles::Timeline& spans) {
  auto sum = profiles::summarise(spans);
  require(sum.busy_ns <= sum.wall_ns * 1.0001 + 1);
  profiles::diagnose_timeline(spans);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
  case 0: ncu(text); break;
  case 1:
    if (auto trace = profiles::parse_torch_trace(text, "fuzz")) timeline(*trace);
    break;
  case 2:
    if (auto stats = profiles::read_nsys_csv(text, "fuzz")) timeline(stats->timeline);
    break;
  case 3: (void)profiles::read_sanitizer(text, "fuzz"); break;
  case 4: (void)profiles::read_sass(text, "fuzz"); break;
  default: (void)profiles::read_resources(text, "fuzz"); break;
  }
  return 0;
}
