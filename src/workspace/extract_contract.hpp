// A contract's first draft from a function's signature.
#pragma once

#include "base/cpp_scan.hpp"
#include "model/contract.hpp"

#include <string>
#include <vector>

namespace ako::workspace {

struct DraftOrigin {
  model::Lane lane = model::Lane::cpu;
  std::string kernel, path; ///< path: of the entry's file, as it lies below solution/ and input/
  std::string repository, commit;
  std::vector<std::string> include_dirs; ///< task-relative
};

/// Pointers become tensors (const: in, else out), integers axes, floating values scalars. What a
/// signature does not say stands as "?" with a comment that asks for it: reading the contract then
/// fails at exactly that key.
struct ContractDraft {
  std::string toml;
  std::vector<std::string> questions; ///< "tensor x: shape", one line each
};

ContractDraft draft_contract(const DraftOrigin& origin, const base::Function& function);

} // namespace ako::workspace
