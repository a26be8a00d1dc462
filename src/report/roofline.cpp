#include "report/roofline.hpp"

#include "arch/architecture.hpp"
#include "model/contract_toml.hpp"
#include "model/resolved.hpp"
#include "report/text/words.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ako::report {
namespace {

constexpr double k_roof_width = 760, k_roof_height = 340, k_roof_left = 84, k_roof_right = 16,
                 k_roof_top = 16, k_roof_bottom = 44;

/// What a capture counted at a shape: the last one counts.
std::optional<double> counted_at(const Data& data, const std::string& shape) {
  std::optional<double> bytes;
  for (const auto& each : data.profiles) {
    const base::Json& seen = each.payload.data;
    if (!seen.is_object() || !seen.contains("traffic") || !seen["traffic"].is_object()) continue;
    if (base::get_or<std::string>(seen, "shape", "") != shape) continue;
    const double value = base::get_or<double>(seen["traffic"], "dram_bytes", 0);
    if (value > 0) bytes = value;
  }
  return bytes;
}

/// Where the inputs are of a dtype whose tensor instructions were measured, the flat roof is
/// theirs: a cost in operations does not say which unit does them. The fastest of several is an
/// upper bound.
void raise_to_tensor_cores(const base::Json& rates, const model::Contract& contract,
                           Roofline& out) {
  if (!rates.is_object()) return;
  for (const model::Tensor& tensor : contract.tensors) {
    if (tensor.role != model::TensorRole::in && tensor.role != model::TensorRole::inout) continue;
    for (const model::Dtype dtype : model::dtypes_of(contract, tensor)) {
      const std::string name(model::to_string(dtype));
      if (!rates.contains(name) || !rates[name].is_object()) continue;
      const double rate = base::get_or<double>(rates[name], "ops_per_s", 0);
      if (rate <= out.flops_per_s) continue;
      out.flops_per_s = rate;
      out.source = fmt::format("ako calibrate, {} on tensor cores by {}", name,
                               base::get_or<std::string>(rates[name], "how", ""));
    }
  }
}

void read_ceilings(const Data& data, const model::Contract& contract, Roofline& out) {
  if (!data.environment) return;
  out.device = data.environment->device;
  const base::Json& details = data.environment->details;
  if (details.is_object() && details.contains("ceilings") && details["ceilings"].is_object()) {
    const base::Json& ceilings = details["ceilings"];
    out.memory_bytes_per_s = base::get_or<double>(ceilings, "memory_bytes_per_s", 0);
    out.cache_bytes_per_s = base::get_or<double>(ceilings, "cache_bytes_per_s", 0);
    out.flops_per_s = base::get_or<double>(ceilings, "flops_per_s", 0);
    out.source = "ako calibrate";
    if (ceilings.contains("tensor")) raise_to_tensor_cores(ceilings["tensor"], contract, out);
    return;
  }
  for (const arch::Architecture& architecture : arch::architectures())
    if (const arch::Device* device = arch::find_device(architecture, out.device)) {
      out.memory_bytes_per_s = device->dram_bytes_per_s;
      out.flops_per_s = 2 * architecture.rates.fp32 * device->sms * device->boost_hz;
      out.source = "datasheet, float32 without tensor cores";
    }
}

/// Positions of powers of ten.
struct Axis {
  double low = 0, high = 1, from = 0, to = 1; ///< log10 of the ends, and where they are drawn
  double at(double value) const {
    return from + (to - from) * (std::log10(value) - low) / (high - low);
  }
};

std::string power_text(double value, const char* unit) {
  constexpr const char* k_prefixes[] = {"", "k", "M", "G", "T", "P"};
  int step = 0;
  while (value >= 1000 && step < 5) value /= 1000, ++step;
  return fmt::format("{:g} {}{}", value, k_prefixes[step], unit);
}

std::string grid(const Axis& x, const Axis& y) {
  std::string out;
  for (double power = std::ceil(x.low); power <= x.high; ++power) {
    const double at = x.at(std::pow(10, power));
    out += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
                       "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>",
                       at, k_roof_top, k_roof_height - k_roof_bottom,
                       k_roof_height - k_roof_bottom + 18, std::pow(10, power));
  }
  for (double power = std::ceil(y.low); power <= y.high; ++power) {
    const double at = y.at(std::pow(10, power));
    out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
                       "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
                       k_roof_left, k_roof_width - k_roof_right, at, k_roof_left - 8, at + 4,
                       power_text(std::pow(10, power), "FLOP/s"));
  }
  return out + fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">declared FLOP for "
                           "each byte</text>",
                           (k_roof_left + k_roof_width - k_roof_right) / 2, k_roof_height - 6);
}

