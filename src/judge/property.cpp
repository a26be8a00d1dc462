// property = clause {";" clause}
// clause   = "permutation_of:" tensor | "sampled_from:" tensor | "product:" a "," b "=" c
//          | "picks:" tensor | "sorted" | "sorted_descending" | "row_sum:" number
#include "inputs/codec.hpp"
#include "judge/methods.hpp"
#include "judge/rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <string_view>

namespace ako::judge {
namespace {

/// Chance of refusing an honest sampler.
constexpr double k_sampling_alpha = 1e-6;

tl::unexpected<base::Error> unknown(const std::string& clause, const char* allowed) {
  return base::fail(base::ErrorKind::invalid, "a property cannot be understood",
                    {.where = "tensor.property",
                     .found = clause,
                     .allowed = allowed,
                     .next = "see docs/task-toml.md"});
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = text.find(at);
    std::string part(text.substr(0, end));
    while (!part.empty() && part.front() == ' ') part.erase(part.begin());
    while (!part.empty() && part.back() == ' ') part.pop_back();
    if (!part.empty()) out.push_back(std::move(part));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

const TensorView* named(const CompareRequest& request, std::string_view name) {
  if (request.got.tensor->name == name) return &request.got;
  for (const auto& other : request.others)
    if (other.tensor->name == name) return &other;
  return nullptr;
}

std::int64_t last_extent(const TensorView& view) {
  return view.tensor->shape.empty() ? 1 : std::max<std::int64_t>(1, view.tensor->shape.back());
}

void fail_at(CompareResult& out, const CompareRequest& request, std::int64_t element,
             std::string reason) {
  ++out.mismatches;
  if (!out.reason.empty()) return;
  out.first.element = element;
  out.first.index = index_of(*request.got.tensor, element);
  out.reason = fmt::format("{} at [{}]", reason, fmt::join(out.first.index, ","));
}

std::vector<double> row_of(const TensorView& view, std::int64_t row, std::int64_t length) {
  std::vector<double> out(static_cast<std::size_t>(length));
  read_elements(view, row * length, out);
  return out;
}

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_permutation(const CompareRequest& request, const TensorView& source,
                       CompareResult& out) {
  const std::int64_t length = last_extent(request.got);
  for (std::int64_t row = 0; row < request.got.tensor->elements / length; ++row) {
    auto got = row_of(request.got, row, length), want = row_of(source, row, length);
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    if (got != want)
      fail_at(out, request, row * length,
              fmt::format("not a permutation of the row of \"{}\"", source.tensor->name));
  }
}

/// The values that a row's indices pick, sorted; nullopt where they are no different indices into
/// it.
std::optional<std::vector<double>> picked_values(const std::vector<double>& source,
                                                 const std::vector<double>& indices) {
  std::vector<double> out;
  std::vector<bool> taken(source.size());
  for (const double index : indices) {
    if (!(index >= 0) || index >= static_cast<double>(source.size()) ||
        index != std::floor(index) || taken[static_cast<std::size_t>(index)])
      return std::nullopt;
    taken[static_cast<std::size_t>(index)] = true;
    out.push_back(source[static_cast<std::size_t>(index)] + 0.0); // the zeros are one value
  }
  std::sort(out.begin(), out.end(), [](double a, double b) { return std::strong_order(a, b) < 0; });
  return out;
}

/// Which of equal values is picked does not matter.
base::Status check_picks(const CompareRequest& request, const TensorView& source,
                         CompareResult& out) {
  const std::int64_t outcomes = last_extent(source), picks = last_extent(request.got);
  const std::int64_t rows = request.got.tensor->elements / picks;
  if (rows != source.tensor->elements / outcomes || request.expected.bytes.empty())
    return base::fail(base::ErrorKind::invalid, "indices and what they pick from do not fit",
                      {.where = "tensor.property",
                       .found = request.property,
                       .allowed = "a tensor of as many rows as the indices have",
                       .next = "name the tensor whose last axis the indices count along"});
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto values = row_of(source, row, outcomes);
    const auto want = picked_values(values, row_of(request.expected, row, picks));
    if (!want) {
      out.reference_at_fault = true;
      out.reason = fmt::format("the reference's row {} is not of different indices into \"{}\"",
                               row, source.tensor->name);
      ++out.mismatches;
      return {};
    }
    const auto got = picked_values(values, row_of(request.got, row, picks));
    if (!got)
      fail_at(out, request, row * picks,
              fmt::format("not different indices into the row of \"{}\"", source.tensor->name));
    else if (!std::equal(got->begin(), got->end(), want->begin(), same_value))
      fail_at(out, request, row * picks,
              fmt::format("the indices pick other values of \"{}\" than the reference's",
                          source.tensor->name));
  }
  return {};
}

/// Upper tail of chi-square: the regularised incomplete gamma function Q(degrees / 2, value / 2),
/// by its series where that is short, else by its continued fraction (Lentz).
double chi_square_tail(double value, double degrees) {
  constexpr int k_most_terms = 10000;
  constexpr double k_enough = 1e-12, k_tiny = 1e-300;
  const double a = 0.5 * degrees, x = 0.5 * value;
  if (x <= 0) return 1;
  const double scale = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < k_most_terms && term > k_enough * sum; ++n) sum += term *= x / (a + n);
    return 1 - scale * sum;
  }
  double b = x + 1 - a, c = 1 / k_tiny, d = 1 / b, fraction = d;
  for (int n = 1; n < k_most_terms; ++n) {
    const double part = n * (a - n);
    b += 2;
    d = part * d + b;
    d = 1 / (std::fabs(d) < k_tiny ? k_tiny : d);
    c = b + part / c;
    if (std::fabs(c) < k_tiny) c = k_tiny;
    fraction *= c * d;
    if (std::fabs(c * d - 1) < k_enough) break;
  }
  return scale * fraction;
}

