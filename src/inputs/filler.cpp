#include "inputs/codec.hpp"
#include "inputs/recipe.hpp"
#include "inputs/values.hpp"
#include "inputs/walk.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>

namespace ako::inputs {

using base::ErrorKind;
using base::fail;
using model::Dtype;
using model::Fill;

namespace {

bool is_data(Fill fill) {
  return fill == Fill::uniform || fill == Fill::normal || fill == Fill::index;
}

/// Codes of all 65536 draws: what fills of narrow types look up that follow from the bits alone.
using Table = std::vector<std::uint16_t>;
constexpr std::int64_t k_table_worth = 32768; ///< elements from which making one pays

/// The same few fills are asked again and again: their tables stay, and small ones, which alone are
/// not worth a table, have one from the second time on.
class Tables {
public:
  /// None where it is not worth making.
  std::shared_ptr<const Table> of(const std::string& name, const Values& values,
                                  std::int64_t elements) {
    const std::lock_guard hold(m_guard);
    if (m_tables.size() >= k_most) m_tables.clear();
    const auto [at, first] = m_tables.try_emplace(name);
    if (at->second || (first && elements < k_table_worth)) return at->second;
    auto made = std::make_shared<Table>(65536);
    for (std::uint32_t bits = 0; bits < made->size(); ++bits)
      (*made)[bits] = static_cast<std::uint16_t>(values.code(bits, 0, 0, {}, 0));
    return at->second = std::move(made);
  }

private:
  static constexpr std::size_t k_most = 32; ///< of 128 KiB each
  std::mutex m_guard;
  std::map<std::string, std::shared_ptr<const Table>> m_tables;
};

} // namespace

struct Filler::State {
  model::ResolvedTensor tensor;
  model::FillSpec spec;
  Values values;
  std::span<const std::byte> recorded; ///< data alone
  CustomFill custom = nullptr;
  int width = 16;
  std::shared_ptr<const Table> table; ///< where one serves

