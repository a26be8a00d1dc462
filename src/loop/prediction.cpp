#include "loop/prediction.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ako::loop {
namespace {

struct Name {
  const char* text;
  Term::Metric metric;
};
constexpr Name k_names[] = {
    {"gain", Term::Metric::gain},           {"time", Term::Metric::time},
    {"registers", Term::Metric::registers}, {"shared", Term::Metric::shared},
    {"spills", Term::Metric::spills},       {"stack", Term::Metric::stack}};

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return std::string(text);
}

tl::unexpected<base::Error> unreadable(const std::string& term, std::string found) {
  return base::fail(
      base::ErrorKind::usage, "this is no prediction that can be held against figures",
      {.where = "--predict",
       .found = term + ": " + found,
       .allowed = "gain, time[SHAPE], registers, shared, spills or stack, a relation, a "
                  "number and its unit",
       .next = "ako try --predict \"gain >= 20 %; registers <= 64\""});
}

/// The factor that a unit stands for; nothing when the metric has no such unit.
std::optional<double> factor_of(Term::Metric metric, const std::string& unit) {
  if (metric == Term::Metric::gain) {
    if (unit == "%") return 0.01;
    return std::nullopt; // 40 may be forty percent or forty times: it is not guessed
  }
  if (metric == Term::Metric::time) {
    if (unit == "ns") return 1;
    if (unit == "us") return 1e3;
    if (unit == "ms") return 1e6;
    if (unit == "s") return 1e9;
    return std::nullopt;
  }
  if (metric == Term::Metric::registers) return unit.empty() ? std::optional(1.0) : std::nullopt;
  if (unit.empty() || unit == "B") return 1;
  if (unit == "KiB") return 1024;
  return std::nullopt;
}

class Parser {
public:
  Parser(std::string text, const std::vector<std::string>& shapes)
      : m_text(std::move(text)), m_rest(m_text), m_shapes(shapes) {}

  base::Expected<Term> run() {
    Term out;
    out.text = m_text;
    AKO_TRY_STATUS(metric(out));
    AKO_TRY_STATUS(shape(out));
    for (const char* each : {">=", "<=", ">", "<"})
      if (out.relation.empty() && m_rest.starts_with(each)) {
        out.relation = each;
        m_rest.erase(0, out.relation.size());
      }
    if (out.relation.empty()) out.relation = out.metric == Term::Metric::gain ? ">=" : "<=";
    m_rest = trimmed(m_rest);
    if (m_rest.starts_with("+")) m_rest.erase(0, 1);
    const auto number = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), out.value);
    if (number.ec != std::errc() || !std::isfinite(out.value))
      return unreadable(m_text, "no number where one is due");
    const std::string unit = trimmed(std::string_view(
        number.ptr, static_cast<std::size_t>(m_rest.data() + m_rest.size() - number.ptr)));
    const auto factor = factor_of(out.metric, unit);
    if (!factor)
      return unreadable(m_text, unit.empty() ? "a unit is missing" : "unit '" + unit + "'");
    out.value *= *factor;
    return out;
  }

private:
  base::Status metric(Term& out) {
    for (const Name& each : k_names)
      if (m_rest.starts_with(each.text)) {
        out.metric = each.metric;
        m_rest = trimmed(std::string_view(m_rest).substr(std::string_view(each.text).size()));
        return {};
      }
    return unreadable(m_text, "no metric that is known");
  }

  base::Status shape(Term& out) {
    if (!m_rest.starts_with("[")) {
      if (out.metric == Term::Metric::time) return unreadable(m_text, "a time is one shape's");
      return {};
    }
    const std::size_t close = m_rest.find(']');
    if (close == std::string::npos) return unreadable(m_text, "no ] behind the shape");
    out.shape = trimmed(std::string_view(m_rest).substr(1, close - 1));
    m_rest = trimmed(std::string_view(m_rest).substr(close + 1));
    if (std::find(m_shapes.begin(), m_shapes.end(), out.shape) == m_shapes.end())
      return base::fail(base::ErrorKind::usage, "the contract has no such shape",
                        {.where = "--predict",
                         .found = out.shape,
                         .allowed = fmt::format("{}", fmt::join(m_shapes, ", ")),
                         .next = "name one of them"});
    return {};
  }

  std::string m_text, m_rest;
  const std::vector<std::string>& m_shapes;
};

