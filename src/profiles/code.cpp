#include "profiles/code.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <set>

namespace ako::profiles {

std::vector<std::string> diff_code(const CodeFunction& before, const CodeFunction& after) {
  std::vector<std::pair<std::int64_t, std::string>> changes;
  auto compare = [&](const std::string& what, std::int64_t a, std::int64_t b) {
    if (a != b) changes.emplace_back(std::abs(b - a), fmt::format("{} {} -> {}", what, a, b));
  };
  auto each = [&](const auto& a, const auto& b, auto name) {
    std::set<typename std::decay_t<decltype(a)>::key_type> keys;
    for (const auto& [key, value] : a) keys.insert(key);
    for (const auto& [key, value] : b) keys.insert(key);
    for (const auto& key : keys)
      compare(name(key), a.contains(key) ? a.at(key) : 0, b.contains(key) ? b.at(key) : 0);
  };
  compare("instructions", before.instructions, after.instructions);
  each(before.opcodes, after.opcodes, [](const std::string& key) { return key; });
  each(before.load_bits, after.load_bits,
       [](int bits) { return fmt::format("global loads of {} bits", bits); });
  each(before.store_bits, after.store_bits,
       [](int bits) { return fmt::format("global stores of {} bits", bits); });
  compare("tensor instructions", before.tensor, after.tensor);
  compare("TMA instructions", before.tma, after.tma);
  compare("local accesses at fixed places", before.local_fixed, after.local_fixed);
  compare("bytes of local arrays", before.local_bytes, after.local_bytes);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> lines;
  for (auto& [size, line] : changes) lines.push_back(std::move(line));
  return lines;
}

} // namespace ako::profiles
