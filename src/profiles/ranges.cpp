#include "profiles/ranges.hpp"

#include <algorithm>

namespace ako::profiles {

void RangeIndex::cut(Line& line) {
  std::sort(line.ranges.begin(), line.ranges.end(), [](const Range& a, const Range& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::vector<const Range*> open;
  auto set = [&](std::int64_t from) {
    const std::uint32_t name = open.empty() ? k_no_name : open.back()->name;
    if (!line.cuts.empty() && line.cuts.back().from == from) line.cuts.back().name = name;
    else line.cuts.push_back({from, name});
  };
  // Ranges of one line are nested; where a tool lets them overlap, the later one counts until its
  // end.
  auto close_until = [&](std::int64_t moment) {
    while (!open.empty() && open.back()->end_ns <= moment) {
      const std::int64_t end = open.back()->end_ns;
      open.pop_back();
      if (line.cuts.empty() || end >= line.cuts.back().from) set(end);
    }
  };
  for (const Range& range : line.ranges) {
    close_until(range.start_ns);
    open.push_back(&range);
    set(range.start_ns);
  }
  close_until(INT64_MAX);
  line.ranges = {};
}

std::uint32_t RangeIndex::at(Track track, std::int32_t device, std::int32_t line,
                             std::int64_t moment) const {
  auto found = m_lines.find(key(track, device, line));
  if (found == m_lines.end()) return k_no_name;
  const std::vector<Cut>& cuts = found->second.cuts;
  auto behind = std::upper_bound(cuts.begin(), cuts.end(), moment,
                                 [](std::int64_t m, const Cut& cut) { return m < cut.from; });
  return behind == cuts.begin() ? k_no_name : std::prev(behind)->name;
}

} // namespace ako::profiles
