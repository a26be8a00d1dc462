#include "cli/words.hpp"

#include "cli/command.hpp"
#include "loop/session.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::cli {

void say_whose_record(const loop::Session& session, Reply& reply) {
  if (auto words = session.whose_record()) reply.warnings.push_back(std::move(*words));
}

std::string ns_text(double ns) {
  if (!std::isfinite(ns) || ns <= 0) return "-";
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3f} ms", ns / 1e6);
  return fmt::format("{:.3f} s", ns / 1e9);
}

std::string percent_text(double share) {
  return std::isfinite(share) ? fmt::format("{:+.1f} %", 100 * share) : "-";
}

std::string interval_text(const model::Interval& interval) {
  auto end = [](double share) {
    return std::isinf(share) ? std::string("open") : fmt::format("{:+.1f}", 100 * share);
  };
  return fmt::format("[{}, {}]", end(interval.low), end(interval.high));
}

std::string gain_text(const model::Verdict& verdict) {
  if (verdict.placements == 0) return "-";
  return percent_text(verdict.gain) + " " + interval_text(verdict.interval);
}

std::string verdict_table(const model::Verdict& verdict) {
  if (verdict.shapes.empty()) return "";
  std::size_t width = 5;
  for (const auto& shape : verdict.shapes) width = std::max(width, shape.tag.size());
  std::string out = fmt::format("{:<{}}  {:>8}  {:>11}  {:>11}  {:>9}  {}\n", "shape", width,
                                "weight", "old", "new", "gain", "interval");
  for (const auto& shape : verdict.shapes)
    out += fmt::format("{:<{}}  {:>8g}  {:>11}  {:>11}  {:>9}  {}{}\n", shape.tag, width,
                       shape.weight, ns_text(shape.old_ns), ns_text(shape.new_ns),
                       percent_text(shape.gain), interval_text(shape.interval),
                       shape.within_regression ? "" : "  beyond its allowed regression");
  return out;
}

std::string figure_table(const std::vector<ledger::ShapeFigure>& shapes) {
  std::size_t width = 5;
  for (const auto& shape : shapes) width = std::max(width, shape.tag.size());
  std::string out = fmt::format("{:<{}}  {:>8}  {:>11}  {:>11}  {:>11}  {:>8}\n", "shape", width,
                                "weight", "p50", "p95", "mean", "samples");
  for (const auto& shape : shapes)
    out += fmt::format("{:<{}}  {:>8g}  {:>11}  {:>11}  {:>11}  {:>8}\n", shape.tag, width,
                       shape.weight, ns_text(shape.p50_ns), ns_text(shape.p95_ns),
                       ns_text(shape.mean_ns), shape.samples);
  return out;
}

std::string how_text(const model::Verdict& verdict) {
  return fmt::format("{} clock, {}, {} placements, {} pairs, {}", verdict.clock,
                     verdict.cache.empty() ? "no timing" : verdict.cache, verdict.placements,
                     verdict.pairs, verdict.statistic);
}

std::string messages_text(const std::vector<model::CompilerMessage>& messages, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(most, messages.size()); ++i) {
    const auto& message = messages[i];
    out += fmt::format("{}:{}:{}: {}: {}\n", message.file.empty() ? "(toolchain)" : message.file,
                       message.line, message.column, message.severity, message.text);
    if (!message.source_line.empty()) out += "    " + message.source_line + "\n";
  }
  if (messages.size() > most) out += fmt::format("... and {} more\n", messages.size() - most);
  return out;
}

base::Json messages_json(const std::vector<model::CompilerMessage>& messages) {
  base::Json out = base::Json::array();
  for (const auto& message : messages)
    out.push_back({{"file", message.file},
                   {"line", message.line},
                   {"column", message.column},
                   {"severity", message.severity},
                   {"text", message.text},
                   {"source_line", message.source_line}});
  return out;
}

base::Json figures_json(const std::vector<ledger::ShapeFigure>& shapes) {
  base::Json out = base::Json::array();
  for (const auto& shape : shapes)
    out.push_back({{"tag", shape.tag},
                   {"shape", shape.shape},
                   {"dtype", shape.dtype},
                   {"weight", shape.weight},
                   {"p50_ns", base::number_or_null(shape.p50_ns)},
                   {"p95_ns", base::number_or_null(shape.p95_ns)},
                   {"mean_ns", base::number_or_null(shape.mean_ns)},
                   {"samples", shape.samples}});
  return out;
}

} // namespace ako::cli
