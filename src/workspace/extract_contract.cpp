#include "workspace/extract_contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace ako::workspace {

namespace {

using base::Parameter;

/// The dtype that a C++ element type usually is; "?" when it says nothing.
std::string dtype_of(std::string type) {
  static const std::map<std::string, std::string> s_known = {{"float", "float32"},
                                                             {"double", "float64"},
                                                             {"_Float16", "float16"},
                                                             {"__bf16", "bfloat16"},
                                                             {"int64_t", "int64"},
                                                             {"long", "int64"},
                                                             {"long long", "int64"},
                                                             {"ptrdiff_t", "int64"},
                                                             {"ssize_t", "int64"},
                                                             {"int32_t", "int32"},
                                                             {"int", "int32"},
                                                             {"int16_t", "int16"},
                                                             {"short", "int16"},
                                                             {"int8_t", "int8"},
                                                             {"signed char", "int8"},
                                                             {"uint64_t", "uint64"},
                                                             {"size_t", "uint64"},
                                                             {"unsigned long", "uint64"},
                                                             {"unsigned long long", "uint64"},
                                                             {"uint32_t", "uint32"},
                                                             {"unsigned", "uint32"},
                                                             {"unsigned int", "uint32"},
                                                             {"uint16_t", "uint16"},
                                                             {"unsigned short", "uint16"},
                                                             {"uint8_t", "uint8"},
                                                             {"unsigned char", "uint8"},
                                                             {"bool", "bool"},
                                                             {"__half", "float16"},
                                                             {"half", "float16"},
                                                             {"__nv_bfloat16", "bfloat16"},
                                                             {"nv_bfloat16", "bfloat16"},
                                                             {"__nv_fp8_e4m3", "float8_e4m3fn"},
                                                             {"__nv_fp8_e5m2", "float8_e5m2"}};
  if (type.starts_with("std::")) type = type.substr(5);
  const auto found = s_known.find(type);
  return found == s_known.end() ? "?" : found->second;
}

bool is_wide(const std::string& dtype) { return dtype == "int64" || dtype == "uint64"; }

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string quoted_list(const std::vector<std::string>& list) {
  std::string out;
  for (const auto& each : list) out += (out.empty() ? "" : ", ") + quoted(each);
  return "[" + out + "]";
}

bool is_stream(const Parameter& parameter) {
  return parameter.type == "cudaStream_t" || parameter.type == "CUstream" ||
         parameter.type == "const cudaStream_t";
}

class Draft {
public:
  Draft(const DraftOrigin& origin, const base::Function& function)
      : m_origin(origin), m_function(function) {}

  ContractDraft write() {
    for (std::size_t i = 0; i < m_function.parameters.size(); ++i) {
      const auto& parameter = m_function.parameters[i];
      const std::string name =
          parameter.name.empty() ? fmt::format("arg{}", i + 1) : parameter.name;
      if (m_origin.lane == model::Lane::cuda && is_stream(parameter)) {
        m_args.push_back("stream");
        continue;
      }
      m_args.push_back(name);
      switch (parameter.kind) {
      case Parameter::Kind::pointer: add_tensor(name, parameter); break;
      case Parameter::Kind::integer: add_axis(name, parameter); break;
      case Parameter::Kind::floating:
      case Parameter::Kind::boolean: add_scalar(name, parameter); break;
      case Parameter::Kind::other: add_other(name, parameter); break;
      }
    }
    const bool error = m_origin.lane == model::Lane::cuda && m_function.returns == "cudaError_t";
    if (m_function.returns != "void" && m_function.returns != "int" && !error)
      ask("kernel.entry",
          fmt::format("the function returns {}; an entry returns void, or int with 0 for success: "
                      "add a small function that calls it, and name that one",
                      m_function.returns));
    ContractDraft draft;
    draft.toml = head() + axes() + m_tensors + m_scalars + shapes() + judges();
    draft.questions = std::move(m_questions);
    return draft;
  }

private:
  /// A comment for the toml, and a line for the report.
  std::string ask(const std::string& key, const std::string& question) {
    m_questions.push_back(key + ": " + question);
    return "# QUESTION " + question + "\n";
  }

