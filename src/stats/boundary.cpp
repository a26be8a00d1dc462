#include "stats/boundary.hpp"

#include "stats/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ako::stats {

namespace {

constexpr int k_last_early_look = 4;  // looks that may lean on Plan::placement_spread
constexpr double k_early_share = 0.1; // of the error, for those
constexpr double k_last_share = 0.5;

} // namespace

std::vector<int> looks_of(int first_look, int most) {
  std::vector<int> looks;
  for (int n = std::max(1, first_look); n < most;) {
    looks.push_back(n);
    n = n < 5 ? n + 1 : std::max(n + 1, static_cast<int>(std::lround(1.26 * n)));
  }
  // A look just before the last would spend and learn nothing new.
  if (looks.size() > 1 && most > 6 && looks.back() > 0.9 * most) looks.pop_back();
  looks.push_back(most);
  return looks;
}

std::vector<double> shares_of(const std::vector<int>& looks) {
  double total = 0;
  for (std::size_t i = 0; i + 1 < looks.size(); ++i) total += looks[i] * looks[i];
  std::vector<double> shares;
  for (std::size_t i = 0; i + 1 < looks.size(); ++i)
    shares.push_back((1 - k_last_share) * looks[i] * looks[i] / total);
  shares.push_back(looks.size() == 1 ? 1 : k_last_share);
  return shares;
}

Boundary::Boundary(const Plan& plan)
    : m_plan(plan), m_looks(looks_of(plan.first_look, plan.most_placements)),
      m_shares(shares_of(m_looks)) {
  double early = 0; // share of the looks that may lean on the known spread
  if (plan.placement_spread > 0)
    for (std::size_t i = 0; i < m_looks.size(); ++i)
      if (m_looks[i] >= 2 && m_looks[i] <= k_last_early_look) early += m_shares[i];
  if (early > 0) m_student_share = 1 - k_early_share;
  for (std::size_t i = 0; i < m_looks.size(); ++i) {
    Critical critical;
    for (Purpose purpose : k_purposes) {
      const auto at = static_cast<std::size_t>(purpose);
      const double all = tail(purpose);
      if (m_looks[i] >= 2)
        critical.student[at] =
            student_upper_quantile(all * m_student_share * m_shares[i], m_looks[i] - 1);
      if (early > 0 && m_looks[i] >= 2 && m_looks[i] <= k_last_early_look)
        critical.normal[at] = -normal_quantile(all * k_early_share * m_shares[i] / early);
    }
    m_critical.push_back(critical);
  }
}

double Boundary::tail(Purpose purpose) const {
  switch (purpose) {
  case Purpose::win: return m_plan.alpha * m_plan.spend / m_plan.candidates;
  case Purpose::interval: return 0.5 * (1 - m_plan.level);
  case Purpose::equivalence: return m_plan.equivalence_alpha;
  }
  return 0;
}

std::size_t Boundary::index_of(int placements) const {
  const auto at = std::lower_bound(m_looks.begin(), m_looks.end(), placements);
  return at == m_looks.end() ? m_looks.size() - 1 : static_cast<std::size_t>(at - m_looks.begin());
}

bool Boundary::looks_after(int placements) const {
  return placements >= m_plan.most_placements ||
         std::binary_search(m_looks.begin(), m_looks.end(), placements);
}

double Boundary::alpha_spent(int placements) const {
  double spent = 0;
  for (std::size_t i = 0; i < m_looks.size(); ++i)
    if (m_looks[i] <= placements) spent += m_shares[i];
  return spent * tail(Purpose::win);
}

double Boundary::half_width(Purpose purpose, int placements, int usable, double spread,
                            double pair_error) const {
  if (usable < 2) return std::numeric_limits<double>::infinity();
  const std::size_t look = index_of(placements);
  const Critical& critical = m_critical[look];
  const auto at = static_cast<std::size_t>(purpose);
  const double root = std::sqrt(static_cast<double>(usable));
  double student = critical.student[at];
  if (usable != m_looks[look])
    student = student_upper_quantile(tail(purpose) * m_student_share * m_shares[look], usable - 1);
  // Values cannot truly spread less than their pairs' noise: a smaller spread is luck.
  double half = student * std::max(spread, pair_error) / root;
  const double known = m_plan.placement_spread;
  // What is seen holds the noise of the pairs as well, and that is known from the pairs themselves.
  const double expected = std::sqrt(known * known + pair_error * pair_error);
  if (critical.normal[at] > 0 && spread <= expected)
    half = std::min(half, critical.normal[at] * expected / root);
  return half;
}

int Boundary::placements_for(Purpose purpose, double distance, double spread, double pair_error,
                             int limit) const {
  if (!(distance > 0)) return 0;
  const double worst = std::max(spread, pair_error) / distance;
  const double share = tail(purpose) * m_student_share * k_last_share;
  auto narrow = [&](int n) {
    return student_upper_quantile(share, n - 1) * worst < std::sqrt(static_cast<double>(n));
  };
  int high = 2;
  while (high < limit && !narrow(high)) high = std::min(limit, 2 * high);
  if (!narrow(high)) return 0;
  int low = std::max(1, high / 2);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (narrow(middle) ? high : low) = middle;
  }
  return high;
}

} // namespace ako::stats
