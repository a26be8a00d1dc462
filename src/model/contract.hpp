// The contract: what task.toml (format = 1) says, as plain values. Reading and checking:
// contract_toml.hpp.
#pragma once

#include "base/hash.hpp"
#include "base/json.hpp"
#include "model/dtype.hpp"
#include "model/expression.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ako::model {

enum class Lane { cuda, cutlass, triton, cute_dsl, cpu };
enum class Workload { latency, throughput };
enum class TensorRole { in, out, inout, workspace };
enum class Lifetime {
  fresh,
  static_
}; ///< fresh: new content for every timed block; static_: prepared once, may be kept
enum class CacheState { cold, warm };
enum class AddressRule { stable, fresh };
enum class Fill { uniform, normal, index, offsets, permutation, recorded, custom };
enum class Compare { close, exact, set, property };
enum class Clock { device, graph, call };
enum class Permission { allowed, forbidden };
enum class PrecisionRule { fixed, free };
enum class WorkspaceState { undefined, zeroed_once };
enum class ErrorPrecision { native, float32, float64 };

const char* to_string(Lane);
std::optional<Lane> lane_from(std::string_view); // "cute-dsl"
const char* to_string(Workload);
const char* to_string(TensorRole);
const char* to_string(Lifetime);
const char* to_string(CacheState);
const char* to_string(AddressRule);
const char* to_string(Fill);
const char* to_string(Compare);
const char* to_string(Clock);
const char* to_string(Permission);
const char* to_string(PrecisionRule);
const char* to_string(WorkspaceState);
const char* to_string(ErrorPrecision);

/// A function in a file of the task: entry = { file = "solution/rmsnorm.cpp", symbol = "rmsnorm" }.
struct EntryRef {
  std::string file;   ///< relative to the task folder
  std::string symbol; ///< C++: possibly qualified function name; Python: attribute path

  bool operator==(const EntryRef&) const = default;
};

struct Kernel {
  std::string name; ///< identifier, names files such as context/<name>_notes.md
  Lane lane = Lane::cpu;
  EntryRef entry;
  std::vector<std::string> sources; ///< further files of the candidate, relative to the task
  std::vector<std::string> include_dirs;
  std::vector<std::string> flags;         ///< of the lane's compiler
  std::string compiler;                   ///< empty = the lane's default
  std::vector<std::string> architectures; ///< sm_90a, ...; empty = the device at hand
  Workload workload = Workload::throughput;
  std::vector<std::string> call_sites;
  std::string prepare, plan; ///< optional symbols in entry.file
  std::vector<std::string>
      args; ///< order of the entry's arguments by name; empty = tensors, scalars, var axes
  bool in_place = false, deterministic = false, batch_invariant = false, capturable = false;
  Permission library_calls = Permission::allowed;
  PrecisionRule precision = PrecisionRule::free;

  bool operator==(const Kernel&) const = default;
};

struct Axis {
  enum class Kind { var, constant, expr, dtype };
  std::string name;
  Kind kind = Kind::var;
  std::int64_t min = 1, max = INT64_MAX, multiple_of = 1;
  std::optional<std::int64_t>
      tile;               ///< the kernel family's block along it; edge shapes come from it
  std::int64_t value = 0; ///< constant
  std::optional<Expression> expression; ///< expr
  std::vector<Dtype> dtypes;            ///< dtype axis: the variants

  bool operator==(const Axis&) const = default;
};

struct FillSpec {
  Fill kind = Fill::normal;
  double low = -1, high = 1;   ///< uniform
  double mean = 0, stddev = 1; ///< normal
  std::string limit;           ///< index, offsets: exclusive upper bound, expression over axes
  std::string file;   ///< recorded: .npy or raw; custom: shared object or source with a fill symbol
  std::string symbol; ///< custom

  bool operator==(const FillSpec&) const = default;
};

struct Tensor {
  std::string name;
  TensorRole role = TensorRole::in;
  std::optional<Dtype> dtype;      ///< fixed, or
  std::string dtype_axis;          ///< the dtype axis that gives it
  std::vector<Expression> shape;   ///< empty = 0-d (one element)
  std::vector<Expression> strides; ///< in elements; empty = row-major contiguous
  std::string layout;      ///< "row_major" (default) or "column_major"; empty where strides say it
  std::int64_t align = 64; ///< bytes, power of two
  Lifetime lifetime = Lifetime::fresh;
  std::optional<CacheState> cache; ///< absent = accept.cache
  AddressRule address = AddressRule::stable;
  FillSpec fill;
  Compare compare = Compare::close;
  std::string property;          ///< compare = property: see parse_property()
  bool nan_meaningful = false;   ///< NaN is part of the answer
  bool flush_subnormals = false; ///< a subnormal may come back as zero
  WorkspaceState workspace = WorkspaceState::undefined;

  bool operator==(const Tensor&) const = default;
};

struct Scalar {
  std::string name;
  Dtype dtype = Dtype::float32;
  double value = 0;                     ///< integers up to 2^53
  std::optional<Expression> expression; ///< integer scalars may depend on axes instead

