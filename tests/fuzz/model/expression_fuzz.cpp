// Any bytes as an expression: an error with a column, or an expression whose text is the same one.
#include "model/expression.hpp"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ako;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = model::Expression::parse(text);
  if (!parsed) {
    AKO_CHECK(parsed.error().where.starts_with("column "), parsed.error().text());
    return 0;
  }
  const auto again = model::Expression::parse(parsed->text());
  AKO_CHECK(again && again->text() == parsed->text(), parsed->text());
  model::AxisValues axes;
  std::int64_t next = 1;
  for (const std::string& name : parsed->names()) axes[name] = next *= 3;
  const auto value = parsed->evaluate(axes), same = again->evaluate(axes);
  AKO_CHECK(value.has_value() == same.has_value() && (!value || *value == *same), parsed->text());
  return 0;
}
