// ako-launch JOB.json: one plain call of a built kernel, for profilers, sanitizers and debuggers.
// Prints a checksum for each tensor. Exit 0, 1 with the error on stderr, 2 when called wrongly.
#include "launch/job.hpp"

#include <cstdio>
#include <fmt/format.h>

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: ako-launch JOB.json\n"), 2;
  auto job = ako::launch::read_job(argv[1]);
  auto sums = job ? ako::launch::run(*job) : tl::unexpected(job.error());
  if (!sums) return std::fprintf(stderr, "ako-launch: %s\n", sums.error().text().c_str()), 1;
  ako::base::Json out = ako::base::Json::object();
  for (const auto& sum : *sums) out[sum.name] = fmt::format("{:016x}", sum.checksum);
  std::printf("%s\n", ako::base::dump_json(out).c_str());
  return 0;
}
