// Finding the C++ compiler and knowing it again.
#pragma once

#include "lanes/lane.hpp"

namespace ako::lanes::cpu {

/// The order: `wanted` (kernel.compiler), else $CXX, else g++, else clang++ in PATH. An empty CXX
/// counts as not set and is said so in `looked`. A wanted compiler that is missing is an error: no
/// other is taken in its place.
base::Expected<Tool> find_compiler(const std::string& wanted, const Surroundings& around,
                                   std::vector<std::string>* looked = nullptr);

/// Compiles five lines in `scratch`.
Probe probe_compiler(const std::string& wanted, const Surroundings& around,
                     const base::fs::path& scratch);

/// GNU's assembler names every file that it reads (-Wa,--MD). What caches compilers may not write
/// that list.
inline bool lists_assembly(const Tool& tool) {
  return tool.family == "gcc" && tool.command.size() == 1;
}

} // namespace ako::lanes::cpu