  State(const model::ResolvedTensor& t, const model::FillSpec& f, Recipe r)
      : tensor(t), spec(f), values(t, f, r), width(random_bits_of(t.dtype)) {
    if (width != 16 || !values.by_bits() || !is_data(f.kind)) return;
    static Tables s_tables;
    // Everything that a code follows from beside its bits.
    table = s_tables.of(fmt::format("{} {} {} {:a} {:a} {:a} {:a} {}", static_cast<int>(t.dtype),
                                    static_cast<int>(f.kind), static_cast<int>(r), f.low, f.high,
                                    f.mean, f.stddev, t.fill_limit),
                        values, t.span_elements);
  }
};

namespace {

constexpr std::int64_t k_chunk_drawn = 4096; ///< elements drawn at once

std::uint64_t bits_at(const BitStream& stream, int width, std::int64_t index) {
  const auto i = static_cast<std::uint64_t>(index);
  return width == 16 ? stream.bits16(i) : width == 32 ? stream.bits32(i) : stream.bits64(i);
}

std::uint64_t recipe_keys(const StreamId& stream) {
  return BitStream(stream, Purpose::recipe).bits64(0);
}

std::uint64_t read_bits(const std::byte* random, int width, std::int64_t i) {
  std::uint64_t bits = 0; // little endian: the first bytes of a word are its lowest
  std::memcpy(&bits, random + i * (width / 8), static_cast<std::size_t>(width / 8));
  return bits;
}

/// Fill of a type of at most 16 bits by table.
void look_up(Dtype dtype, const std::vector<std::uint16_t>& table, const std::byte* random,
             std::int64_t count, std::byte* out) {
  const auto draw = [&](std::int64_t i) {
    std::uint16_t bits;
    std::memcpy(&bits, random + 2 * i, 2);
    return table[bits];
  };
  switch (model::bits_of(dtype)) {
  case 16:
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint16_t code = draw(i);
      std::memcpy(out + 2 * i, &code, 2);
    }
    return;
  case 8:
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(draw(i));
    return;
  default:
    for (std::int64_t i = 0; i < count; i += 2) {
      const int high = i + 1 < count ? draw(i + 1) : 0;
      out[i / 2] = static_cast<std::byte>(draw(i) | high << 4);
    }
  }
}

/// Elements [first, first + count) of the span of a data fill.
void fill_data(const Filler::State& s, std::span<std::byte> out, const StreamId& id,
               std::int64_t first, std::int64_t count) {
  const Dtype dtype = s.tensor.dtype;
  const BitStream stream(id, Purpose::values);
  const std::uint64_t keys = recipe_keys(id);
  alignas(64) std::byte random[k_chunk_drawn * 8 + 16];
  std::uint64_t before = first > 0 ? bits_at(stream, s.width, first - 1) : 0;
  for (std::int64_t at = first; at < first + count; at += k_chunk_drawn) {
    const std::int64_t here = std::min(k_chunk_drawn, first + count - at);
    const std::int64_t random_bytes = (here * s.width / 8 + 15) / 16 * 16;
    stream.blocks(static_cast<std::uint64_t>(at * (s.width / 8) / 16),
                  {random, static_cast<std::size_t>(random_bytes)});
    if (s.table) {
      look_up(dtype, *s.table, random, here, out.data() + model::bytes_of(dtype, at));
      continue;
    }
    if (s.values.draws_floats()) {
      float drawn[k_chunk_drawn];
      s.values.floats(random, here, drawn);
      std::memcpy(out.data() + 4 * at, drawn, static_cast<std::size_t>(4 * here));
      continue;
    }
    for (std::int64_t i = 0; i < here; ++i) {
      const std::uint64_t bits = read_bits(random, s.width, i);
      store_code(dtype, out, at + i, s.values.code(bits, before, at + i, id, keys));
      before = bits;
    }
  }
}

/// Offset number `index` of `last + 1` sorted ones from 0 to `limit`: the index interval is halved
/// until it is a midpoint; each midpoint's value is drawn once, by its own bits.
std::uint64_t offset_at(const BitStream& stream, std::int64_t last, std::int64_t limit,
                        std::int64_t index) {
  std::int64_t low = 0, high = last;
  std::uint64_t value_low = 0, value_high = static_cast<std::uint64_t>(limit);
  if (index == 0) return value_low;
  while (index < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const std::uint64_t bits = stream.bits64(static_cast<std::uint64_t>(middle));
    const std::uint64_t two = (bits >> 32) + (bits & 0xffffffff); // triangular: around the middle
    const std::uint64_t value = value_low + scaled(value_high - value_low, two, 33);
    if (index == middle) return value;
    (index < middle ? high : low) = middle;
    (index < middle ? value_high : value_low) = value;
  }
  return value_high;
}

void store_whole(const Filler::State& s, std::span<std::byte> out, std::int64_t place,
                 std::uint64_t value) {
  const Dtype dtype = s.tensor.dtype;
  const bool is_integer = model::class_of(dtype) == model::DtypeClass::integer;
  store_code(dtype, out, place,
             is_integer ? value : encode(dtype, static_cast<double>(value), Overflow::saturate));
}

void fill_structure(const Filler::State& s, std::span<std::byte> out, const StreamId& id) {
  const BitStream stream(id, Purpose::structure);
  if (s.spec.kind == Fill::offsets) {
    walk(s.tensor, [&](std::int64_t element, std::int64_t place) {
      store_whole(s, out, place,
                  offset_at(stream, s.tensor.elements - 1, s.tensor.fill_limit, element));
    });
    return;
  }
  const std::int64_t row = s.tensor.shape.empty() ? 1 : s.tensor.shape.back();
  std::optional<Permutation> permutation; // each row has its own
  walk(s.tensor, [&](std::int64_t element, std::int64_t place) {
    if (element % row == 0) {
      permutation.emplace(stream, static_cast<std::uint64_t>(row),
                          static_cast<std::uint64_t>(element / row));
    }
    store_whole(s, out, place, (*permutation)(static_cast<std::uint64_t>(element % row)));
  });
}

void scatter(const Filler::State& s, std::span<std::byte> out, std::span<const std::byte> packed) {
  if (s.tensor.contiguous) {
    std::memcpy(out.data(), packed.data(), static_cast<std::size_t>(s.tensor.bytes));
    return;
  }
  walk(s.tensor, [&](std::int64_t element, std::int64_t place) {
    store_code(s.tensor.dtype, out, place, load_code(s.tensor.dtype, packed, element));
  });
}

base::Status fill_custom(const Filler::State& s, std::span<std::byte> out, const StreamId& id) {
  std::vector<std::byte> packed(
      static_cast<std::size_t>(model::bytes_of(s.tensor.dtype, s.tensor.elements)));
  const std::uint64_t seed = BitStream(id, Purpose::structure).bits64(0);
  const int rc = s.custom(packed.data(), static_cast<std::int64_t>(packed.size()),
                          s.tensor.shape.data(), static_cast<int>(s.tensor.shape.size()), seed);
  if (rc != 0) {
    return fail(ErrorKind::invalid, "custom fill failed",
                {.where = "tensor " + s.tensor.name,
                 .found = fmt::format("{} returned {}", s.spec.symbol, rc),
                 .allowed = "0",
                 .next = "mend " + s.spec.file});
  }
  scatter(s, out, packed);
  return {};
}

base::Status check_destination(const Filler::State& s, std::span<std::byte> destination) {
  if (static_cast<std::int64_t>(destination.size()) >= s.tensor.bytes) return {};
  return fail(ErrorKind::invalid, "buffer is too small for its tensor",
              {.where = "tensor " + s.tensor.name,
               .found = fmt::format("{} bytes", destination.size()),
               .allowed = fmt::format("at least {} bytes", s.tensor.bytes),
               .next = {}});
}

base::Status check_spec(const model::ResolvedTensor& tensor, const model::FillSpec& fill,
                        const FillSources& sources) {
  const auto wrong = [&](std::string message, std::string found, std::string allowed) {
    return fail(ErrorKind::invalid, std::move(message),
                {.where = "tensor " + tensor.name + ", fill",
                 .found = std::move(found),
                 .allowed = std::move(allowed),
                 .next = "correct the fill in task.toml"});
  };
  const bool needs_limit = fill.kind == Fill::index || fill.kind == Fill::offsets;
  const std::int64_t least = fill.kind == Fill::index ? 1 : 0;
  if (needs_limit && tensor.fill_limit < least) {
    return wrong("fill limit is too small", std::to_string(tensor.fill_limit),
                 fmt::format("at least {}", least));
  }
  const double top = numbers_of(tensor.dtype).largest;
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const double greatest = fill.kind == Fill::index     ? static_cast<double>(tensor.fill_limit - 1)
                          : fill.kind == Fill::offsets ? static_cast<double>(tensor.fill_limit)
                          : fill.kind == Fill::permutation ? static_cast<double>(row - 1)
                                                           : 0;
  if (greatest > top) {
    return wrong("fill holds values that the type cannot", fmt::format("up to {}", greatest),
                 fmt::format("{} holds up to {}", model::to_string(tensor.dtype), top));
  }
  const bool finite = std::isfinite(fill.low) && std::isfinite(fill.high) &&
                      std::isfinite(fill.mean) && std::isfinite(fill.stddev);
  if (!finite || fill.low > fill.high || fill.stddev < 0) {
    return wrong("fill parameters do not describe a distribution",
                 fmt::format("low {} high {} mean {} stddev {}", fill.low, fill.high, fill.mean,
                             fill.stddev),
                 "finite numbers, low <= high, stddev >= 0");
  }
  if (fill.kind == Fill::custom && !sources.custom) {
    return wrong("custom fill without a function", fill.file + ":" + fill.symbol,
                 "a loaded fill symbol");
  }
  return {};
}

} // namespace

