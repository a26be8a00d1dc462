#include "model/nearest.hpp"

#include <algorithm>

namespace ako::model {

namespace {

constexpr std::size_t k_longest_word = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

} // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows are enough: a swap looks two rows back.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > k_longest_word) return {};
  // Of one or two letters every other word is a near one: then only another case counts.
  const int most = word.size() < 3 ? 0 : std::max(1, static_cast<int>(word.size()) / 3);
  int best = most + 1;
  std::string out;
  for (const std::string& each : known) {
    const int distance = edit_distance(word, each);
    if (distance < best) {
      best = distance;
      out = each;
    }
  }
  return out;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string found = nearest(word, known);
  return found.empty() ? std::string{} : "did you mean '" + found + "'?";
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& each : words) out += (out.empty() ? "" : ", ") + each;
  return out;
}

} // namespace ako::model
