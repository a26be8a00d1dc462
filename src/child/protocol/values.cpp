#include "protocol/values.hpp"

#include "protocol/kinds.hpp"

#include <charconv>
#include <fmt/format.h>

namespace ako::protocol {

using base::Expected;
using base::Json;

const char* to_string(Kind kind) {
  switch (kind) {
  case Kind::hello: return "hello";
  case Kind::quit: return "quit";
  case Kind::configure: return "configure";
  case Kind::create: return "create";
  case Kind::destroy: return "destroy";
  case Kind::fill: return "fill";
  case Kind::poison: return "poison";
  case Kind::check: return "check";
  case Kind::sums: return "sums";
  case Kind::copy: return "copy";
  case Kind::machine: return "machine";
  case Kind::sweep: return "sweep";
  case Kind::share: return "share";
  case Kind::load: return "load";
  case Kind::map: return "map";
  case Kind::unmap: return "unmap";
  case Kind::use: return "use";
  case Kind::call: return "call";
  case Kind::sample: return "sample";
  case Kind::residency: return "residency";
  case Kind::read: return "read";
  case Kind::write: return "write";
  case Kind::capture: return "capture";
  case Kind::replay: return "replay";
  }
  return "unknown";
}

std::string hex(std::uint64_t value) { return fmt::format("{:#x}", value); }

Expected<std::uint64_t> from_hex(std::string_view text) {
  std::uint64_t value = 0;
  if (text.starts_with("0x")) {
    const auto digits = text.substr(2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty())
      return value;
  }
  return base::fail(base::ErrorKind::invalid, "not a 64-bit number",
                    {.found = std::string(text), .allowed = "0x and hexadecimal digits"});
}

Expected<std::uint64_t> get_hex(const Json& object, std::string_view key) {
  AKO_TRY(const auto text, base::get<std::string>(object, key));
  return from_hex(text);
}

Expected<std::vector<int>> get_ints(const Json& object, std::string_view key) {
  std::vector<int> values;
  if (!object.is_object()) return base::fail(base::ErrorKind::invalid, "not an object");
  const auto at = object.find(key);
  if (at == object.end()) return values;
  const auto wrong = [&] {
    return base::fail(base::ErrorKind::invalid, "not a list of small integers",
                      {.where = std::string(key), .found = base::dump_json(*at)});
  };
  if (!at->is_array()) return wrong();
  for (const auto& item : *at) {
    if (!item.is_number_integer()) return wrong();
    const auto value = item.get<std::int64_t>();
    if (value < INT32_MIN || value > INT32_MAX) return wrong();
    values.push_back(static_cast<int>(value));
  }
  return values;
}

namespace {

Expected<std::vector<std::int64_t>> get_sizes(const Json& object, std::string_view key) {
  AKO_TRY(const auto list, base::get<Json>(object, key));
  std::vector<std::int64_t> values;
  if (!list.is_array()) return base::fail(base::ErrorKind::invalid, "not a list of sizes");
  for (const auto& item : list) {
    if (!item.is_number_integer()) return base::fail(base::ErrorKind::invalid, "not a size");
    values.push_back(item.get<std::int64_t>());
  }
  return values;
}

template <class E>
Expected<E> get_enum(const Json& object, std::string_view key, std::initializer_list<E> all) {
  AKO_TRY(const auto text, base::get<std::string>(object, key));
  for (const E value : all)
    if (text == model::to_string(value)) return value;
  return base::fail(base::ErrorKind::invalid, "unknown word",
                    {.where = std::string(key), .found = text});
}

} // namespace

Json to_json(const ArenaTensor& tensor) {
  const auto& r = tensor.resolved;
  return Json{{"name", r.name},
              {"role", model::to_string(r.role)},
              {"dtype", std::string(model::to_string(r.dtype))},
              {"shape", r.shape},
              {"strides", r.strides},
              {"elements", r.elements},
              {"span_elements", r.span_elements},
              {"bytes", r.bytes},
              {"align", r.align},
              {"fill_limit", r.fill_limit},
              {"contiguous", r.contiguous},
              {"lifetime", model::to_string(tensor.lifetime)},
              {"workspace", model::to_string(tensor.workspace)}};
}

Expected<ArenaTensor> arena_tensor_from_json(const Json& json) {
  using enum model::TensorRole;
  ArenaTensor tensor;
  auto& r = tensor.resolved;
  AKO_TRY(r.name, base::get<std::string>(json, "name"));
  AKO_TRY(r.role, (get_enum<model::TensorRole>(json, "role", {in, out, inout, workspace})));
  AKO_TRY(const auto dtype, base::get<std::string>(json, "dtype"));
  const auto known = model::dtype_from(dtype);
  if (!known) return base::fail(base::ErrorKind::invalid, "unknown dtype", {.found = dtype});
  r.dtype = *known;
  AKO_TRY(r.shape, get_sizes(json, "shape"));
  AKO_TRY(r.strides, get_sizes(json, "strides"));
  AKO_TRY(r.elements, base::get<std::int64_t>(json, "elements"));
  AKO_TRY(r.span_elements, base::get<std::int64_t>(json, "span_elements"));
  AKO_TRY(r.bytes, base::get<std::int64_t>(json, "bytes"));
  AKO_TRY(r.align, base::get<std::int64_t>(json, "align"));
  AKO_TRY(r.fill_limit, base::get<std::int64_t>(json, "fill_limit"));
  AKO_TRY(r.contiguous, base::get<bool>(json, "contiguous"));
  AKO_TRY(tensor.lifetime,
          (get_enum<model::Lifetime>(json, "lifetime",
                                     {model::Lifetime::fresh, model::Lifetime::static_})));
  AKO_TRY(tensor.workspace,
          (get_enum<model::WorkspaceState>(
              json, "workspace",
              {model::WorkspaceState::undefined, model::WorkspaceState::zeroed_once})));
  return tensor;
}

Json to_json(const FillOrder& order) {
  // Limits of a fill may be infinite only by mistake; JSON has no word for that.
  return Json{{"tensor", order.tensor},  {"kind", model::to_string(order.spec.kind)},
              {"low", order.spec.low},   {"high", order.spec.high},
              {"mean", order.spec.mean}, {"stddev", order.spec.stddev},
              {"file", order.spec.file}, {"symbol", order.spec.symbol},
              {"library", order.library}};
}

Expected<FillOrder> fill_order_from_json(const Json& json) {
  using enum model::Fill;
  FillOrder order;
  AKO_TRY(const auto tensor, base::get<std::int64_t>(json, "tensor"));
  order.tensor = static_cast<int>(tensor);
  AKO_TRY(order.spec.kind,
          (get_enum<model::Fill>(
              json, "kind", {uniform, normal, index, offsets, permutation, recorded, custom})));
  AKO_TRY(order.spec.low, base::get<double>(json, "low"));
  AKO_TRY(order.spec.high, base::get<double>(json, "high"));
  AKO_TRY(order.spec.mean, base::get<double>(json, "mean"));
  AKO_TRY(order.spec.stddev, base::get<double>(json, "stddev"));
  AKO_TRY(order.spec.file, base::get<std::string>(json, "file"));
  AKO_TRY(order.spec.symbol, base::get<std::string>(json, "symbol"));
  AKO_TRY(order.library, base::get<std::string>(json, "library"));
  return order;
}

} // namespace ako::protocol
