// Everything that reads what a client sends: the first byte says in which pieces it arrives.
#include "mcp/address.hpp"
#include "mcp/brief.hpp"
#include "mcp/lines.hpp"
#include "mcp/message.hpp"
#include "mcp/tool.hpp"

#include <cstdlib>

using namespace ako;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

mcp::Tool tool() {
  mcp::Tool out;
  out.name = "log";
  out.parameters = {{"count", mcp::Type::integer, ""},
                    {"words", mcp::Type::texts, ""},
                    {"all", mcp::Type::flag, ""}};
  return out;
}

void look_at(const mcp::Message& message) {
  static const mcp::Tool k_tool = tool();
  if (message.kind == mcp::Message::Kind::invalid) require(message.error.code < 0);
  if (message.kind == mcp::Message::Kind::request)
    require(message.id.is_string() || message.id.is_number_integer());
  static_cast<void>(mcp::check_arguments(k_tool, message.params));
  const mcp::Brief cut = mcp::brief(message.params, 200, {"exit"});
  require(base::dump_json(cut.value).size() <= 200 ||
          base::dump_json(message.params).size() <= 200);
  static_cast<void>(mcp::page(message.params, message.method, 0, 512));
  const auto address = mcp::parse_address("ako://" + message.method);
  if (!address) return;
  const auto again = mcp::parse_address(mcp::to_uri(*address));
  require(again && again->name == address->name && again->rest == address->rest &&
          again->task == address->task && again->from == address->from &&
          again->bytes == address->bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t step = data[0] % 64 + 1;
  mcp::LineReader lines(1u << 16);
  for (std::size_t at = 0; at < text.size(); at += step) {
    lines.feed(text.substr(at, step));
    while (auto line = lines.next()) {
      const mcp::Parsed parsed = mcp::parse_line(line->text);
      require(!parsed.messages.empty());
      for (const auto& message : parsed.messages) look_at(message);
    }
  }
  return 0;
}
