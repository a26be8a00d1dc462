// A function of the target's own library as a side of an evaluation.
#pragma once

#include "loop/builds.hpp"
#include "model/port_spec.hpp"

namespace ako::loop {

/// A source that calls `symbol` of the library with the contract's arguments. The library is loaded
/// when the side is; its hash stands in the text, so that the side's name changes with it. Kind
/// unsupported when the entry's signature cannot be taken over.
base::Expected<std::string> library_caller(const model::Contract& contract,
                                           const std::string& entry_text,
                                           const base::fs::path& library, const base::Hash& hash,
                                           const std::string& symbol);

struct TargetLibrary {
  base::fs::path path;
  base::Hash hash;
};

/// `side`, built and ready to be loaded: "target:new" or "target:old". `entry_text`: the measured
/// entry's file, for its signature. `switch_value` is set in the side's environment where the
/// switch is one.
base::Expected<Built> target_side(Builder& builder, const model::Contract& contract,
                                  const model::PortSpec& port, const std::string& entry_text,
                                  const TargetLibrary& library, lanes::Role role,
                                  const std::string& switch_value);

} // namespace ako::loop
