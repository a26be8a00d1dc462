// A function of the target's own library or modules as a side of an evaluation.
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

/// A module that imports `function` ("package.module:function") from a work tree of the target and
/// hands the contract's arguments on. It names the frameworks that the measured sources import, so
/// that it is given the same arrays. Kind invalid when `function` is not written so.
base::Expected<std::string> module_caller(const model::Contract& contract,
                                          const model::Sources& measured,
                                          const base::fs::path& tree, const base::Hash& hash,
                                          const std::string& function);

/// What the target loads: its shared library, or the work tree that its modules lie in.
struct TargetLibrary {
  base::fs::path path;
  base::Hash hash;          ///< of the library's bytes; of a work tree, its commit
  base::fs::path tree = {}; ///< the work tree: a worker may read it, and nothing else beside it
};

/// `side`, built and ready to be loaded: "target:new" or "target:old". `measured`: the sources that
/// were measured, for the entry's signature. `switch_value` is set in the side's environment where
/// the switch is one.
base::Expected<Built> target_side(Builder& builder, const model::Contract& contract,
                                  const model::PortSpec& port, const model::Sources& measured,
                                  const TargetLibrary& library, lanes::Role role,
                                  const std::string& switch_value);

} // namespace ako::loop