  void add_tensor(const std::string& name, const Parameter& parameter) {
    const std::string dtype = dtype_of(parameter.base);
    const std::string key = "tensor " + name;
    m_tensors += fmt::format("\n[[tensor]]\nname = {}\n", quoted(name));
    if (!parameter.is_const)
      m_tensors += "# Not const, so taken as an output; \"inout\" when it is read too.\n";
    m_tensors += fmt::format("role = \"{}\"\n", parameter.is_const ? "in" : "out");
    if (dtype == "?")
      m_tensors += ask(key + ".dtype",
                       fmt::format("what are the elements that '{}' points at?", parameter.type));
    if (dtype == "uint16")
      m_tensors += "# \"bfloat16\" or \"float16\" when these are their bits.\n";
    m_tensors += fmt::format("dtype = \"{}\"\n", dtype);
    m_tensors += ask(key + ".shape", "which shape, as expressions over the axes?");
    m_tensors += "shape = [\"?\"]\n";
  }

  void add_axis(const std::string& name, const Parameter& parameter) {
    const std::string dtype = dtype_of(parameter.base);
    m_axis_names.push_back(name);
    std::string range = "min = 1";
    if (!is_wide(dtype)) range += ", max = 2147483647";
    m_axes += fmt::format("{} = {{ var = true, {} }}\n", name, range);
    if (dtype == "int16" || dtype == "uint16" || dtype == "int8" || dtype == "uint8" ||
        dtype == "?")
      ask("kernel.entry",
          fmt::format("'{} {}' is too narrow for an axis: let the entry take int or "
                      "wider",
                      parameter.type, name));
  }

  void add_scalar(const std::string& name, const Parameter& parameter) {
    const std::string dtype = dtype_of(parameter.base);
    m_scalars += fmt::format("\n[[scalar]]\nname = {}\ndtype = \"{}\"\n", quoted(name), dtype);
    m_scalars += ask("scalar " + name + ".value", "which value does production use?");
    m_scalars += "value = \"?\"\n";
  }

  void add_other(const std::string& name, const Parameter& parameter) {
    m_tensors += "\n" + ask("kernel.args",
                            fmt::format("'{} {}' can be given by no contract: add a small function "
                                        "that makes it, and name that one as the entry",
                                        parameter.type, name));
  }

  std::string head() const {
    std::string text = fmt::format("# Drafted from {} of {}{}.\n# Lines with QUESTION are for you: "
                                   "`ako check` stops at each until it is answered.\nformat = 1\n",
                                   m_origin.path, m_origin.repository,
                                   m_origin.commit.empty() ? "" : " at " + m_origin.commit);
    text += fmt::format("\n[kernel]\nname = {}\nlane = \"{}\"\nentry = {{ file = {}, symbol = {} "
                        "}}\n{}args = {}\n",
                        quoted(m_origin.kernel), model::to_string(m_origin.lane),
                        quoted("solution/" + m_origin.path), quoted(m_function.qualified),
                        m_origin.lane == model::Lane::cpu
                            ? "flags = [\"-O3\", \"-march=native\"]\n"
                            : "# architectures = [\"sm_90a\"]: needed where no device is at hand\n",
                        quoted_list(m_args));
    if (!m_origin.include_dirs.empty())
      text += fmt::format("include_dirs = {}\n", quoted_list(m_origin.include_dirs));
    return text;
  }

  std::string axes() const { return m_axes.empty() ? std::string() : "\n[axes]\n" + m_axes; }

  std::string shapes() {
    if (m_axis_names.empty()) return {};
    std::string text = "\n" + ask("shape", "which shapes are called in production, how often?");
    text += "[[shape]]\n";
    for (const auto& name : m_axis_names) text += name + " = \"?\"\n";
    return text + "weight = 1\n";
  }

  std::string judges() const {
    const std::string entry =
        fmt::format("entry = {{ file = {}, symbol = {} }}\n", quoted("input/" + m_origin.path),
                    quoted(m_function.qualified));
    return "\n# The kernel as it was found judges correctness; a plain one in float64 judges "
           "better.\n[reference]\n" +
           entry + "\n[[baseline]]\nname = \"found\"\n" + entry;
  }

  const DraftOrigin& m_origin;
  const base::Function& m_function;
  std::vector<std::string> m_args, m_axis_names, m_questions;
  std::string m_axes, m_tensors, m_scalars;
};

} // namespace

ContractDraft draft_contract(const DraftOrigin& origin, const base::Function& function) {
  return Draft(origin, function).write();
}

} // namespace ako::workspace
