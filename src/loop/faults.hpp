// Looking for the place of a fault: one plain launch of the candidate under compute-sanitizer or
// cuda-gdb, when what the judge saw points at a race or at memory. The command runner is injected:
// tests give scripted tools.
#pragma once

#include "ledger/writer.hpp"
#include "loop/builds.hpp"
#include "model/build_plan.hpp"
#include "profiles/fault_run.hpp"

#include <map>
#include <string>
#include <vector>

namespace ako::loop {

/// What is looked for, the likeliest first; empty where nothing points at a race or at memory. Each
/// is asked only while those before it found nothing.
std::vector<profiles::FaultTool> tools_for(const model::Outcome& outcome);

/// The shape at which the judge saw it, by its tag; empty: it does not say.
std::string shape_of_fault(const model::Outcome& outcome);

struct FaultRequest {
  std::vector<profiles::FaultTool> tools;
  std::vector<std::string> target; ///< one plain launch
  std::string at;                  ///< "shape decode, seed 7": for the record
  std::map<std::string, std::string> environment;
  std::string working_folder;
  const model::Sources* sources = nullptr; ///< the tools' places are mapped to these
  double seconds = 60;                     ///< for each tool
};

struct FaultLook {
  std::vector<model::Evidence> evidence; ///< never decisive: the judge has decided
  std::vector<ledger::Attachment> pages; ///< what the tools said
  std::vector<std::string> warnings;
};

/// A tool that is missing or cannot work here is a warning, not an error.
FaultLook look_for_fault(const FaultRequest& request, const model::CommandRunner& runner);

/// Evidence that is a tool's, not the judge's.
bool is_of_a_tool(const model::Evidence& evidence);

/// "solution/k.cu:15" for the tools' "k.cu:15" where one of the sources has that name, and the line
/// as it stands there.
struct SourcePlace {
  std::string place, line;
};
SourcePlace place_in(const model::Sources& sources, const std::string& file, int line);

} // namespace ako::loop
