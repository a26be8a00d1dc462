// What a source asks of the architecture, and which name of the architecture has it.
//
// An architecture is "sm_" number [suffix]. Without a suffix the code runs on later devices of the
// same generation and may use what stays; with "a" it runs on that one device kind alone and may
// use all it has.
#pragma once

#include "base/error.hpp"
#include "model/sources.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::lanes::cuda {

struct Architecture {
  int number = 0;     ///< 90
  std::string suffix; ///< "", "a", "f"
  std::string text() const { return "sm_" + std::to_string(number) + suffix; }
  bool operator==(const Architecture&) const = default;
};

/// Kind invalid for text that names no architecture that ako builds for.
base::Expected<Architecture> parse_architecture(const std::string& text);

/// Whether code for `built` runs on a device of `device` (its suffix does not matter).
bool runs_on(const Architecture& built, const Architecture& device);

/// A word of a source that not every architecture has.
struct FeatureUse {
  std::string feature; ///< "wgmma"
  std::string file;
  int line = 0;
  int least = 0; ///< smallest number that has it
  std::vector<int>
      only_with_a; ///< with the suffix "a" of these numbers alone; empty = any from `least`
  bool had_by(const Architecture& architecture) const;
  std::string needs() const; ///< "sm_90a", "sm_90 or newer"
};

/// First use of each feature, in file order. Comments do not count.
std::vector<FeatureUse> find_features(const model::Sources& sources);

/// The device's own architecture, with "a" where one of the uses needs it and it has it.
Architecture suited(const Architecture& device, const std::vector<FeatureUse>& uses);

/// "the instruction wgmma.fence is not there on sm_90": what ptxas said of `instruction`, told with
/// the source's line and what to write into the contract.
base::Error explain_feature(const std::string& instruction, const Architecture& built,
                            const std::vector<FeatureUse>& uses);

} // namespace ako::lanes::cuda
