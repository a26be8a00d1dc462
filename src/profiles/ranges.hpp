// Which of many nested ranges encloses a moment.
#pragma once

#include "profiles/timeline.hpp"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace ako::profiles {

/// Answers "the innermost range at this moment" by binary search: each line is cut where a range
/// begins or ends.
class RangeIndex {
public:
  /// `keep` chooses the ranges that count, by the id of their name.
  template <class Keep> RangeIndex(const std::vector<Range>& ranges, Keep keep) {
    for (const Range& range : ranges)
      if (keep(range.name))
        m_lines[key(range.track, range.device, range.line)].ranges.push_back(range);
    for (auto& [at, line] : m_lines) cut(line);
  }
  bool empty() const { return m_lines.empty(); }
  /// Name of the innermost range; k_no_name where there is none.
  std::uint32_t at(Track track, std::int32_t device, std::int32_t line, std::int64_t moment) const;

private:
  struct Cut {
    std::int64_t from;
    std::uint32_t name;
  };
  struct Line {
    std::vector<Range> ranges; ///< emptied by cut()
    std::vector<Cut> cuts;     ///< each holds until the next
  };
  using Key = std::tuple<Track, std::int32_t, std::int32_t>;
  static Key key(Track track, std::int32_t device, std::int32_t line) {
    return {track, track == Track::host ? 0 : device, line};
  }
  static void cut(Line& line);

  std::map<Key, Line> m_lines;
};

} // namespace ako::profiles