Filler::Filler(std::unique_ptr<State> state) : m_state(std::move(state)) {}
Filler::Filler(Filler&&) noexcept = default;
Filler& Filler::operator=(Filler&&) noexcept = default;
Filler::~Filler() = default;

base::Expected<Filler> Filler::make(const model::ResolvedTensor& tensor,
                                    const model::FillSpec& fill, Recipe recipe,
                                    const FillSources& sources) {
  AKO_TRY_STATUS(check_spec(tensor, fill, sources));
  auto state = std::make_unique<State>(tensor, fill, recipe);
  state->custom = sources.custom;
  if (fill.kind == Fill::recorded) {
    AKO_TRY(state->recorded, recorded_data(sources.recorded, sources.recorded_name, tensor));
  }
  return Filler(std::move(state));
}

base::Status Filler::fill(std::span<std::byte> destination, const StreamId& stream) const {
  return fill_part(destination, stream, 0, m_state->tensor.span_elements);
}

base::Status Filler::fill_part(std::span<std::byte> destination, const StreamId& stream,
                               std::int64_t first, std::int64_t count) const {
  const State& s = *m_state;
  AKO_TRY_STATUS(check_destination(s, destination));
  AKO_CHECK(first % 64 == 0 && first >= 0 && first + count <= s.tensor.span_elements,
            "part of a fill outside its tensor");
  if (is_data(s.spec.kind)) {
    fill_data(s, destination, stream, first, count);
    return {};
  }
  if (first != 0) return {};
  if (!s.tensor.contiguous) {
    std::memset(destination.data(), 0, static_cast<std::size_t>(s.tensor.bytes));
  }
  if (s.spec.kind == Fill::recorded) scatter(s, destination, s.recorded);
  else if (s.spec.kind == Fill::custom) return fill_custom(s, destination, stream);
  else fill_structure(s, destination, stream);
  return {};
}

base::Status fill(std::span<std::byte> destination, const model::ResolvedTensor& tensor,
                  const model::FillSpec& spec, Recipe recipe, const StreamId& stream,
                  const FillSources& sources) {
  AKO_TRY(const Filler filler, Filler::make(tensor, spec, recipe, sources));
  return filler.fill(destination, stream);
}

} // namespace ako::inputs
