// JSON of the values that more than one message carries.
#pragma once

#include "base/json.hpp"
#include "model/contract.hpp"
#include "model/resolved.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ako::protocol {

/// 64-bit values as "0x..." strings: JSON numbers are exact to 2^53 only.
std::string hex(std::uint64_t value);
base::Expected<std::uint64_t> from_hex(std::string_view text);
base::Expected<std::uint64_t> get_hex(const base::Json& object, std::string_view key);
base::Expected<std::vector<int>> get_ints(const base::Json& object, std::string_view key);

/// A tensor as the keeper needs it.
struct ArenaTensor {
  model::ResolvedTensor resolved;
  model::Lifetime lifetime = model::Lifetime::fresh;
  model::WorkspaceState workspace = model::WorkspaceState::undefined;
};
base::Json to_json(const ArenaTensor& tensor);
base::Expected<ArenaTensor> arena_tensor_from_json(const base::Json& json);

struct FillOrder {
  int tensor = 0;
  model::FillSpec spec;
  std::string library; ///< custom: the built library
};
base::Json to_json(const FillOrder& order);
base::Expected<FillOrder> fill_order_from_json(const base::Json& json);

} // namespace ako::protocol
