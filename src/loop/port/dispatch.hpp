// The new kernel beside the old path: a dispatch that takes it where it was proven and the switch
// says so, and the old path everywhere else. Pure: values in, texts out.
#pragma once

#include "model/contract.hpp"
#include "model/port_spec.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::loop {

/// What shapes were judged and measured, as conditions a dispatch can test.
struct Proven {
  struct Range {
    std::string name;
    std::int64_t low = 0, high = 0; ///< of the shapes that were measured
    std::int64_t multiple = 1;      ///< of those and of the judged ones between them
  };
  using Variant = std::map<std::string, model::Dtype>; ///< one value for each dtype axis
  /// All of its corners were measured: between them figures are read, never beyond them. A shape
  /// that has no such neighbour is a box by itself.
  struct Box {
    std::vector<Range> ranges;     ///< var axes, in contract order
    std::vector<Variant> variants; ///< for which the box stands; one empty one without dtype axes
  };
  std::vector<Box> boxes;          ///< none inside another
  std::vector<std::string> shapes; ///< "N=256", one a measured shape
};

/// `judged`: further shapes whose answers were compared, such as edge shapes.
Proven proven_of(const model::Contract& contract, const std::vector<model::ShapeCase>& judged);
/// "256 <= N <= 4096, N % 16 == 0; M == 1"; several boxes as "(...) or (...)".
std::string text_of(const Proven& proven);

struct DispatchSource {
  std::string kernel;            ///< contract.kernel.name
  std::string origin;            ///< "iteration 3, sources 1a2b3c4d5e6f, on <device>"
  std::string entry_file;        ///< below kernel/
  std::vector<std::string> args; ///< as the entry takes them
  std::string architecture;      ///< "sm_90" that it was measured on; empty = the host's cores
};

/// "sm_90a" -> {9, 0}; nothing for text that is no device architecture.
struct Capability {
  int major = 0, minor = 0;
};
std::optional<Capability> capability_of(const std::string& architecture);

/// Names of the entry's arguments in order: contract.kernel.args, else tensors, scalars, var axes.
std::vector<std::string> argument_names(const model::Contract& contract);

/// <kernel>_dispatch.hpp: C++17, includes the kernel under a name of its own. Kind unsupported when
/// an axis that must be tested is no argument.
base::Expected<std::string> native_dispatch(const model::Contract& contract,
                                            const model::PortSpec& port, const Proven& proven,
                                            const DispatchSource& source);
/// <kernel>_dispatch.py
base::Expected<std::string> python_dispatch(const model::Contract& contract,
                                            const model::PortSpec& port, const Proven& proven,
                                            const DispatchSource& source);

bool is_python(model::Lane lane);

} // namespace ako::loop
