// Where each shape stands under its device's roofs: the contract's cost, measured times, ceilings.
#pragma once

#include "report/data.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ako::report {

struct RoofPoint {
  std::string shape, side;     ///< "baseline" or "incumbent"
  double flops = 0, bytes = 0; ///< declared lower bounds of one call
  double ns = 0;
  std::optional<double> counted_bytes; ///< what a capture saw DRAM move
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
};

struct Roofline {
  double memory_bytes_per_s = 0, cache_bytes_per_s = 0, flops_per_s = 0; ///< 0 = unknown
  std::string device, source; ///< "ako calibrate", "datasheet"
  std::vector<RoofPoint> points;

  /// The larger of the two floors over the time, 0..1; a lower bound says no more than that.
  double share(const RoofPoint& point) const;
  const char* roof(const RoofPoint& point) const; ///< "memory" or "arithmetic"
};

/// Nothing where no ceiling is known, no cost is declared or nothing was timed.
std::optional<Roofline> roofline_of(const Data& data);

/// Logarithmic on both axes; colours come from the page's style, so that it reads in light and
/// dark. Empty when no point has arithmetic: then the table says all.
std::string roofline_svg(const Roofline& roofline);
std::string roofline_table_html(const Roofline& roofline);
std::string roofline_table_md(const Roofline& roofline);

} // namespace ako::report