/// Chance of counts at least as far from `expected` as `seen`, by a G-test; cells that expect less
/// than 5 are taken together. Empty: nothing to test.
std::optional<double> g_test(const std::vector<double>& seen, const std::vector<double>& expected) {
  double statistic = 0, rest_seen = 0, rest_expected = 0;
  int cells = 0;
  const auto add = [&](double came, double due) {
    ++cells;
    if (came > 0) statistic += 2 * came * std::log(came / due);
  };
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (expected[k] >= 5) {
      add(seen[k], expected[k]);
    } else {
      rest_seen += seen[k];
      rest_expected += expected[k];
    }
  }
  if (rest_expected >= 5) add(rest_seen, rest_expected);
  if (cells < 2) return std::nullopt;
  return chi_square_tail(std::max(statistic, 0.0), cells - 1);
}

/// Counts of all rows together, once by outcome and once by the outcome's rank in its row: the
/// first shows a sampler that prefers some indices, the second one that prefers likely outcomes (or
/// does not look at the row at all), whose indices may still be spread evenly over many rows.
struct Draws {
  std::vector<double> seen, due, seen_by_rank, due_by_rank;
  explicit Draws(std::int64_t outcomes)
      : seen(static_cast<std::size_t>(outcomes)), due(seen), seen_by_rank(seen), due_by_rank(seen) {
  }

  void expect(const std::vector<double>& share, const std::vector<std::size_t>& by_rank,
              double draws) {
    double total = 0;
    for (const double p : share) total += p;
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
      due[by_rank[r]] += draws * share[by_rank[r]] / total;
      due_by_rank[r] += draws * share[by_rank[r]] / total;
    }
  }
};

void check_sampled(const CompareRequest& request, const TensorView& source, CompareResult& out) {
  const std::int64_t outcomes = last_extent(source);
  const std::int64_t rows = source.tensor->elements / std::max<std::int64_t>(outcomes, 1);
  const std::int64_t draws = request.got.tensor->elements / std::max<std::int64_t>(rows, 1);
  Draws all(outcomes);
  std::vector<std::size_t> by_rank(all.seen.size()), rank_of(by_rank);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto share = row_of(source, row, outcomes), picked = row_of(request.got, row, draws);
    std::iota(by_rank.begin(), by_rank.end(), std::size_t{0});
    std::stable_sort(by_rank.begin(), by_rank.end(),
                     [&](std::size_t x, std::size_t y) { return share[x] > share[y]; });
    for (std::size_t r = 0; r < by_rank.size(); ++r) rank_of[by_rank[r]] = r;
    all.expect(share, by_rank, static_cast<double>(draws));
    for (std::int64_t i = 0; i < draws; ++i) {
      const double index = picked[static_cast<std::size_t>(i)];
      if (!(index >= 0) || index >= static_cast<double>(outcomes) || index != std::floor(index) ||
          share[static_cast<std::size_t>(index)] <= 0) {
        fail_at(out, request, row * draws + i, fmt::format("{} is no possible outcome", index));
        continue;
      }
      all.seen[static_cast<std::size_t>(index)] += 1;
      all.seen_by_rank[rank_of[static_cast<std::size_t>(index)]] += 1;
    }
  }
  if (out.mismatches > 0) return;
  for (const auto& [p, what] : {std::pair(g_test(all.seen, all.due), "outcomes"),
                                std::pair(g_test(all.seen_by_rank, all.due_by_rank), "ranks")}) {
    if (p && *p < k_sampling_alpha / 2)
      fail_at(out, request, 0,
              fmt::format("draws do not follow \"{}\": by {} p = {:.2g}, {:.2g} is the least",
                          source.tensor->name, what, *p, k_sampling_alpha / 2));
  }
}

