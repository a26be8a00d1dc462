// The contract's shapes and arguments as the tables of a stand-alone microbench.
#pragma once

#include "lanes/native/shim.hpp"
#include "model/resolved.hpp"

namespace ako::lanes::native {

enum class WarmColumn { none, written };

/// One row a tensor: name, dtype, bits, fresh, filled, [warm,] fill and its two numbers.
std::string tensor_rows(const model::Contract& contract, const model::ResolvedShape& shape,
                        WarmColumn warm_column);
/// One row a shape: tag, weight, integers, scalars, places, flops, bytes.
std::string case_rows(const model::Contract& contract,
                      const std::vector<model::ResolvedShape>& shapes);
/// A function `name` of the entry protocol that calls `symbol`.
std::string call_text(const std::string& name, const std::string& symbol,
                      const std::vector<Argument>& arguments);

} // namespace ako::lanes::native
