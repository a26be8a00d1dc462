#include "model/contract_read.hpp"

#include <fmt/format.h>

namespace ako::model {

using base::Status;

namespace {

constexpr double k_most_seconds = 604800; // a week

constexpr NumberRule k_not_negative{[](double v) { return v >= 0; }, "a number of at least 0"};
constexpr NumberRule k_positive{[](double v) { return v > 0; }, "a number above 0"};
constexpr NumberRule k_below_one{[](double v) { return v >= 0 && v < 1; },
                                 "a number of at least 0 and below 1"};
constexpr NumberRule k_share{[](double v) { return v > 0 && v <= 1; },
                             "a number above 0 and at most 1"};
constexpr NumberRule k_alpha{[](double v) { return v > 0 && v < 0.5; },
                             "a number above 0 and below 0.5"};
constexpr NumberRule k_seconds{[](double v) { return v > 0 && v <= k_most_seconds; },
                               "seconds, above 0 and at most 604800"};

/// Reads an expression that is kept as text.
Status read_expression(const Reading& reading, const Section& section, std::string_view key,
                       std::string& into) {
  std::optional<Expression> expression;
  AKO_TRY_STATUS(section.read(key, expression));
  if (!expression) return {};
  AKO_TRY_STATUS(check_names(reading, section, *section.node(key), key, *expression));
  into = expression->text();
  return {};
}

Status read_tolerance(const Reading& reading) {
  ToleranceSpec& tolerance = reading.contract.tolerance;
  AKO_TRY(const Section section, table_section(reading, "tolerance"));
  AKO_TRY_STATUS(section.known_keys_only());
  AKO_TRY_STATUS(section.read("atol", tolerance.atol, k_not_negative));
  AKO_TRY_STATUS(section.read("rtol", tolerance.rtol, k_below_one));
  AKO_TRY_STATUS(section.read("matched_ratio", tolerance.matched_ratio, k_share));
  AKO_TRY_STATUS(section.read("max_error_cap", tolerance.max_error_cap, k_positive));
  AKO_TRY_STATUS(section.read("ratio_to_baseline", tolerance.ratio_to_baseline, k_positive));
  return read_expression(reading, section, "accumulate", tolerance.accumulate);
}

Status read_cost(const Reading& reading) {
  AKO_TRY(const Section section, table_section(reading, "cost"));
  AKO_TRY_STATUS(section.known_keys_only());
  AKO_TRY_STATUS(read_expression(reading, section, "flops", reading.contract.cost.flops));
  return read_expression(reading, section, "bytes", reading.contract.cost.bytes);
}

Status read_accept(const Reading& reading) {
  Accept& accept = reading.contract.accept;
  AKO_TRY(const Section section, table_section(reading, "accept"));
  AKO_TRY_STATUS(section.known_keys_only());
  accept = default_accept(reading.contract.kernel.lane);
  AKO_TRY_STATUS(section.read_enum("clock", accept.clock));
  AKO_TRY_STATUS(section.read_enum("cache", accept.cache));
  AKO_TRY_STATUS(section.read("min_gain", accept.min_gain, k_below_one));
  AKO_TRY_STATUS(section.read("max_regression", accept.max_regression, k_not_negative));
  AKO_TRY_STATUS(section.read("alpha", accept.alpha, k_alpha));
  return section.read("second_opinion", accept.second_opinion);
}

Status read_values(const Section& section, Tunable& tunable) {
  const TomlNode& node = *section.node("values");
  if (node.kind != TomlNode::Kind::array || node.items.empty())
    return section.error("values", "'values' is not a list of values",
                         "a list of numbers, strings or booleans, at least one");
  for (const TomlNode& item : node.items) {
    base::Json value;
    if (item.kind == TomlNode::Kind::integer) value = item.integer;
    else if (item.kind == TomlNode::Kind::floating && item.floating - item.floating == 0)
      value = item.floating;
    else if (item.kind == TomlNode::Kind::string) value = item.text;
    else if (item.kind == TomlNode::Kind::boolean) value = item.boolean;
    else
      return section.error_at(item, "values", "this cannot be a value of a tunable",
                              "a finite number, a string or a boolean");
    for (const base::Json& other : tunable.values)
      if (other == value && other.type() == value.type())
        return section.error_at(item, "values", "a value stands there twice", "each once");
    tunable.values.push_back(std::move(value));
  }
  return {};
}

/// The name of one entry of a list, unlike all before it.
template <class T>
Status read_name(const Section& section, const std::vector<T>& before, std::string& into) {
  AKO_TRY_STATUS(section.known_keys_only());
  AKO_TRY_STATUS(section.require("name"));
  AKO_TRY_STATUS(section.read("name", into));
  AKO_TRY_STATUS(check_identifier(section, "name"));
  for (const T& other : before)
    if (other.name == into)
      return section.error("name", fmt::format("the name '{}' is taken", into),
                           "a name of its own");
  return {};
}

Status read_tunables(const Reading& reading) {
  AKO_TRY(const auto list, sections(reading.file, reading.root, "tunable"));
  for (const Section& section : list) {
    Tunable tunable;
    AKO_TRY_STATUS(read_name(section, reading.contract.tunables, tunable.name));
    AKO_TRY_STATUS(section.require("values"));
    AKO_TRY_STATUS(read_values(section, tunable));
    AKO_TRY_STATUS(section.read("constraint", tunable.constraint));
    reading.contract.tunables.push_back(std::move(tunable));
  }
  return {};
}

Status read_gates(const Reading& reading) {
  AKO_TRY(const auto list, sections(reading.file, reading.root, "gate"));
  for (const Section& section : list) {
    GateSpec gate;
    AKO_TRY_STATUS(read_name(section, reading.contract.gates, gate.name));
    for (const char* key : {"command", "read", "must"}) AKO_TRY_STATUS(section.require(key));
    AKO_TRY_STATUS(section.read("command", gate.command));
    AKO_TRY_STATUS(section.read("read", gate.read));
    AKO_TRY_STATUS(section.read("must", gate.must));
    reading.contract.gates.push_back(std::move(gate));
  }
  return {};
}

Status read_limits(const Reading& reading) {
  ResourceLimits& limits = reading.contract.limits;
  AKO_TRY(const Section section, table_section(reading, "limits"));
  AKO_TRY_STATUS(section.known_keys_only());
  AKO_TRY_STATUS(section.read("build_seconds", limits.build_seconds, k_seconds));
  AKO_TRY_STATUS(section.read("call_seconds", limits.call_seconds, k_seconds));
  AKO_TRY_STATUS(section.read("load_seconds", limits.load_seconds, k_seconds));
  AKO_TRY_STATUS(section.read("evaluation_seconds", limits.evaluation_seconds, k_seconds));
  AKO_TRY_STATUS(section.read("memory_bytes", limits.memory_bytes, {0, INT64_MAX}));
  AKO_TRY_STATUS(section.read("output_bytes", limits.output_bytes, {1, INT64_MAX}));
  AKO_TRY_STATUS(section.read("placements", limits.placements, {1, 10000}));
  AKO_TRY_STATUS(section.read("pairs", limits.pairs, {1, 10000}));
  return section.read("threads", limits.threads, {0, 4096});
}

} // namespace

Status read_judging(const Reading& reading) {
  AKO_TRY_STATUS(read_tolerance(reading));
  AKO_TRY_STATUS(read_cost(reading));
  return read_accept(reading);
}

Status read_extras(const Reading& reading) {
  AKO_TRY_STATUS(read_tunables(reading));
  AKO_TRY_STATUS(read_gates(reading));
  return read_limits(reading);
}

} // namespace ako::model