/// A slanted roof that ends where it meets the flat one.
std::string roof_line(const Axis& x, const Axis& y, double bandwidth, double flops, const char* css,
                      const std::string& title) {
  if (bandwidth <= 0) return {};
  const double left = std::pow(10, x.low),
               ridge = std::min(flops / bandwidth, std::pow(10, x.high));
  return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}\"><title>{}"
                     "</title></path>",
                     css, x.at(left), y.at(std::max(left * bandwidth, std::pow(10, y.low))),
                     x.at(ridge), y.at(std::min(ridge * bandwidth, flops)),
                     k_roof_width - k_roof_right, html(title));
}

} // namespace

double Roofline::share(const RoofPoint& point) const {
  const double memory = memory_bytes_per_s > 0 ? point.bytes / memory_bytes_per_s : 0;
  const double arithmetic = flops_per_s > 0 ? point.flops / flops_per_s : 0;
  return point.ns > 0 ? std::max(memory, arithmetic) * 1e9 / point.ns : 0;
}

const char* Roofline::roof(const RoofPoint& point) const {
  const double memory = memory_bytes_per_s > 0 ? point.bytes / memory_bytes_per_s : 0;
  return flops_per_s > 0 && point.flops / flops_per_s > memory ? "arithmetic" : "memory";
}

std::optional<Roofline> roofline_of(const Data& data) {
  if (!data.contract) return std::nullopt;
  Roofline out;
  auto contract = model::parse_contract(data.contract->echo, "the contract on record");
  if (!contract) return std::nullopt;
  read_ceilings(data, *contract, out);
  if (out.memory_bytes_per_s <= 0 && out.flops_per_s <= 0) return std::nullopt;
  auto shapes = model::resolve_all(*contract);
  if (!shapes) return std::nullopt;
  const auto made = claim(data);
  for (const model::ResolvedShape& shape : *shapes) {
    if (shape.flops <= 0 && shape.bytes <= 0) continue;
    RoofPoint point{shape.tag, "baseline", shape.flops, shape.bytes, 0, std::nullopt};
    if (data.baseline)
      for (const auto& entry : data.baseline->payload.entries)
        for (const auto& figure : entry.shapes)
          if (entry.name == data.baseline->payload.fastest && figure.tag == shape.tag)
            point.ns = figure.p50_ns;
    if (point.ns > 0) out.points.push_back(point);
    point.side = "incumbent", point.ns = 0, point.counted_bytes = counted_at(data, shape.tag);
    if (made)
      for (const auto& each : made->verdict.shapes)
        if (each.tag == shape.tag) point.ns = each.new_ns;
    if (point.ns > 0) out.points.push_back(point);
  }
  if (out.points.empty()) return std::nullopt;
  return out;
}

