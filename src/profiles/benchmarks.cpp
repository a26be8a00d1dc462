#include "profiles/benchmarks.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <regex>

namespace ako::profiles {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Json;

namespace {

using Numbers = std::map<std::string, double>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::optional<double> number_at(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Terminal colours stand between words and numbers.
std::string without_colours(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && !std::isalpha(static_cast<unsigned char>(text[i]))) ++i;
      continue;
    }
    out += text[i] == '\r' ? '\n' : text[i];
  }
  return out;
}

/// The whole text as JSON, or its last line that is an object.
std::optional<Json> json_in(const std::string& text) {
  if (auto whole = base::parse_json(text, "output"); whole && !whole->is_number()) return *whole;
  const auto lines = lines_of(text);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (line->find('{') != std::string::npos)
      if (auto one = base::parse_json(*line, "output"); one && one->is_object()) return *one;
  return std::nullopt;
}

void add_json(const Json& json, Numbers& out) {
  if (json.is_array() && !json.empty()) return add_json(json.back(), out);
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) out[key] = value.get<double>();
    if (key == "percentiles" && value.is_object())
      for (const auto& [at, inner] : value.items())
        if (inner.is_number()) out["percentile_" + at] = inner.get<double>();
  }
}

/// "Mean TTFT (ms)" -> mean_ttft_ms; "Request throughput (req/s)" -> request_throughput.
std::string key_of(std::string label) {
  const std::size_t unit = label.find('(');
  const bool milliseconds = label.find("(ms)") != std::string::npos;
  std::string out;
  for (const char c : label.substr(0, unit))
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '_') out += '_';
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out == "benchmark_duration") out = "duration";
  if (out == "output_token_throughput") out = "output_throughput";
  if (out == "input_token_throughput") out = "input_throughput";
  if (out == "total_throughput") out = "total_token_throughput";
  if (out == "successful_requests") out = "completed";
  return milliseconds ? out + "_ms" : out;
}

/// "Label (unit):      123.4" as serving benchmarks print it.
void add_table(const std::string& text, Numbers& out) {
  for (const auto& line : lines_of(text)) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos || line.starts_with("{")) continue;
    const std::string_view rest = std::string_view(line).substr(colon + 1);
    const auto value = number_at(rest);
    if (value && rest.find_first_not_of(" \t0123456789.+-eE") == std::string_view::npos)
      out[key_of(line.substr(0, colon))] = *value;
  }
}

struct Line {
  const char* pattern;
  std::vector<const char*> keys; ///< of its groups
};

/// The last match of each counts: earlier ones are warm-ups.
void add_lines(const std::string& text, const std::vector<Line>& known, Numbers& out) {
  std::vector<std::regex> patterns;
  for (const auto& each : known) patterns.emplace_back(each.pattern);
  for (const auto& line : lines_of(text))
    for (std::size_t at = 0; at < known.size(); ++at) {
      std::smatch match;
      if (line.size() > 4096 || !std::regex_search(line, match, patterns[at])) continue;
      for (std::size_t i = 0; i < known[at].keys.size(); ++i)
        if (auto value = number_at(match[i + 1].str())) out[known[at].keys[i]] = *value;
    }
}

Numbers sglang_numbers(const std::string& text) {
  Numbers out;
  add_table(text, out);
  add_lines(text,
            {{R"(^Prefill\. +latency: *([0-9.]+) s, +throughput: *([0-9.]+))",
              {"prefill_latency", "prefill_throughput"}},
             {R"(^Decode\. +median latency: *([0-9.]+) s, +median throughput: *([0-9.]+))",
              {"median_decode_latency", "median_decode_throughput"}},
             {R"(^Total\. +latency: *([0-9.]+) s, +throughput: *([0-9.]+))",
              {"total_latency", "overall_throughput"}}},
            out);
  if (auto json = json_in(text)) add_json(*json, out);
  return out;
}