bool meets(double value, const Term& term) {
  if (term.relation == ">=") return value >= term.value;
  if (term.relation == "<=") return value <= term.value;
  if (term.relation == ">") return value > term.value;
  return value < term.value;
}

std::string gain_words(double gain, const model::Interval& interval) {
  return fmt::format("{:+.1f} % [{:+.1f}, {:+.1f}]", 100 * gain, 100 * interval.low,
                     100 * interval.high);
}

/// All of the interval on one side decides; the value inside it does not.
void judge_gain(TermOutcome& out, double gain, const model::Interval& interval) {
  if (!std::isfinite(gain)) return;
  out.found = gain_words(gain, interval);
  const bool low = meets(interval.low, out.term), high = meets(interval.high, out.term);
  out.result = low && high     ? TermOutcome::Result::held
               : !low && !high ? TermOutcome::Result::failed
                               : TermOutcome::Result::open;
}

std::optional<double> resource(const model::Artifact& artifact, Term::Metric metric) {
  if (!artifact.resources.is_object() || !artifact.resources.contains("kernels"))
    return std::nullopt;
  std::optional<double> most;
  for (const auto& kernel : artifact.resources["kernels"]) {
    const auto field = [&](const char* key) { return base::get_or<double>(kernel, key, 0); };
    const double value = metric == Term::Metric::registers ? field("registers")
                         : metric == Term::Metric::shared  ? field("shared_bytes")
                         : metric == Term::Metric::stack
                             ? field("stack_bytes")
                             : field("spill_store_bytes") + field("spill_load_bytes");
    most = std::max(most.value_or(0), value);
  }
  return most;
}

} // namespace

const char* to_string(TermOutcome::Result result) {
  switch (result) {
  case TermOutcome::Result::held: return "held";
  case TermOutcome::Result::failed: return "failed";
  case TermOutcome::Result::open: return "open";
  case TermOutcome::Result::not_measured: return "not measured";
  }
  return "";
}

base::Expected<std::vector<Term>> parse_prediction(const std::string& text,
                                                   const std::vector<std::string>& shapes) {
  std::vector<Term> out;
  for (std::size_t at = 0; at <= text.size();) {
    // A shape's tag may hold commas of its own.
    std::size_t end = at;
    for (bool in_tag = false;
         end < text.size() && (in_tag || (text[end] != ';' && text[end] != ',')); ++end)
      in_tag = text[end] == '[' || (in_tag && text[end] != ']');
    const std::string term = trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (term.empty()) continue;
    AKO_TRY(Term parsed, Parser(term, shapes).run());
    out.push_back(std::move(parsed));
  }
  if (out.empty()) return unreadable(text, "nothing is predicted");
  return out;
}

std::vector<TermOutcome> hold_against(const std::vector<Term>& prediction,
                                      const model::Verdict& verdict,
                                      const std::optional<model::Artifact>& artifact) {
  std::vector<TermOutcome> out;
  for (const Term& term : prediction) {
    TermOutcome one{term, TermOutcome::Result::not_measured, {}};
    const auto at = std::find_if(verdict.shapes.begin(), verdict.shapes.end(),
                                 [&](const auto& shape) { return shape.tag == term.shape; });
    if (term.metric == Term::Metric::gain && term.shape.empty() && verdict.placements > 0)
      judge_gain(one, verdict.gain, verdict.interval);
    else if (term.metric == Term::Metric::gain && at != verdict.shapes.end())
      judge_gain(one, at->gain, at->interval);
    else if (term.metric == Term::Metric::time && at != verdict.shapes.end() &&
             std::isfinite(at->new_ns) && at->new_ns > 0) {
      one.found = fmt::format("{:.4g} us", at->new_ns / 1e3);
      one.result =
          meets(at->new_ns, term) ? TermOutcome::Result::held : TermOutcome::Result::failed;
    } else if (artifact && term.metric != Term::Metric::gain && term.metric != Term::Metric::time) {
      if (const auto value = resource(*artifact, term.metric)) {
        one.found = fmt::format("{:g}", *value);
        one.result = meets(*value, term) ? TermOutcome::Result::held : TermOutcome::Result::failed;
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::string text_of(const std::vector<TermOutcome>& outcomes) {
  std::string out;
  for (const auto& each : outcomes)
    out += fmt::format("{}{}: {}{}", out.empty() ? "" : "; ", each.term.text,
                       to_string(each.result), each.found.empty() ? "" : " (" + each.found + ")");
  return out;
}

} // namespace ako::loop
