// `ako port`: the incumbent on a branch of the target repository, behind a dispatch and a switch.
#pragma once

#include "loop/port/dispatch.hpp"
#include "loop/session.hpp"
#include "workspace/port_store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

/// States on record: what was measured in the task; what is on a branch; what was measured there.
inline constexpr const char* k_measured = "measured";
inline constexpr const char* k_integrated = "integrated";
inline constexpr const char* k_confirmed = "confirmed";
inline constexpr const char* k_rejected = "rejected";

struct PortRequest {
  std::optional<std::string> waive;
};

/// A port as it stands: what the last `integrated` on record says.
struct PortState {
  ledger::Port port;
  std::int64_t event = 0;
  std::int64_t iteration = 0;
  base::Hash snapshot;
  std::string base, folder;
};

struct PortResult {
  ledger::Port port;
  std::string base; ///< commit of the target branch that it stands on
  workspace::PatchTest patch;
  Proven proven;
  base::fs::path tree; ///< the private work tree
  bool again = false;  ///< nothing to do: it stood already
  bool moved = false;  ///< the target branch had moved: measure again
  std::vector<int> call_lines;
  double seconds = 0;
  std::vector<std::string> warnings;
};

base::Expected<PortResult> port_back(const Session& session, const PortRequest& request);

/// The last port on record that is about the incumbent; nothing when there is none.
base::Expected<std::optional<PortState>> standing_port(const Session& session);
/// Its state now: k_integrated, k_confirmed or k_rejected.
base::Expected<std::string> port_outcome(ledger::Reader& reader, const PortState& port);

/// Where the target repository lies, and the private store of this task for it.
base::Expected<workspace::PortStore> open_store(const Session& session,
                                                const model::PortSpec& port);

} // namespace ako::loop
