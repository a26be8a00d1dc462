#include "model/dtype.hpp"

#include "base/error.hpp"

namespace ako::model {

namespace {

struct Row {
  Dtype dtype;
  std::string_view spelling;
  int bits;
  DtypeClass cls;
};

constexpr Row k_rows[] = {
#define AKO_X(name, text, bits, cls) {Dtype::name, text, bits, DtypeClass::cls},
    AKO_DTYPES(AKO_X)
#undef AKO_X
};

const Row& row(Dtype dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  AKO_CHECK(index < std::size(k_rows), "a Dtype is one of its enumerators");
  return k_rows[index];
}

} // namespace

std::string_view to_string(Dtype dtype) { return row(dtype).spelling; }

std::optional<Dtype> dtype_from(std::string_view spelling) {
  for (const Row& candidate : k_rows)
    if (candidate.spelling == spelling) return candidate.dtype;
  return std::nullopt;
}

int bits_of(Dtype dtype) { return row(dtype).bits; }

DtypeClass class_of(Dtype dtype) { return row(dtype).cls; }

const std::vector<Dtype>& all_dtypes() {
  static const std::vector<Dtype> all = [] {
    std::vector<Dtype> list;
    for (const Row& each : k_rows) list.push_back(each.dtype);
    return list;
  }();
  return all;
}

std::int64_t bytes_of(Dtype dtype, std::int64_t count) {
  AKO_CHECK(count >= 0, "a count of elements is not negative");
  const int bits = bits_of(dtype);
  if (bits == 4) return count / 2 + count % 2;
  std::int64_t bytes = 0;
  AKO_CHECK(!__builtin_mul_overflow(count, std::int64_t{bits / 8}, &bytes),
            "sizes are checked before they are turned into bytes");
  return bytes;
}

} // namespace ako::model