Numbers vllm_numbers(const std::string& text) {
  Numbers out;
  add_table(text, out);
  add_lines(text,
            {{R"(Throughput: *([0-9.]+) requests/s, *([0-9.]+) total tokens/s)",
              {"requests_per_second", "tokens_per_second"}},
             {R"(total tokens/s, *([0-9.]+) output tokens/s)", {"output_tokens_per_second"}},
             {R"(Avg latency: *([0-9.]+) seconds)", {"avg_latency"}},
             {R"(^10% percentile latency: *([0-9.]+) seconds)", {"percentile_10"}},
             {R"(^50% percentile latency: *([0-9.]+) seconds)", {"percentile_50"}},
             {R"(^90% percentile latency: *([0-9.]+) seconds)", {"percentile_90"}},
             {R"(^99% percentile latency: *([0-9.]+) seconds)", {"percentile_99"}}},
            out);
  if (auto json = json_in(text)) add_json(*json, out);
  return out;
}

Numbers diffusion_numbers(const std::string& text) {
  Numbers out;
  add_lines(text,
            {{R"(data generated successfully in +([0-9.]+) +seconds)", {"total_seconds"}},
             {R"(average time per step: +([0-9.]+) +seconds)", {"step_seconds"}},
             {R"(TextEncodingStage\] finished in +([0-9.]+) +seconds)", {"text_encoding_seconds"}},
             {R"(DenoisingStage\] finished in +([0-9.]+) +seconds)", {"denoising_seconds"}},
             {R"(DecodingStage\] finished in +([0-9.]+) +seconds)", {"decoding_seconds"}},
             {R"([0-9]+/[0-9]+ \[[^\]]*, *([0-9.]+)it/s\])", {"steps_per_second"}}},
            out);
  // Slow steps are shown the other way round.
  Numbers slow;
  add_lines(text, {{R"([0-9]+/[0-9]+ \[[^\]]*, *([0-9.]+)s/it\])", {"seconds"}}}, slow);
  if (const auto at = slow.find("seconds"); at != slow.end() && at->second > 0)
    out["steps_per_second"] = 1 / at->second;
  if (auto json = json_in(text)) add_json(*json, out);
  return out;
}

tl::unexpected<base::Error> not_there(const std::string& how, std::string found) {
  return fail(ErrorKind::invalid, "the benchmark's number is not in its output",
              {.where = "[[gate]] read = \"" + how + "\"",
               .found = std::move(found),
               .allowed = "a JSON pointer, sglang:KEY, vllm:KEY, diffusion:KEY or a regular "
                          "expression with one group",
               .next = "mend read, or let the command print the number"});
}

Expected<double> by_key(const Numbers& numbers, const std::string& key, const std::string& how) {
  const auto at = numbers.find(key);
  if (at != numbers.end() && std::isfinite(at->second)) return at->second;
  std::vector<std::string> keys;
  for (const auto& [name, value] : numbers) keys.push_back(name);
  return not_there(how, keys.empty() ? "no figures at all"
                                     : fmt::format("these keys: {}", fmt::join(keys, ", ")));
}

Expected<double> by_pointer(const std::string& output, const std::string& how) {
  const auto json = json_in(output);
  if (!json) return not_there(how, "no JSON");
  try {
    const Json& value = json->at(Json::json_pointer(how));
    if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
    return not_there(how, std::string("something else there: ") + value.type_name());
  } catch (const Json::exception& problem) {
    return not_there(how, problem.what());
  }
}

Expected<double> by_expression(const std::string& output, const std::string& how) {
  try {
    const std::regex pattern(how);
    std::optional<double> last;
    for (const auto& line : lines_of(output)) {
      if (line.size() > 4096) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), pattern), end; at != end; ++at)
        if (auto value = number_at(at->size() > 1 ? (*at)[1].str() : (*at)[0].str())) last = value;
    }
    if (last) return *last;
    return not_there(how, "no match with a number");
  } catch (const std::regex_error& problem) {
    return not_there(how, std::string("no regular expression: ") + problem.what());
  }
}

} // namespace

