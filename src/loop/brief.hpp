// A task on one page, for whoever makes the next change: what stands, what limits it, what was
// tried in vain. Read from the record; nothing is run.
#pragma once

#include "loop/session.hpp"
#include "loop/state.hpp"

#include <string>
#include <vector>

namespace ako::loop {

/// A guide that comes with the program.
struct GuideFile {
  std::string id, title;
  std::vector<std::string> lanes, findings;
  base::fs::path path;
};
/// All of them, by id; empty where the folder is not found beside the program.
std::vector<GuideFile> guide_files();

struct Attempt {
  std::int64_t number = 0;
  std::string hypothesis, outcome, reason;
};

struct Brief {
  std::string task, kernel, lane, entry, shapes;
  std::vector<std::string> sources; ///< files that make up a candidate
  Next next;
  std::vector<ClosedGate> closed;
  std::string incumbent;             ///< label, gain over the baseline
  std::string table;                 ///< the incumbent's, or the baseline's, times per shape
  std::string last;                  ///< how the last iteration ended, in full
  std::string diagnosis;             ///< of the last look at the kernel; empty = none on record
  std::vector<std::string> findings; ///< ids of that diagnosis
  std::vector<Attempt> failed;       ///< latest last, at most k_most_attempts
  std::vector<GuideFile> reading;    ///< at most k_most_guides
  bool stalled = false;
};
inline constexpr std::size_t k_most_attempts = 12, k_most_guides = 6;

base::Expected<Brief> brief_of(const Session& session);
/// Markdown, a page.
std::string to_text(const Brief& brief);

} // namespace ako::loop
