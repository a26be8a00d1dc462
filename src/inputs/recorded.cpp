// Recorded inputs: .npy (versions 1 to 3) or raw elements.
//   npy    = "\x93NUMPY" major minor length header data     length: u16 (version 1) or u32, little
//   endian header = "{" "'descr': '" order kind size "'" ", 'fortran_order': False, 'shape': ("
//   ints ")" ... "}"
// Keys may stand in any order. Types that numpy has no letter for (bfloat16, fp8, fp4) travel as
// unsigned integers or void ('V2') of the same width.
#include "inputs/recipe.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::inputs {
namespace {

using base::ErrorKind;
using base::fail;
using model::Dtype;

struct Header {
  std::string descr;
  bool has_order = false, has_shape = false;
  std::vector<std::int64_t> shape;
};

tl::unexpected<base::Error> bad(std::string_view name, std::string message, std::string found,
                                std::string allowed) {
  return fail(ErrorKind::invalid, std::move(message),
              {.where = std::string(name),
               .found = std::move(found),
               .allowed = std::move(allowed),
               .next = "record it again, e.g. numpy.save(path, numpy.ascontiguousarray(x))"});
}

/// The header dictionary, read strictly; anything else is an error.
class HeaderReader {
public:
  HeaderReader(std::string_view text, std::string_view name) : m_text(text), m_name(name) {}

  base::Expected<Header> read() {
    if (!eat('{')) return wrong("a dictionary");
    while (!eat('}')) {
      AKO_TRY(const std::string key, quoted());
      if (!eat(':')) return wrong("':' after a key");
      AKO_TRY_STATUS(value(key));
      if (!eat(',') && peek() != '}') return wrong("',' or '}'");
    }
    if (m_header.descr.empty() || !m_header.has_order || !m_header.has_shape) {
      return bad(m_name, "npy header misses a key", std::string(m_text),
                 "descr, fortran_order and shape");
    }
    return std::move(m_header);
  }

private:
  tl::unexpected<base::Error> wrong(std::string allowed) {
    return bad(m_name, fmt::format("npy header cannot be read at character {}", m_at + 1),
               std::string(m_text.substr(m_at, 20)), std::move(allowed));
  }
  char peek() {
    while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\n')) ++m_at;
    return m_at < m_text.size() ? m_text[m_at] : '\0';
  }
  bool eat(char c) {
    if (peek() != c) return false;
    ++m_at;
    return true;
  }
  base::Expected<std::string> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return wrong("a quoted word");
    const std::size_t end = m_text.find(quote, m_at + 1);
    if (end == std::string_view::npos) return wrong("a closing quote");
    std::string word(m_text.substr(m_at + 1, end - m_at - 1));
    m_at = end + 1;
    return word;
  }
  base::Status value(const std::string& key) {
    if (key == "descr" && m_header.descr.empty()) {
      AKO_TRY(m_header.descr, quoted());
      return {};
    }
    if (key == "fortran_order" && !m_header.has_order) {
      peek();
      if (m_text.substr(m_at, 5) != "False") {
        return bad(m_name, "npy file is not in row-major order",
                   std::string(m_text.substr(m_at, 4)), "fortran_order False");
      }
      m_at += 5;
      m_header.has_order = true;
      return {};
    }
    if (key == "shape" && !m_header.has_shape) return shape();
    return bad(m_name, "npy header has an unknown or repeated key", key,
               "descr, fortran_order and shape, once each");
  }
  base::Status shape() {
    if (!eat('(')) return wrong("'('");
    while (!eat(')')) {
      peek();
      std::int64_t extent = -1;
      const char* end = m_text.data() + m_text.size();
      const auto [next, error] = std::from_chars(m_text.data() + m_at, end, extent);
      if (error != std::errc{} || extent < 0 || m_header.shape.size() >= 32) {
        return wrong("at most 32 extents, none negative");
      }
      m_at = static_cast<std::size_t>(next - m_text.data());
      m_header.shape.push_back(extent);
      if (!eat(',') && peek() != ')') return wrong("',' or ')'");
    }
    m_header.has_shape = true;
    return {};
  }

