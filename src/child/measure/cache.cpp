#include "measure/cache.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ako::measure {
namespace {

constexpr std::uint64_t k_page = 4096;
constexpr std::uint64_t k_least_part = 256 << 10; ///< of what several streams read

std::uint64_t read_size(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (!file) return 0;
  unsigned long long value = 0;
  char unit = 0;
  const int fields = std::fscanf(file, "%llu%c", &value, &unit);
  std::fclose(file);
  if (fields < 1) return 0;
  if (unit == 'K') value <<= 10;
  if (unit == 'M') value <<= 20;
  return value;
}

CacheFacts cache_from_sysfs() {
  CacheFacts facts;
  int highest = 0;
  for (int index = 0; index < 8; ++index) {
    char path[96];
    const auto name = [&](const char* leaf) {
      std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
                    leaf);
      return path;
    };
    const auto level = static_cast<int>(read_size(name("level")));
    const auto bytes = read_size(name("size"));
    if (level < highest || bytes == 0) continue;
    highest = level;
    facts.bytes = bytes;
    if (const auto line = read_size(name("coherency_line_size"))) facts.line = line;
    facts.from = CacheSource::sysfs;
  }
  return facts;
}

CacheFacts cache_from_cpuid() {
  CacheFacts facts;
#if defined(__x86_64__)
  // Leaf 4 (Intel) and 0x8000001d (AMD) describe each level in the same form.
  for (const unsigned leaf : {4u, 0x8000001du}) {
    for (unsigned index = 0; index < 8; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d) || (a & 31u) == 0) break;
      const std::uint64_t line = (b & 0xfffu) + 1, parts = ((b >> 12) & 0x3ffu) + 1,
                          ways = (b >> 22) + 1;
      const std::uint64_t bytes = line * parts * ways * (std::uint64_t{c} + 1);
      if (bytes > facts.bytes) facts = {bytes, line, CacheSource::cpuid};
    }
  }
#endif
  return facts;
}

double time_line(const Ticks& ticks, const std::byte* line) {
  const auto begin = ticks.now();
  (void)*reinterpret_cast<const volatile std::uint64_t*>(line);
  const auto end = ticks.now();
  return std::max(0.0, ticks.to_ns(end - begin) - ticks.overhead_ns());
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool flush_line([[maybe_unused]] const std::byte* line) {
#if defined(__x86_64__)
  asm volatile("clflush (%0)" : : "r"(line) : "memory");
  return true;
#else
  return false;
#endif
}

/// One line in each page, at a different offset each, in an order that no prefetcher follows.
std::vector<const std::byte*> pick_lines(const void* data, std::uint64_t bytes,
                                         std::uint64_t line) {
  const auto* base = static_cast<const std::byte*>(data);
  const auto pages = std::min<std::uint64_t>(bytes / k_page, 1024);
  std::vector<const std::byte*> lines;
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  for (std::uint64_t page = 0; page < pages; ++page)
    lines.push_back(base + page * k_page + next() % (k_page / line) * line);
  for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[next() % i]);
  return lines;
}

} // namespace

CacheFacts find_cache() {
  auto facts = cache_from_sysfs();
  if (facts.bytes == 0) facts = cache_from_cpuid();
  if (facts.bytes == 0) facts = {32u << 20, 64, CacheSource::assumed};
  return facts;
}

namespace {

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

} // namespace

void read_lines(const void* data, std::uint64_t bytes, std::uint64_t line) {
  const auto* at = static_cast<const std::byte*>(data);
  std::uint64_t sum = 0, offset = 0;
  // One stream waits for memory at every page that the prefetcher does not cross; several, each
  // through a part of its own, wait together: half the time.
  constexpr std::uint64_t k_streams = 8;
  const std::uint64_t part = bytes / k_streams / line * line;
  if (part >= k_least_part) {
    for (; offset < part; offset += line)
      for (std::uint64_t stream = 0; stream < k_streams; ++stream)
        sum += word_at(at + stream * part + offset);
    offset = k_streams * part;
  }
  for (; offset + sizeof(std::uint64_t) <= bytes; offset += line) sum += word_at(at + offset);
  if (bytes > 0) sum += static_cast<std::uint64_t>(at[bytes - 1]); // the last, partial line
  asm volatile("" : : "r"(sum) : "memory");
}

EvictBuffer EvictBuffer::make(std::uint64_t bytes, std::uint64_t line) {
  EvictBuffer buffer;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return buffer;
  std::memset(data, 0x5a, bytes); // real pages, not the shared zero page
  buffer.m_data = data;
  buffer.m_bytes = bytes;
  buffer.m_owned = true;
  // Two sweeps of twice the cache push the lines just written out to memory: clean from here on.
  buffer.sweep(line);
  buffer.sweep(line);
  return buffer;
}

EvictBuffer::~EvictBuffer() {
  if (m_owned) munmap(const_cast<void*>(m_data), m_bytes);
}

void EvictBuffer::swap(EvictBuffer& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_bytes, other.m_bytes);
  std::swap(m_owned, other.m_owned);
}

Residency probe_residency(const Ticks& ticks, const EvictBuffer& buffer, const void* data,
                          std::uint64_t bytes, std::uint64_t line) {
  const auto lines = pick_lines(data, bytes, line);
  std::vector<double> cached, evicted, memory;
  const auto touch = [&] {
    for (const auto* at : lines) (void)*reinterpret_cast<const volatile std::uint64_t*>(at);
  };
  touch();
  touch();
  for (const auto* at : lines) cached.push_back(time_line(ticks, at));
  touch();
  const auto begin = raw_clock_ns(CLOCK_MONOTONIC);
  buffer.sweep(line);
  Residency result;
  result.evict_ns = raw_clock_ns(CLOCK_MONOTONIC) - begin;
  for (const auto* at : lines) evicted.push_back(time_line(ticks, at));
  bool flushed = true;
  for (const auto* at : lines) flushed = flush_line(at) && flushed;
  for (const auto* at : lines) memory.push_back(time_line(ticks, at));

  result.lines = static_cast<std::uint32_t>(lines.size());
  result.cached_ns = median(cached);
  result.evicted_ns = median(evicted);
  result.memory_ns = flushed ? median(memory) : 0;
  const double far = flushed ? result.memory_ns : result.evicted_ns;
  const double threshold = (result.cached_ns + far) / 2;
  const auto near = std::count_if(evicted.begin(), evicted.end(),
                                  [&](double value) { return value < threshold; });
  result.resident_share = static_cast<double>(near) / static_cast<double>(lines.size());
  return result;
}

} // namespace ako::measure
