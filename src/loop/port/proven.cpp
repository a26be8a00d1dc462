#include "loop/port/dispatch.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace ako::loop {
namespace {

std::string shape_text(const model::ShapeCase& shape) {
  std::string out;
  for (const auto& [name, value] : shape.axes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  for (const auto& [name, dtype] : shape.dtypes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, model::to_string(dtype));
  return out;
}

using Point = std::vector<std::int64_t>; ///< one value for each var axis

struct Corners {
  Point low, high;
};

bool within(const Point& inner, const Point& low, const Point& high) {
  for (std::size_t i = 0; i < inner.size(); ++i)
    if (inner[i] < low[i] || inner[i] > high[i]) return false;
  return true;
}

/// Whether each corner of the box was measured.
bool spanned(const Point& low, const Point& high, const std::set<Point>& measured) {
  std::vector<std::size_t> wide;
  for (std::size_t i = 0; i < low.size(); ++i)
    if (low[i] != high[i]) wide.push_back(i);
  // 2^20 corners are more than anybody measured.
  if (wide.size() > 20 || (std::size_t(1) << wide.size()) > measured.size()) return false;
  for (std::size_t mask = 0; mask < std::size_t(1) << wide.size(); ++mask) {
    Point corner = low;
    for (std::size_t i = 0; i < wide.size(); ++i)
      if ((mask >> i & 1) != 0) corner[wide[i]] = high[wide[i]];
    if (!measured.contains(corner)) return false;
  }
  return true;
}

double extent(const Corners& box) {
  double out = 0;
  for (std::size_t i = 0; i < box.low.size(); ++i)
    out += static_cast<double>(box.high[i]) - static_cast<double>(box.low[i]);
  return out;
}

/// The largest boxes between measured points, largest first.
std::vector<Corners> boxes_between(const std::set<Point>& measured) {
  std::vector<Corners> all;
  for (const Point& low : measured)
    for (const Point& high : measured)
      if (within(low, low, high) && spanned(low, high, measured)) all.push_back({low, high});
  std::stable_sort(all.begin(), all.end(),
                   [](const Corners& a, const Corners& b) { return extent(a) > extent(b); });
  std::vector<Corners> out;
  for (Corners& box : all)
    if (std::none_of(out.begin(), out.end(), [&](const Corners& other) {
          return within(box.low, other.low, other.high) && within(box.high, other.low, other.high);
        }))
      out.push_back(std::move(box));
  return out;
}

std::vector<std::string> var_axes(const model::Contract& contract) {
  std::vector<std::string> out;
  for (const auto& axis : contract.axes)
    if (axis.kind == model::Axis::Kind::var) out.push_back(axis.name);
  return out;
}

std::vector<Proven::Range> ranges_of(const Corners& box, const std::vector<std::string>& axes,
                                     const std::set<Point>& measured,
                                     const std::vector<model::ShapeCase>& judged) {
  std::vector<Proven::Range> out;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Proven::Range range{axes[i], box.low[i], box.high[i], 0};
    for (const Point& point : measured)
      if (within(point, box.low, box.high)) range.multiple = std::gcd(range.multiple, point[i]);
    for (const auto& shape : judged)
      if (const auto at = shape.axes.find(axes[i]);
          at != shape.axes.end() && at->second >= range.low && at->second <= range.high)
        range.multiple = std::gcd(range.multiple, at->second);
    range.multiple = std::max<std::int64_t>(range.multiple, 1);
    out.push_back(std::move(range));
  }
  return out;
}

bool same_ranges(const std::vector<Proven::Range>& a, const std::vector<Proven::Range>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.low == y.low && x.high == y.high && x.multiple == y.multiple;
  });
}

std::string text_of(const Proven::Box& box) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  for (const auto& range : box.ranges) {
    if (range.low == range.high) {
      add(fmt::format("{} == {}", range.name, range.low));
      continue;
    }
    add(fmt::format("{} <= {} <= {}{}", range.low, range.name, range.high,
                    range.multiple > 1 ? fmt::format(", {} % {} == 0", range.name, range.multiple)
                                       : std::string()));
  }
  std::string variants;
  for (const auto& variant : box.variants) {
    std::string one;
    for (const auto& [name, dtype] : variant)
      one += fmt::format("{}{} {}", one.empty() ? "" : " with ", name, model::to_string(dtype));
    if (!one.empty()) variants += (variants.empty() ? "" : " or ") + one;
  }
  if (!variants.empty()) add(variants);
  return out;
}

} // namespace

Proven proven_of(const model::Contract& contract, const std::vector<model::ShapeCase>& judged) {
  const auto axes = var_axes(contract);
  std::map<Proven::Variant, std::set<Point>> measured;
  for (const auto& shape : contract.shapes) {
    Point point;
    for (const auto& name : axes) point.push_back(shape.axes.at(name));
    measured[shape.dtypes].insert(std::move(point));
  }
  Proven out;
  for (const auto& [variant, points] : measured)
    for (const Corners& corners : boxes_between(points)) {
      auto ranges = ranges_of(corners, axes, points, judged);
      const auto same = std::find_if(out.boxes.begin(), out.boxes.end(), [&](const auto& box) {
        return same_ranges(box.ranges, ranges);
      });
      if (same != out.boxes.end()) same->variants.push_back(variant);
      else out.boxes.push_back({std::move(ranges), {variant}});
    }
  for (const auto& shape : contract.shapes) out.shapes.push_back(shape_text(shape));
  return out;
}

std::string text_of(const Proven& proven) {
  std::string out;
  for (const auto& box : proven.boxes) {
    const std::string one = text_of(box);
    if (one.empty()) continue;
    const bool several = proven.boxes.size() > 1;
    out += (out.empty() ? "" : " or ") + (several ? "(" + one + ")" : one);
  }
  return out.empty() ? "the one shape that the contract has" : out;
}

std::vector<std::string> argument_names(const model::Contract& contract) {
  if (!contract.kernel.args.empty()) return contract.kernel.args;
  std::vector<std::string> out;
  for (const auto& tensor : contract.tensors) out.push_back(tensor.name);
  for (const auto& scalar : contract.scalars) out.push_back(scalar.name);
  for (const auto& axis : contract.axes)
    if (axis.kind == model::Axis::Kind::var) out.push_back(axis.name);
  return out;
}

std::optional<Capability> capability_of(const std::string& architecture) {
  const std::string prefix = "sm_";
  if (!architecture.starts_with(prefix)) return std::nullopt;
  int number = 0;
  const char* first = architecture.data() + prefix.size();
  const auto read = std::from_chars(first, architecture.data() + architecture.size(), number);
  if (read.ec != std::errc() || number < 10) return std::nullopt;
  return Capability{number / 10, number % 10};
}

bool is_python(model::Lane lane) {
  return lane == model::Lane::triton || lane == model::Lane::cute_dsl;
}

} // namespace ako::loop