/// Whether the caller gave a tolerance; if not, what the type and the sums explain is allowed.
bool is_given(const Tolerance& t) { return t.atol > 0 || t.rtol > 0 || t.row_factor > 0; }

/// Largest roundoff among the tensors of a property, at least float32's accumulation.
double roundoff_of(std::initializer_list<const TensorView*> views) {
  double u = 0;
  for (const TensorView* view : views)
    if (model::class_of(view->dtype) == model::DtypeClass::floating)
      u = std::max(u, inputs::numbers_of(view->dtype).unit_roundoff);
  return u;
}

base::Status check_product(const CompareRequest& request, const TensorView& a, const TensorView& b,
                           const TensorView& c, CompareResult& out) {
  auto axis = [](const TensorView& v, std::size_t from_end) {
    const auto& shape = v.tensor->shape;
    return shape.size() < from_end ? std::int64_t{1} : shape[shape.size() - from_end];
  };
  const std::int64_t m = axis(a, 2), k = axis(a, 1), n = axis(b, 1);
  const std::int64_t batches = a.tensor->elements / std::max<std::int64_t>(m * k, 1);
  if (axis(b, 2) != k || axis(c, 2) != m || axis(c, 1) != n ||
      b.tensor->elements != batches * k * n || c.tensor->elements != batches * m * n)
    return base::fail(base::ErrorKind::invalid, "the factors of a product do not fit",
                      {.where = "tensor.property",
                       .found = request.property,
                       .allowed = "a [.., M, K], b [.., K, N], c [.., M, N]",
                       .next = {}});
  std::vector<double> row(static_cast<std::size_t>(n)), sizes(row.size());
  // Each product carries the roundings of its two factors; sums walk randomly.
  const double share = is_given(request.tolerance)
                           ? 0
                           : 8 * std::sqrt(static_cast<double>(k)) * roundoff_of({&a, &b, &c});
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::vector<double> right(static_cast<std::size_t>(k * n));
    read_elements(b, batch * k * n, right);
    for (std::int64_t i = 0; i < m; ++i) {
      auto left = row_of(a, batch * m + i, k), want = row_of(c, batch * m + i, n);
      std::fill(row.begin(), row.end(), 0);
      std::fill(sizes.begin(), sizes.end(), 0);
      double squares = 0;
      for (std::int64_t x = 0; x < k; ++x)
        for (std::int64_t j = 0; j < n; ++j) {
          const double product =
              left[static_cast<std::size_t>(x)] * right[static_cast<std::size_t>(x * n + j)];
          row[static_cast<std::size_t>(j)] += product;
          sizes[static_cast<std::size_t>(j)] += std::fabs(product);
        }
      for (double value : want) squares += value * value;
      const double rms = std::sqrt(squares / static_cast<double>(n));
      for (std::int64_t j = 0; j < n; ++j) {
        const double w = want[static_cast<std::size_t>(j)], g = row[static_cast<std::size_t>(j)];
        const double allowed = request.tolerance.atol + request.tolerance.rtol * std::fabs(w) +
                               request.tolerance.row_factor * rms +
                               share * sizes[static_cast<std::size_t>(j)];
        if (!(std::fabs(g - w) <= allowed))
          fail_at(out, request, 0,
                  fmt::format("the product gives {:.6g} where {:.6g} +- {:.3g} is due, row {}", g,
                              w, allowed, batch * m + i));
      }
    }
  }
  return {};
}

void check_sorted(const CompareRequest& request, bool rising, CompareResult& out) {
  const std::int64_t length = last_extent(request.got);
  for (std::int64_t row = 0; row < request.got.tensor->elements / length; ++row) {
    auto values = row_of(request.got, row, length);
    for (std::size_t i = 1; i < values.size(); ++i) {
      const bool ordered = rising ? values[i - 1] <= values[i] : values[i - 1] >= values[i];
      if (!ordered)
        fail_at(out, request, row * length + static_cast<std::int64_t>(i), "the row is not sorted");
    }
  }
}

