#include "model/arena.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

namespace {

constexpr std::int64_t k_page = 4096;
constexpr std::int64_t k_red_zone = 256;
constexpr int k_most_sets = 1 << 16;

/// A well-mixed value of (colour, tensor, set).
std::uint64_t mix(std::uint64_t colour, std::uint64_t tensor, std::uint64_t set) {
  std::uint64_t z = colour ^ (tensor * 0x9E3779B97F4A7C15u) ^ (set * 0xC2B2AE3D27D4EB4Fu);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Lays buffers one behind the other, red zones between them.
class Layout {
public:
  Layout(std::uint64_t address, int sets) {
    m_plan.address = address;
    m_plan.sets = sets;
    m_plan.red_zone_bytes = k_red_zone;
  }

  /// False when the arena would not be countable.
  bool add(int tensor, int set, std::int64_t bytes, std::int64_t align, std::int64_t shift) {
    std::int64_t offset = 0;
    if (__builtin_add_overflow(m_end, 2 * k_red_zone + align + shift, &offset)) return false;
    offset = m_end + k_red_zone; // the zone before; m_end lies behind the zone of the last one
    offset += (align - offset % align) % align;
    offset += shift;
    if (__builtin_add_overflow(offset, bytes, &m_end) ||
        __builtin_add_overflow(m_end, k_red_zone + k_page, &m_end))
      return false;
    m_end -= k_page;
    m_plan.places.push_back({tensor, set, offset, bytes});
    return true;
  }

  ArenaPlan finish() {
    m_plan.bytes = std::max<std::int64_t>((m_end + k_page - 1) / k_page, 1) * k_page;
    return std::move(m_plan);
  }

private:
  ArenaPlan m_plan;
  std::int64_t m_end = 0;
};

base::Status check(const Contract& contract, const ResolvedShape& shape, int sets,
                   std::uint64_t address) {
  if (sets < 1 || sets > k_most_sets)
    return fail(ErrorKind::invalid, "an arena of this many buffer sets cannot be planned",
                {.where = shape.tag,
                 .found = std::to_string(sets),
                 .allowed = fmt::format("1 to {}", k_most_sets),
                 .next = {}});
  if (address % k_page != 0)
    return fail(ErrorKind::invalid, "an arena begins at a page",
                {.where = shape.tag,
                 .found = fmt::format("{:#x}", address),
                 .allowed = "a multiple of 4096",
                 .next = {}});
  AKO_CHECK(contract.tensors.size() == shape.tensors.size(),
            "the shape was resolved from this contract");
  for (const ResolvedTensor& each : shape.tensors)
    if (each.align < 1 || each.align > k_page || (each.align & (each.align - 1)) != 0)
      return fail(ErrorKind::invalid, "the alignment cannot be met",
                  {.where = each.name,
                   .found = std::to_string(each.align),
                   .allowed = "a power of two up to 4096",
                   .next = {}});
  return {};
}

tl::unexpected<base::Error> too_large(const ResolvedShape& shape, int sets) {
  return fail(ErrorKind::invalid, "the buffers are too large to be counted",
              {.where = fmt::format("shape '{}'", shape.tag),
               .found = fmt::format("{} sets", sets),
               .allowed = "fewer than 2^63 bytes in all",
               .next = "use fewer sets"});
}

} // namespace

const BufferPlace& ArenaPlan::place(int tensor, int set) const {
  const BufferPlace* shared = nullptr;
  for (const BufferPlace& each : places) {
    if (each.tensor != tensor) continue;
    if (each.set == set) return each;
    if (each.set == 0) shared = &each;
  }
  AKO_CHECK(shared && set >= 0 && set < sets, "every tensor of the plan has its place");
  return *shared;
}

Dtype reference_dtype(const Contract& contract, const ResolvedShape& shape, int tensor) {
  const auto index = static_cast<std::size_t>(tensor);
  AKO_CHECK(index < shape.tensors.size() && index < contract.tensors.size(), "a tensor's index");
  const Dtype own = shape.tensors[index].dtype;
  const Tensor& declared = contract.tensors[index];
  if (declared.role != TensorRole::out || declared.compare != Compare::close ||
      class_of(own) != DtypeClass::floating)
    return own;
  switch (contract.reference.precision) {
  case ErrorPrecision::float64: return Dtype::float64;
  case ErrorPrecision::float32: return own == Dtype::float64 ? own : Dtype::float32;
  case ErrorPrecision::native: break;
  }
  return own;
}

Expected<ArenaPlan> plan_arena(const Contract& contract, const ResolvedShape& shape, int sets,
                               std::uint64_t address, std::uint64_t colour) {
  AKO_TRY_STATUS(check(contract, shape, sets, address));
  Layout layout(address, sets);
  const auto add = [&](std::size_t tensor, int set) {
    const ResolvedTensor& each = shape.tensors[tensor];
    const auto lawful = static_cast<std::uint64_t>(k_page / each.align);
    const auto steps = mix(colour, tensor + 1, static_cast<std::uint64_t>(set) + 1) % lawful;
    return layout.add(static_cast<int>(tensor), set, each.bytes, each.align,
                      static_cast<std::int64_t>(steps) * each.align);
  };
  for (std::size_t i = 0; i < shape.tensors.size(); ++i)
    if (contract.tensors[i].lifetime == Lifetime::static_ && !add(i, 0))
      return too_large(shape, sets);
  for (int set = 0; set < sets; ++set)
    for (std::size_t i = 0; i < shape.tensors.size(); ++i)
      if (contract.tensors[i].lifetime == Lifetime::fresh && !add(i, set))
        return too_large(shape, sets);
  return layout.finish();
}

Expected<ArenaPlan> plan_reference_arena(const Contract& contract, const ResolvedShape& shape,
                                         int sets, std::uint64_t address) {
  AKO_TRY_STATUS(check(contract, shape, sets, address));
  Layout layout(address, sets);
  for (int set = 0; set < sets; ++set)
    for (std::size_t i = 0; i < shape.tensors.size(); ++i) {
      const ResolvedTensor& each = shape.tensors[i];
      if (each.role == TensorRole::in) continue;
      if (each.role == TensorRole::workspace && set > 0) continue; // scratch of its own, once
      const Dtype dtype = reference_dtype(contract, shape, static_cast<int>(i));
      const std::int64_t align = std::max<std::int64_t>(each.align, bits_of(dtype) / 8);
      if (!layout.add(static_cast<int>(i), set, bytes_of(dtype, each.span_elements), align, 0))
        return too_large(shape, sets);
    }
  return layout.finish();
}

Json to_json(const ArenaPlan& plan) {
  Json places = Json::array();
  for (const BufferPlace& each : plan.places)
    places.push_back(Json::array({each.tensor, each.set, each.offset, each.bytes}));
  return Json{{"address", plan.address},
              {"bytes", plan.bytes},
              {"sets", plan.sets},
              {"red_zone_bytes", plan.red_zone_bytes},
              {"columns", {"tensor", "set", "offset", "bytes"}},
              {"places", std::move(places)}};
}

Expected<ArenaPlan> arena_plan_from_json(const Json& json) {
  ArenaPlan plan;
  AKO_TRY(plan.address, base::get<std::uint64_t>(json, "address"));
  AKO_TRY(plan.bytes, base::get<std::int64_t>(json, "bytes"));
  AKO_TRY(const std::int64_t sets, base::get<std::int64_t>(json, "sets"));
  AKO_TRY(plan.red_zone_bytes, base::get<std::int64_t>(json, "red_zone_bytes"));
  AKO_TRY(const Json places, base::get<Json>(json, "places"));
  const auto wrong = [](std::string found) {
    return fail(ErrorKind::invalid, "this is no plan of an arena",
                {.where = "places",
                 .found = std::move(found),
                 .allowed = "rows of tensor, set, offset, bytes inside the arena",
                 .next = {}});
  };
  if (!places.is_array() || sets < 1 || sets > k_most_sets || plan.red_zone_bytes < 0)
    return wrong(places.type_name());
  plan.sets = static_cast<int>(sets);
  for (const Json& row : places) {
    const bool four = row.is_array() && row.size() == 4 &&
                      std::all_of(row.begin(), row.end(),
                                  [](const Json& each) { return each.is_number_integer(); });
    if (!four) return wrong(base::dump_json(row));
    BufferPlace place{row[0].get<int>(), row[1].get<int>(), row[2].get<std::int64_t>(),
                      row[3].get<std::int64_t>()};
    if (place.tensor < 0 || place.set < 0 || place.set >= plan.sets || place.offset < 0 ||
        place.bytes < 0 || place.bytes > plan.bytes || place.offset > plan.bytes - place.bytes)
      return wrong(base::dump_json(row));
    plan.places.push_back(place);
  }
  return plan;
}

} // namespace ako::model
