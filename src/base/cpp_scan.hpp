// A small scanner of C++ text: enough to find function definitions and includes, no more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ako::base {

struct Parameter {
  std::string type; ///< as written, without the name, white space made single
  std::string name; ///< empty when it has none
  enum class Kind { pointer, integer, floating, boolean, other } kind = Kind::other;
  bool is_const = false; ///< pointer: the pointee
  std::string base;      ///< without const, *, &, __restrict__: "float", "std::uint16_t"
};

struct Function {
  std::string name;      ///< as written: "f" or "ns::f"
  std::string qualified; ///< with the namespaces around it
  std::string returns;
  std::vector<Parameter> parameters;
  int line = 0;                      ///< of its name
  int first_line = 0, last_line = 0; ///< of the whole definition, template and body included
  std::string template_parameters;   ///< "typename T, int N"; empty when it is no template
  bool is_template = false;
  bool is_static = false;
  bool is_member = false;        ///< of a class, not static
  std::string signature() const; ///< "void ns::f(const float* x, int n)"
};

struct Include {
  std::string name;
  int line = 0;
  bool quoted = true;
};

/// Definitions (not mere declarations) in file order. Comments, strings, raw strings and
/// preprocessor lines are skipped; both branches of an #if are read.
std::vector<Function> find_functions(std::string_view text);
std::vector<Include> find_includes(std::string_view text);
/// The first line whose inline assembly reads a file (.incbin, .include), outside comments; 0 =
/// none.
int find_assembled_file(std::string_view text);

} // namespace ako::base