void check_row_sum(const CompareRequest& request, double wanted, CompareResult& out) {
  const std::int64_t length = last_extent(request.got);
  const double u = roundoff_of({&request.got});
  const double walk = std::sqrt(static_cast<double>(length)) * std::min(u, 0x1p-24);
  for (std::int64_t row = 0; row < request.got.tensor->elements / length; ++row) {
    double sum = 0, squares = 0, sizes = 0;
    for (double value : row_of(request.got, row, length)) {
      sum += value;
      squares += value * value;
      sizes += std::fabs(value);
    }
    // Each element may be off by its own rounding; their errors add like a random walk.
    const double rms = std::sqrt(squares);
    const double allowed = request.tolerance.atol + request.tolerance.row_factor * rms +
                           request.tolerance.rtol * std::max(std::fabs(wanted), rms) +
                           (is_given(request.tolerance) ? 0 : 8 * u * rms + 8 * walk * sizes);
    if (!(std::fabs(sum - wanted) <= allowed))
      fail_at(
          out, request, row * length,
          fmt::format("the row sums to {:.6g} where {} +- {:.3g} is due", sum, wanted, allowed));
  }
}

base::Status check_clause(const CompareRequest& request, const std::string& clause,
                          CompareResult& out) {
  constexpr const char* k_allowed = "permutation_of:<t>, sampled_from:<t>, picks:<t>, "
                                    "product:<a>,<b>=<c>, "
                                    "sorted, sorted_descending, row_sum:<number>";
  if (clause == "sorted") return check_sorted(request, true, out), base::Status{};
  if (clause == "sorted_descending") return check_sorted(request, false, out), base::Status{};
  const std::size_t colon = clause.find(':');
  if (colon == std::string::npos) return unknown(clause, k_allowed);
  const std::string head = clause.substr(0, colon), rest = clause.substr(colon + 1);
  if (head == "row_sum") {
    double wanted = 0;
    auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), wanted);
    if (code != std::errc() || end != rest.data() + rest.size())
      return unknown(clause, "row_sum:<number>");
    return check_row_sum(request, wanted, out), base::Status{};
  }
  if (head == "product") {
    auto sides = split(rest, '=');
    auto factors = sides.size() == 2 ? split(sides[0], ',') : std::vector<std::string>{};
    if (factors.size() != 2) return unknown(clause, "product:<a>,<b>=<c>");
    const TensorView* parts[3] = {named(request, factors[0]), named(request, factors[1]),
                                  named(request, sides[1])};
    if (!parts[0] || !parts[1] || !parts[2]) return unknown(clause, "names of the task's tensors");
    return check_product(request, *parts[0], *parts[1], *parts[2], out);
  }
  const TensorView* source = named(request, rest);
  if (head != "permutation_of" && head != "sampled_from" && head != "picks")
    return unknown(clause, k_allowed);
  if (!source) return unknown(clause, "names of the task's tensors");
  if (head == "picks") return check_picks(request, *source, out);
  if (head == "permutation_of") {
    if (source->tensor->elements != request.got.tensor->elements)
      return unknown(clause, "a tensor of the same size");
    check_permutation(request, *source, out);
  } else {
    check_sampled(request, *source, out);
  }
  return {};
}

} // namespace

std::int64_t property_memory(const CompareRequest& request) {
  std::int64_t widest = last_extent(request.got);
  std::int64_t largest = 0;
  for (const auto& other : request.others) {
    widest = std::max(widest, last_extent(other));
    largest = std::max(largest, other.tensor->elements);
  }
  const bool product = request.property.find("product:") != std::string::npos;
  return 10 * 8 * widest + (product ? 8 * largest : 0);
}

base::Expected<CompareResult> compare_property(const CompareRequest& request) {
  CompareResult out;
  out.method = "property: " + request.property;
  out.elements = request.got.tensor->elements;
  const auto clauses = split(request.property, ';');
  if (clauses.empty()) return unknown(request.property, "at least one clause");
  for (std::int64_t i = 0; i < out.elements; ++i)
    if (double value =
            inputs::load(request.got.dtype, request.got.bytes, offset_of(*request.got.tensor, i));
        !std::isfinite(value) && !request.tolerance.nan_meaningful) {
      ++out.nonfinite.got_nan;
      fail_at(out, request, i, "not a finite number");
    }
  for (const auto& clause : clauses) AKO_TRY_STATUS(check_clause(request, clause, out));
  out.pass = out.mismatches == 0;
  return out;
}

} // namespace ako::judge