  bool operator==(const Scalar&) const = default;
};

/// One case to be measured: values for every var axis and dtype axis.
struct ShapeCase {
  std::string tag;
  AxisValues axes;                     ///< var axes
  std::map<std::string, Dtype> dtypes; ///< dtype axes
  double weight = 1;                   ///< calls in production

  bool operator==(const ShapeCase&) const = default;
};

struct ReferenceSpec {
  Lane lane = Lane::cpu;
  EntryRef entry;
  std::vector<std::string> flags;
  ErrorPrecision precision = ErrorPrecision::native; ///< type of its floating outputs: float64*,
                                                     ///< float32* or the tensor's own

  bool operator==(const ReferenceSpec&) const = default;
};

struct BaselineSpec {
  std::string name;
  Lane lane = Lane::cpu;
  EntryRef entry;
  std::vector<std::string> sources, flags;
  std::string kind = "found"; ///< "found" in practice, "library"

  bool operator==(const BaselineSpec&) const = default;
};

struct ToleranceSpec { ///< absent fields are derived from dtype, length and magnitude
  std::optional<double> atol, rtol, matched_ratio, max_error_cap;
  std::optional<double>
      ratio_to_baseline;  ///< largest error against the baseline's own error to the reference
  std::string accumulate; ///< expression: length of the longest sum, for the derived tolerance

  bool operator==(const ToleranceSpec&) const = default;
};

struct Cost {
  std::string flops, bytes;

  bool operator==(const Cost&) const = default;
}; ///< expressions over axes; empty bytes = inputs once + outputs once

struct Accept {
  Clock clock = Clock::device; ///< on the cpu lane every clock is the host's monotonic one
  CacheState cache = CacheState::cold;
  double min_gain = 0.02;       ///< 0.005 on a GPU
  double max_regression = 0.02; ///< per shape
  double alpha = 0.001;
  bool second_opinion = true;

  bool operator==(const Accept&) const = default;
};

struct Tunable {
  std::string name;
  std::vector<base::Json> values;
  std::string constraint;

  bool operator==(const Tunable&) const = default;
};

struct GateSpec {
  std::string name, command, read,
      must; ///< command; JSON pointer or regex that finds its number; e.g. ">= 0.99*base"

  bool operator==(const GateSpec&) const = default;
};

struct ResourceLimits {
  double build_seconds = 120, call_seconds = 10, load_seconds = 30, evaluation_seconds = 600;
  std::int64_t memory_bytes = 0;       ///< 0 = what the machine has
  std::int64_t output_bytes = 1 << 20; ///< kept of each of stdout and stderr
  int placements = 20, pairs = 10;     ///< at most
  int threads = 1;                     ///< cores a call may use on the cpu lane; 0 = all there are

  bool operator==(const ResourceLimits&) const = default;
};

struct Contract {
  int format = 1;
  Kernel kernel;
  std::vector<Axis> axes; ///< in file order
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars;
  std::vector<ShapeCase> shapes;
  ReferenceSpec reference;
  std::vector<BaselineSpec> baselines;
  ToleranceSpec tolerance;
  Cost cost;
  Accept accept;
  std::vector<Tunable> tunables;
  std::vector<GateSpec> gates;
  ResourceLimits limits;
  base::Hash hash; ///< of the canonical echo: comments and order of keys do not matter

  bool operator==(const Contract&) const = default;
};

/// What a tensor of this dtype holds when its contract does not say: floating = normal(0, 1),
/// float8_e8m0fnu = uniform 1/16 to 16, integers = uniform over at most a byte's range.
FillSpec default_fill(Dtype dtype);
/// floating = close, integers and bool = exact.
Compare default_compare(Dtype dtype);

/// The defaults of [accept] on this lane: a GPU's clock is steadier than a host's.
Accept default_accept(Lane lane);

/// One clause of compare = property, taken apart: "product:U,S=A" is {product, {U, S, A}}.
struct PropertySpec {
  enum class Kind {
    permutation_of,
    sampled_from,
    product,
    picks,
    sorted,
    sorted_descending,
    row_sum
  };
  Kind kind = Kind::permutation_of;
  std::vector<std::string> tensors; ///< names as written; product: its factors, then the result
  double sum = 0;                   ///< row_sum
};
/// property = clause {";" clause}
/// clause   = "permutation_of:" tensor | "sampled_from:" tensor | "picks:" tensor
///          | "product:" a "," b "=" c | "sorted" | "sorted_descending" | "row_sum:" number
/// Spaces around clauses do not count. Every clause must hold.
base::Expected<std::vector<PropertySpec>> parse_property(std::string_view text);

/// Smallest and largest value of an integer or bool dtype.
struct IntegerRange {
  double low = 0, high = 0;
};
IntegerRange integer_range(Dtype dtype);

const Axis* find_axis(const Contract& contract, std::string_view name);
/// The dtypes a tensor may have: one, or the variants of its dtype axis.
std::vector<Dtype> dtypes_of(const Contract& contract, const Tensor& tensor);

} // namespace ako::model
