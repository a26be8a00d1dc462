#include "model/contract_keys.hpp"

#include "base/error.hpp"

#include <string>

namespace ako::model {

namespace {

// clang-format off
constexpr KeySpec k_top[] = {
    {"format", "integer", "required", "always 1: the version of this format"},
    {"kernel", "table", "required", "the kernel being optimised"},
    {"axes", "table", "none", "named sizes and dtypes"},
    {"tensor", "list of tables", "required", "the buffers a call takes, at least one of role out or inout"},
    {"scalar", "list of tables", "none", "the numbers a call takes"},
    {"shape", "list of tables", "required", "the cases to be measured, at least one"},
    {"reference", "table", "required", "the trusted implementation that judges"},
    {"baseline", "list of tables", "none", "what a win is measured against; the fastest counts"},
    {"tolerance", "table", "derived", "how far a result may lie from the reference"},
    {"cost", "table", "derived", "lower bounds of the work one call must do"},
    {"accept", "table", "see below", "what counts as a win"},
    {"tunable", "list of tables", "none", "parameters of the candidate that a search may set"},
    {"gate", "list of tables", "none", "commands that must also be satisfied"},
    {"limits", "table", "see below", "time and memory that a run may take"},
    {"port", "table", "none", "where a winner goes; no part of the contract's identity"},
};

constexpr KeySpec k_kernel[] = {
    {"name", "identifier", "last part of entry.symbol", "names files such as context/NAME_notes.md"},
    {"lane", "cuda, cutlass, triton, cute-dsl, cpu", "cpu", "how the kernel is written and run"},
    {"entry", "table: file, symbol", "required", "the function that is called"},
    {"sources", "list of paths", "none", "further files of the candidate"},
    {"include_dirs", "list of paths", "none", "folders the compiler searches, inside the task"},
    {"flags", "list of strings", "none", "flags for the lane's compiler"},
    {"compiler", "string", "the lane's own", "program that compiles: g++, clang++, nvcc"},
    {"architectures", "list of strings", "the device at hand", "targets such as sm_90a"},
    {"workload", "latency, throughput", "throughput", "what matters in production"},
    {"family", "word", "inferred", "kind of kernel, such as gemm: chooses the reading; no part of the contract's identity"},
    {"call_sites", "list of strings", "none", "where production calls the kernel"},
    {"prepare", "symbol", "none", "function of entry.file called once for the static tensors, timed apart"},
    {"plan", "symbol", "none", "function of entry.file called once per shape, timed apart"},
    {"args", "list of names", "tensors, scalars, var axes", "order of the entry's arguments"},
    {"in_place", "boolean", "false", "the kernel works in place: some tensor is inout"},
    {"deterministic", "boolean", "false", "equal inputs must give equal bits"},
    {"batch_invariant", "boolean", "false", "a row's result must not depend on the other rows"},
    {"capturable", "boolean", "false", "the call must be capturable into a graph"},
    {"library_calls", "allowed, forbidden", "allowed", "may the kernel call vendor libraries"},
    {"precision", "fixed, free", "free", "may the kernel compute in another precision than declared"},
};

constexpr KeySpec k_entry[] = {
    {"file", "path", "required", "file inside the task, of the lane's kind"},
    {"symbol", "symbol", "required", "function name: qualified with :: (C++) or . (Python)"},
};

constexpr KeySpec k_axis[] = {
    {"var", "true", "none", "the axis gets its value from each [[shape]]"},
    {"const", "integer", "none", "the axis always has this value, at least 0"},
    {"expr", "expression", "none", "the axis follows from others"},
    {"dtype", "dtype or list of dtypes", "none", "a dtype axis: each [[shape]] picks one of them"},
    {"min", "integer", "1", "var: smallest lawful value"},
    {"max", "integer", "unbounded", "var: largest lawful value"},
    {"multiple_of", "integer", "1", "var: lawful values are multiples of it"},
    {"tile", "integer", "none", "var: the block that kernels work in; edge shapes come from it"},
};

constexpr KeySpec k_tensor[] = {
    {"name", "identifier", "required", "unique among tensors, scalars and axes"},
    {"role", "in, out, inout, workspace", "required", "who writes it"},
    {"dtype", "dtype or dtype axis", "required", "type of its elements"},
    {"shape", "list of expressions", "required", "sizes, slowest first; [] is one element"},
    {"strides", "list of expressions", "row-major", "distance of neighbours along each dimension, in elements"},
    {"layout", "row_major, column_major", "row_major", "instead of strides"},
    {"align", "integer", "64", "bytes that its address is a multiple of: a power of two up to 4096"},
    {"lifetime", "fresh, static", "fresh; workspace: static", "fresh: new content for every timed block; static: prepared once"},
    {"cache", "cold, warm", "accept.cache", "whether it lies in cache when a call begins"},
    {"address", "stable, fresh", "stable", "whether calls see it at one address"},
    {"fill", "fill or table", "normal; integers: uniform", "what in and inout tensors hold"},
    {"compare", "close, exact, set, property", "close; integers: exact", "how out and inout tensors are judged"},
    {"property", "string", "none", "compare = property: clauses with ';' between: permutation_of:T, sampled_from:T, picks:T, product:A,B=C, sorted, sorted_descending, row_sum:NUMBER"},
    {"nan_meaningful", "boolean", "false", "NaN is part of the answer"},
    {"flush_subnormals", "boolean", "false", "a subnormal may come back as zero"},
    {"workspace", "undefined, zeroed once", "undefined", "role workspace: what the kernel may rely on"},
};

constexpr KeySpec k_fill_keys[] = {
    {"kind", "uniform, normal, index, offsets, permutation, recorded, custom", "required", "the recipe"},
    {"low", "number", "-1; integers: by dtype", "uniform: smallest value"},
    {"high", "number", "1; integers: by dtype", "uniform: largest value (integers: included)"},
    {"mean", "number", "0", "normal: centre"},
    {"stddev", "number", "1", "normal: spread"},
    {"limit", "expression", "required", "index: values are below it; offsets: the last value"},
    {"file", "path", "required", "recorded: .npy or raw elements; custom: source or shared object"},
    {"symbol", "symbol", "required", "custom: the function that fills"},
};

constexpr KeySpec k_scalar[] = {
    {"name", "identifier", "required", "unique among tensors, scalars and axes"},
    {"dtype", "dtype", "float32; expr: int64", "type of the argument: float64, float32, an integer of 8 bits or more, bool"},
    {"value", "number or boolean", "none", "its value, or"},
    {"expr", "expression", "none", "an integer that follows from axes"},
};

constexpr KeySpec k_shape[] = {
    {"tag", "string", "AXIS=VALUE,...", "its name in tables and reports: letters, digits and _ . = , + -"},
    {"axes", "table", "none", "values of the axes; they may also stand in the shape itself"},
    {"weight", "number", "1", "calls in production, in any common unit"},
};

constexpr KeySpec k_reference[] = {
    {"lane", "cuda, cutlass, triton, cute-dsl, cpu", "kernel.lane", "how it is written and run"},
    {"entry", "table: file, symbol", "required", "the function that is called"},
    {"flags", "list of strings", "none", "flags for its compiler"},
    {"precision", "native, float32, float64", "native", "type of its close-compared floating outputs"},
};

constexpr KeySpec k_baseline[] = {
    {"name", "identifier", "required", "unique among baselines"},
    {"lane", "cuda, cutlass, triton, cute-dsl, cpu", "kernel.lane", "how it is written and run"},
    {"entry", "table: file, symbol", "required", "the function that is called"},
    {"sources", "list of paths", "none", "further files of it"},
    {"flags", "list of strings", "none", "flags for its compiler"},
    {"kind", "found, library", "found", "found in practice, or the fastest known library"},
};

constexpr KeySpec k_tolerance[] = {
    {"atol", "number", "derived", "absolute error allowed, at least 0"},
    {"rtol", "number", "derived", "relative error allowed, at least 0 and below 1"},
    {"matched_ratio", "number", "derived", "share of elements that must match, above 0 and at most 1"},
    {"max_error_cap", "number", "derived", "absolute error that no element may pass, above 0"},
    {"ratio_to_baseline", "number", "none", "largest error in units of the baseline's own error, above 0"},
    {"accumulate", "expression", "derived", "length of the longest sum"},
};

constexpr KeySpec k_cost[] = {
    {"flops", "expression", "0", "operations that one call cannot do without"},
    {"bytes", "expression", "inputs once and outputs once", "bytes that one call must move"},
};

constexpr KeySpec k_accept[] = {
    {"clock", "device, graph, call", "device", "which time decides; on the cpu lane all are the host's"},
    {"cache", "cold, warm", "cold", "state of the caches when a call begins"},
    {"min_gain", "number", "0.02 on cpu, 0.005 elsewhere", "smallest gain that counts, at least 0 and below 1"},
    {"max_regression", "number", "0.02", "largest loss allowed for each shape, at least 0"},
    {"alpha", "number", "0.001", "chance of a false improved, above 0 and below 0.5"},
    {"second_opinion", "boolean", "true", "a win counts only after fresh processes confirm it"},
};

constexpr KeySpec k_tunable[] = {
    {"name", "identifier", "required", "unique among tunables"},
    {"values", "list", "required", "numbers, strings or booleans to try"},
    {"constraint", "string", "none", "which combinations are lawful"},
};

constexpr KeySpec k_gate[] = {
    {"name", "identifier", "required", "unique among gates"},
    {"command", "string", "required", "what is run"},
    {"read", "string", "required", "JSON pointer, regular expression, or sglang:, vllm:, diffusion: KEY that finds its number"},
    {"must", "string", "required", "what the number must reach, such as >= 0.99*base"},
};

constexpr KeySpec k_limits[] = {
    {"build_seconds", "number", "120", "for one compiler run"},
    {"call_seconds", "number", "10", "for one call"},
    {"load_seconds", "number", "30", "for loading and preparing"},
    {"evaluation_seconds", "number", "600", "for a whole evaluation"},
    {"memory_bytes", "integer", "0", "for all buffers; 0 is what the machine has"},
    {"output_bytes", "integer", "1048576", "kept of each of stdout and stderr"},
    {"placements", "integer", "20", "sets of buffers at most"},
    {"pairs", "integer", "10", "pairs of blocks per placement at most"},
    {"threads", "integer", "1", "cores a call may use on the cpu lane; 0 = all there are"},
};

constexpr KeySpec k_port[] = {
    {"repository", "path", "required", "git repository that the kernel comes from, from the task folder or absolute"},
    {"branch", "string", "the one checked out there", "branch that the port is made for; it is not moved"},
    {"folder", "path", "required", "folder in the repository for kernel/ and the dispatch"},
    {"call_site", "path", "none", "file in the repository whose call is led to the new kernel"},
    {"call", "string", "none", "callee as it is written there, such as engine::rmsnorm"},
    {"patches", "list of paths", "none", "git diffs in the task that integrate instead, or as well"},
    {"paths", "list of paths", "none", "files and folders in the repository that patches may touch"},
    {"switch", "identifier", "required", "keeps the old path reachable"},
    {"switch_kind", "environment, macro", "environment", "read at run time, or defined when compiling"},
    {"otherwise", "new, old", "new", "the path taken where the switch says nothing"},
    {"build", "string", "none", "command that builds the repository, run in a work tree's root"},
    {"build_seconds", "number", "600", "for one build"},
    {"library", "path", "none", "shared library that the build makes, to be measured"},
    {"measure", "string", "none", "its C symbol, or package.module:function in Python, that takes the contract's arguments"},
    {"compile_commands", "path", "none", "compile_commands.json that the build writes, to compare flags"},
};

constexpr SectionSpec k_sections[] = {
    {"", "top level", k_top},
    {"kernel", "[kernel]", k_kernel},
    {"entry", "entry = { ... }", k_entry},
    {"axes", "[axes]", k_axis},
    {"tensor", "[[tensor]]", k_tensor},
    {"fill", "fill = { ... }", k_fill_keys},
    {"scalar", "[[scalar]]", k_scalar},
    {"shape", "[[shape]]", k_shape},
    {"reference", "[reference]", k_reference},
    {"baseline", "[[baseline]]", k_baseline},
    {"tolerance", "[tolerance]", k_tolerance},
    {"cost", "[cost]", k_cost},
    {"accept", "[accept]", k_accept},
    {"tunable", "[[tunable]]", k_tunable},
    {"gate", "[[gate]]", k_gate},
    {"limits", "[limits]", k_limits},
    {"port", "[port]", k_port},
};
// clang-format on

} // namespace

bool SectionSpec::has(std::string_view wanted) const {
  for (const KeySpec& each : keys)
    if (each.key == wanted) return true;
  return false;
}

const KeySpec& SectionSpec::key(std::string_view wanted) const {
  for (const KeySpec& each : keys)
    if (each.key == wanted) return each;
  base::check_failed("key", __FILE__, __LINE__, "no such key: " + std::string(wanted));
}

std::span<const SectionSpec> all_sections() { return k_sections; }

const SectionSpec& section_spec(std::string_view name) {
  for (const SectionSpec& each : k_sections)
    if (each.name == name) return each;
  base::check_failed("section_spec", __FILE__, __LINE__, "no such section: " + std::string(name));
}

} // namespace ako::model
