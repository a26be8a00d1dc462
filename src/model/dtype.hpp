// Element types. Spelling follows the field: bfloat16, float8_e4m3fn, float4_e2m1fn, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ako::model {

// clang-format off
//      enumerator      spelling           bits  class
#define AKO_DTYPES(X)                                          \
  X(float64,            "float64",          64, floating)      \
  X(float32,            "float32",          32, floating)      \
  X(float16,            "float16",          16, floating)      \
  X(bfloat16,           "bfloat16",         16, floating)      \
  X(float8_e4m3fn,      "float8_e4m3fn",     8, floating)      \
  X(float8_e5m2,        "float8_e5m2",       8, floating)      \
  X(float8_e8m0fnu,     "float8_e8m0fnu",    8, floating)      \
  X(float4_e2m1fn,      "float4_e2m1fn",     4, floating)      \
  X(int64,              "int64",            64, integer)       \
  X(int32,              "int32",            32, integer)       \
  X(int16,              "int16",            16, integer)       \
  X(int8,               "int8",              8, integer)       \
  X(uint64,             "uint64",           64, integer)       \
  X(uint32,             "uint32",           32, integer)       \
  X(uint16,             "uint16",           16, integer)       \
  X(uint8,              "uint8",             8, integer)       \
  X(int4,               "int4",              4, integer)       \
  X(boolean,            "bool",              8, boolean)
// clang-format on

enum class Dtype {
#define AKO_X(name, text, bits, cls) name,
  AKO_DTYPES(AKO_X)
#undef AKO_X
};
enum class DtypeClass { floating, integer, boolean };

std::string_view to_string(Dtype dtype);
std::optional<Dtype> dtype_from(std::string_view spelling);
int bits_of(Dtype dtype);
DtypeClass class_of(Dtype dtype);
const std::vector<Dtype>& all_dtypes();

/// Bytes of `count` packed elements; 4-bit types take two per byte, low nibble first, rounded up.
std::int64_t bytes_of(Dtype dtype, std::int64_t count);

} // namespace ako::model
