#include "mcp/address.hpp"

#include "model/nearest.hpp"

#include <charconv>
#include <fmt/format.h>

namespace ako::mcp {
namespace {

using base::Expected;

constexpr std::string_view k_scheme = "ako://";
constexpr std::int64_t k_least_bytes = 1024;

tl::unexpected<base::Error> bad_uri(const std::string& uri, std::string message, std::string found,
                                    std::string allowed, std::string next) {
  return base::fail(base::ErrorKind::usage, std::move(message),
                    {.where = shorten(uri, 200),
                     .found = std::move(found),
                     .allowed = std::move(allowed),
                     .next = std::move(next)});
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Expected<std::string> decoded(const std::string& uri, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0 || high + low == 0)
      return bad_uri(uri, "a % here begins no escape", std::string(text.substr(i, 3)),
                     "% and two hexadecimal digits, not 00", "write %25 for a percent sign itself");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) out += c;
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Expected<std::int64_t> amount(const std::string& uri, const std::string& key,
                              const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  return bad_uri(uri, "\"" + key + "\" is not a number that can be used", shorten(text, 80),
                 fmt::format("{} to {}", least, most), "leave it out, or correct it");
}

base::Status take_pair(const std::string& uri, std::string_view pair, Address& out) {
  const std::size_t equals = pair.find('=');
  AKO_TRY(const std::string key, decoded(uri, pair.substr(0, equals)));
  std::string value;
  if (equals != std::string_view::npos) {
    AKO_TRY(value, decoded(uri, pair.substr(equals + 1)));
  }
  if (key == "task") {
    out.task = value;
  } else if (key == "from") {
    AKO_TRY(out.from, amount(uri, key, value, 0, std::int64_t{1} << 40));
  } else if (key == "bytes") {
    AKO_TRY(out.bytes, amount(uri, key, value, k_least_bytes, std::int64_t{k_full_bytes}));
  } else {
    return bad_uri(uri, "a resource's name knows no such key", shorten(key, 80),
                   "task, from, bytes", model::did_you_mean(key, {"task", "from", "bytes"}));
  }
  return {};
}

} // namespace

Expected<Address> parse_address(const std::string& uri) {
  std::string_view rest(uri);
  if (rest.substr(0, k_scheme.size()) != k_scheme)
    return bad_uri(uri, "there is no such resource", "another scheme",
                   "names that begin with ako://", "resources/list");
  rest.remove_prefix(k_scheme.size());
  rest = rest.substr(0, rest.find('#'));
  Address out;
  std::string_view query;
  if (const std::size_t at = rest.find('?'); at != std::string_view::npos) {
    query = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  const std::size_t slash = rest.find('/');
  AKO_TRY(out.name, decoded(uri, rest.substr(0, slash)));
  if (slash != std::string_view::npos) {
    AKO_TRY(out.rest, decoded(uri, rest.substr(slash + 1)));
  }
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    if (end != 0) AKO_TRY_STATUS(take_pair(uri, query.substr(0, end), out));
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
  }
  return out;
}

std::string to_uri(const Address& address) {
  std::string out = std::string(k_scheme) + encoded(address.name);
  if (!address.rest.empty()) out += "/" + encoded(address.rest);
  char mark = '?';
  const auto add = [&](const char* key, const std::string& value) {
    out += fmt::format("{}{}={}", mark, key, value);
    mark = '&';
  };
  if (!address.task.empty()) add("task", encoded(address.task));
  if (address.from > 0) add("from", std::to_string(address.from));
  if (address.bytes != static_cast<std::int64_t>(k_brief_bytes))
    add("bytes", std::to_string(address.bytes));
  return out;
}

} // namespace ako::mcp
