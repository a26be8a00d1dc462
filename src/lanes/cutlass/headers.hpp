// CUTLASS and CuTe headers: where they are, which version they are, and which one a source asks
// for.
#pragma once

#include "lanes/lane.hpp"

#include <compare>

namespace ako::lanes::cutlass {

struct Version {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
  std::string text() const; ///< "4.2.0"
};

struct Headers {
  base::fs::path include; ///< holds cutlass/ and cute/
  Version version;
  std::string chosen_by; ///< "CUTLASS_PATH", "VIRTUAL_ENV", ...
};

/// The order: $CUTLASS_PATH (the root, or its include folder); below $VIRTUAL_ENV where the Python
/// package nvidia-cutlass puts them; where `scripts/setup --with-cutlass` put them; $CONDA_PREFIX,
/// $CUDA_HOME, /usr/local/cutlass, /usr/local/cuda, /usr/local and /usr. A CUTLASS_PATH without
/// headers is an error: no other is taken in its place.
base::Expected<Headers> find_headers(const Surroundings& around,
                                     std::vector<std::string>* looked = nullptr);

/// An include folder, and how it is called in messages.
struct Place {
  std::string by;
  base::fs::path include;
};
/// The first with headers. Kind environment, saying how to get some, when none has.
base::Expected<Headers> first_with_headers(const std::vector<Place>& places,
                                           std::vector<std::string>& said);

/// "CUTLASS 4.2.0 | hash": the hash is over every header's content. Remembered by names, sizes and
/// times of the headers, so that an edited copy of CUTLASS is another toolchain.
base::Expected<std::string> identity_of(const Headers& headers, const base::fs::path& memo_dir);

/// One condition on the version: a comment line "// cutlass >= 4.0, < 5" has two.
struct Need {
  std::string op; ///< ">=", ">", "<=", "<", "=="
  Version version;
  int parts = 0; ///< how many numbers were written: "== 4.2" holds for every 4.2.x
  std::string file;
  int line = 0;
  bool holds(const Version& found) const;
  std::string text() const; ///< ">= 4.0"
};

/// What the comments of the sources ask for, in file order. Kind invalid for a line that begins
/// like one and cannot be read.
base::Expected<std::vector<Need>> needs_of(const model::Sources& sources);

/// Kind environment, naming the line that asks, when a need does not hold.
base::Status check_version(const std::vector<Need>& needs, const Headers& headers);

} // namespace ako::lanes::cutlass
