// What names in a trace say: the function behind a long signature, its family, the phase of a model
// that an annotation stands for. Hints, never proofs.
#pragma once

#include <string>
#include <string_view>

namespace ako::profiles {

/// "void ns::kernel<float, 4>(float*)" is "ns::kernel".
std::string short_name(std::string_view name);

/// "matrix product", "attention", "normalisation", ...; "other" when nothing in the name tells.
std::string_view family_of(std::string_view kernel_name);

/// "prefill", "decode", "mixed", "forward", "backward", "optimizer", or empty. Whole words count:
/// "decoder_layer" is no decode.
std::string_view phase_of(std::string_view annotation);

} // namespace ako::profiles