ReadSpec parse_read(std::string_view read) {
  ReadSpec out;
  if (read.starts_with("file:")) {
    const std::size_t mark = read.find('#');
    out.file = read.substr(5, mark == read.npos ? read.npos : mark - 5);
    out.how = mark == read.npos ? "" : read.substr(mark + 1);
  } else {
    out.how = read;
  }
  return out;
}

Expected<double> read_number(const std::string& raw, const std::string& how) {
  const std::string output = without_colours(raw);
  if (how.starts_with("/")) return by_pointer(output, how);
  if (how.starts_with("sglang:")) return by_key(sglang_numbers(output), how.substr(7), how);
  if (how.starts_with("vllm:")) return by_key(vllm_numbers(output), how.substr(5), how);
  if (how.starts_with("diffusion:")) return by_key(diffusion_numbers(output), how.substr(10), how);
  return by_expression(output, how);
}

namespace {

/// sum = product { ("+"|"-") product }; product = factor { ("*"|"/") factor }; factor = number |
/// "base" | "(" sum ")" | "-" factor
class Bound {
public:
  Bound(std::string_view text, double base) : m_rest(text), m_base(base) {}
  std::optional<double> value() {
    const double out = sum();
    skip();
    if (m_bad || !m_rest.empty() || !std::isfinite(out)) return std::nullopt;
    return out;
  }

private:
  void skip() {
    while (!m_rest.empty() && m_rest.front() == ' ') m_rest.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (m_rest.empty() || m_rest.front() != c) return false;
    m_rest.remove_prefix(1);
    return true;
  }
  double sum() {
    double out = product();
    while (!m_bad) {
      if (take('+')) out += product();
      else if (take('-')) out -= product();
      else break;
    }
    return out;
  }
  double product() {
    double out = factor();
    while (!m_bad) {
      if (take('*')) out *= factor();
      else if (take('/')) out /= factor();
      else break;
    }
    return out;
  }
  double factor() {
    if (++m_depth > 64) m_bad = true;
    if (m_bad) return 0;
    double out = 0;
    if (take('(')) {
      out = sum();
      m_bad = m_bad || !take(')');
    } else if (take('-')) {
      out = -factor();
    } else if (skip(), m_rest.starts_with("base")) {
      m_rest.remove_prefix(4);
      out = m_base;
    } else {
      const auto result = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), out);
      if (result.ec != std::errc()) m_bad = true;
      else m_rest.remove_prefix(static_cast<std::size_t>(result.ptr - m_rest.data()));
    }
    --m_depth;
    return out;
  }

  std::string_view m_rest;
  double m_base;
  bool m_bad = false;
  int m_depth = 0;
};

} // namespace

Expected<Requirement> require(const std::string& must, double value, double base) {
  std::string_view rest = must;
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  std::string relation;
  for (const char* each : {">=", "<=", "==", ">", "<"})
    if (relation.empty() && rest.starts_with(each)) relation = each;
  rest.remove_prefix(relation.size());
  const auto bound = Bound(rest, base).value();
  if (relation.empty() || !bound)
    return fail(
        ErrorKind::invalid, "what a gate must reach cannot be read",
        {.where = "[[gate]] must",
         .found = must,
         .allowed = ">=, <=, >, < or == and a sum of numbers and base, such as >= 0.99*base",
         .next = "mend must in task.toml"});
  Requirement out;
  out.bound = *bound;
  out.met = relation == ">="   ? value >= *bound
            : relation == "<=" ? value <= *bound
            : relation == ">"  ? value > *bound
            : relation == "<"  ? value < *bound
                               : value == *bound;
  out.text = fmt::format("{:.6g} {} {:.6g} (base {:.6g})", value, relation, *bound, base);
  return out;
}

} // namespace ako::profiles
