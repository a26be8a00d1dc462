// Any bytes as a contract: an error with a place, or a contract whose echo is the same contract.
#include "model/contract_toml.hpp"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ako;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto contract = model::parse_contract(text, "fuzz");
  if (!contract) {
    AKO_CHECK(contract.error().where.starts_with("fuzz"), contract.error().text());
    return 0;
  }
  const std::string echo = model::echo_toml(*contract);
  const auto again = model::parse_contract(echo, "echo");
  AKO_CHECK(again, again.error().text());
  AKO_CHECK(*again == *contract, "the echo is another contract");
  return 0;
}