  std::string_view m_text, m_name;
  std::size_t m_at = 0;
  Header m_header;
};

bool descr_fits(const std::string& descr, Dtype dtype) {
  const int bits = model::bits_of(dtype), bytes = bits < 8 ? 1 : bits / 8;
  if (descr.size() != 3 || descr[2] != '0' + bytes) return false;
  const char order = descr[0], kind = descr[1];
  if (order != '<' && order != '|' && !(order == '=' && bytes == 1)) return false;
  if (order == '|' && bytes > 1 && kind != 'V') return false;
  switch (dtype) {
  case Dtype::float64:
  case Dtype::float32:
  case Dtype::float16: return kind == 'f';
  case Dtype::int64:
  case Dtype::int32:
  case Dtype::int16:
  case Dtype::int8: return kind == 'i';
  case Dtype::boolean: return kind == 'b';
  case Dtype::bfloat16:
  case Dtype::float8_e4m3fn:
  case Dtype::float8_e5m2:
  case Dtype::float8_e8m0fnu: return kind == 'u' || kind == 'V';
  default: return kind == 'u'; // unsigned, and two 4-bit elements in a byte
  }
}

base::Expected<std::span<const std::byte>> npy_data(std::span<const std::byte> file,
                                                    std::string_view name,
                                                    const model::ResolvedTensor& tensor) {
  const auto byte_at = [&](std::size_t i) { return static_cast<std::uint32_t>(file[i]); };
  const std::uint32_t major = file.size() > 8 ? byte_at(6) : 0;
  const std::size_t prefix = major == 1 ? 10 : 12;
  if (major < 1 || major > 3 || file.size() < prefix) {
    return bad(name, "npy version is not known", fmt::format("version {}", major), "1, 2 or 3");
  }
  std::size_t length = byte_at(8) | byte_at(9) << 8;
  if (major > 1)
    length |= static_cast<std::size_t>(byte_at(10)) << 16 | static_cast<std::size_t>(byte_at(11))
                                                                << 24;
  if (length > file.size() - prefix || length > (1u << 16)) {
    return bad(name, "npy header is longer than its file", fmt::format("{} bytes", length),
               fmt::format("at most {}", std::min<std::size_t>(file.size() - prefix, 1u << 16)));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + prefix, length);
  AKO_TRY(const Header header, HeaderReader(text, name).read());
  if (!descr_fits(header.descr, tensor.dtype)) {
    return bad(name, "recorded type differs from the tensor's", header.descr,
               fmt::format("{} of tensor {}", model::to_string(tensor.dtype), tensor.name));
  }
  auto want = tensor.shape;
  if (model::bits_of(tensor.dtype) == 4 && !want.empty()) want.back() = (want.back() + 1) / 2;
  if (header.shape != want) {
    return bad(name, "recorded shape differs from the tensor's",
               fmt::format("({})", fmt::join(header.shape, ", ")),
               fmt::format("({}) of tensor {}", fmt::join(want, ", "), tensor.name));
  }
  return file.subspan(prefix + length);
}

} // namespace

base::Expected<std::span<const std::byte>> recorded_data(std::span<const std::byte> file,
                                                         std::string_view name,
                                                         const model::ResolvedTensor& tensor) {
  const bool npy = file.size() >= 6 && std::memcmp(file.data(), "\x93NUMPY", 6) == 0;
  std::span<const std::byte> data = file;
  if (npy) {
    AKO_TRY(data, npy_data(file, name, tensor));
  }
  const std::int64_t want = model::bytes_of(tensor.dtype, tensor.elements);
  if (static_cast<std::int64_t>(data.size()) != want) {
    return bad(name, "recorded data has the wrong length", fmt::format("{} bytes", data.size()),
               fmt::format("{} bytes: {} elements of {}", want, tensor.elements,
                           model::to_string(tensor.dtype)));
  }
  return data;
}

} // namespace ako::inputs
