#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <sched.h>
#include <system_error>
#include <thread>

namespace ako::base {
namespace {

void bind_to(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set));
}

const std::vector<int> s_at_start = usable_cores();

} // namespace

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) out.push_back(core);
  return out;
}

const std::vector<int>& cores_at_start() { return s_at_start; }

void in_parallel(std::size_t count, const std::vector<int>& cores,
                 const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  const std::size_t most = std::min(std::max<std::size_t>(cores.size(), 1), count);
  // A helper goes where the caller is not, or both would share one core.
  std::vector<int> others = cores;
  if (const auto mine = usable_cores(); mine.size() == 1) std::erase(others, mine.front());
  try {
    while (helpers.size() + 1 < most)
      helpers.emplace_back([&] {
        if (!others.empty()) bind_to(others);
        take();
      });
  } catch (const std::system_error&) {
    // Fewer threads than wished for: the rest is done by those that are there.
  }
  take();
  for (std::thread& helper : helpers) helper.join();
}

} // namespace ako::base