std::string roofline_svg(const Roofline& roofline) {
  std::vector<const RoofPoint*> drawn;
  double least_x = 1e300, most_x = 0, least_y = 1e300;
  for (const RoofPoint& point : roofline.points) {
    if (point.flops <= 0 || point.bytes <= 0) continue;
    drawn.push_back(&point);
    least_x = std::min(least_x, point.intensity()), most_x = std::max(most_x, point.intensity());
    least_y = std::min(least_y, point.flops / point.ns * 1e9);
  }
  if (drawn.empty() || roofline.flops_per_s <= 0) return {};
  const double ridge =
      roofline.memory_bytes_per_s > 0 ? roofline.flops_per_s / roofline.memory_bytes_per_s : most_x;
  Axis x{std::floor(std::log10(std::min(least_x, ridge))) - 0.2,
         std::ceil(std::log10(std::max(most_x, ridge))) + 0.2, k_roof_left,
         k_roof_width - k_roof_right};
  Axis y{std::floor(std::log10(least_y)) - 0.2, std::log10(roofline.flops_per_s) + 0.3,
         k_roof_height - k_roof_bottom, k_roof_top};
  std::string out = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" "
                                "aria-label=\"roofline\">",
                                k_roof_width, k_roof_height);
  out += grid(x, y);
  out += roof_line(x, y, roofline.cache_bytes_per_s, roofline.flops_per_s, "roof cache",
                   "cache bandwidth " + power_text(roofline.cache_bytes_per_s, "B/s"));
  out += roof_line(x, y, roofline.memory_bytes_per_s, roofline.flops_per_s, "roof",
                   "memory bandwidth " + power_text(roofline.memory_bytes_per_s, "B/s") +
                       ", arithmetic " + power_text(roofline.flops_per_s, "FLOP/s"));
  for (const RoofPoint* point : drawn) {
    const double speed = point->flops / point->ns * 1e9;
    out += fmt::format("<g class=\"{}\"><title>{}</title><circle cx=\"{:.1f}\" cy=\"{:.1f}\" "
                       "r=\"5\"/></g>",
                       point->side == "incumbent" ? "step kept" : "step",
                       html(fmt::format("{}, {}: {}, {:.0f} % of the {} roof", point->shape,
                                        point->side, power_text(speed, "FLOP/s"),
                                        100 * roofline.share(*point), roofline.roof(*point))),
                       x.at(point->intensity()), y.at(std::min(speed, std::pow(10, y.high))));
  }
  return out + "</svg>";
}

namespace {

std::vector<std::string> cells(const Roofline& roofline, const RoofPoint& point) {
  const std::string traffic =
      point.counted_bytes && point.bytes > 0
          ? fmt::format("{:.2f} x declared", *point.counted_bytes / point.bytes)
          : "-";
  return {point.shape,
          point.side,
          duration(point.ns),
          fmt::format("{:.4g}", point.intensity()),
          power_text(point.bytes / point.ns * 1e9, "B/s"),
          power_text(point.flops / point.ns * 1e9, "FLOP/s"),
          fmt::format("{:.0f} % of {}", 100 * roofline.share(point), roofline.roof(point)),
          traffic};
}

constexpr const char* k_heads[] = {"Shape", "Side", "Time",          "FLOP/byte",
                                   "Bytes", "FLOP", "Of which roof", "DRAM bytes counted"};

} // namespace

std::string roofline_table_html(const Roofline& roofline) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (const char* head : k_heads) out += fmt::format("<th>{}</th>", head);
  out += "</tr></thead><tbody>";
  for (const RoofPoint& point : roofline.points) {
    out += "<tr>";
    for (const std::string& cell : cells(roofline, point)) out += "<td>" + html(cell) + "</td>";
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

std::string roofline_table_md(const Roofline& roofline) {
  std::string out = "|";
  for (const char* head : k_heads) out += fmt::format(" {} |", head);
  out += "\n|";
  for (std::size_t i = 0; i < std::size(k_heads); ++i) out += " --- |";
  out += "\n";
  for (const RoofPoint& point : roofline.points) {
    out += "|";
    for (const std::string& cell : cells(roofline, point)) out += " " + md_line(cell) + " |";
    out += "\n";
  }
  return out;
}

} // namespace ako::report
