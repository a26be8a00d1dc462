#include "profiles/torch_trace.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <zlib.h>

namespace ako::profiles {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

constexpr int k_end = -1;
constexpr std::size_t k_longest_text = 1 << 16;
constexpr int k_deepest = 200;

/// Bytes from a refill function, one buffer at a time.
class Bytes {
public:
  using Refill = std::function<std::string_view()>; ///< empty at the end
  explicit Bytes(Refill refill) : m_refill(std::move(refill)) {}
  int peek() {
    if (m_at == m_chunk.size() && !more()) return k_end;
    return static_cast<unsigned char>(m_chunk[m_at]);
  }
  int get() {
    int c = peek();
    if (c != k_end) ++m_at, m_line += c == '\n';
    return c;
  }
  /// Skips to the next of the characters that matter inside a value being skipped: quotes, braces,
  /// brackets.
  int next_structural() {
    while (true) {
      while (m_at < m_chunk.size()) {
        char c = m_chunk[m_at++];
        m_line += c == '\n';
        if (c == '"' || c == '{' || c == '}' || c == '[' || c == ']')
          return static_cast<unsigned char>(c);
      }
      if (!more()) return k_end;
    }
  }
  std::int64_t line() const { return m_line; }

private:
  bool more() {
    m_chunk = m_refill();
    m_at = 0;
    return !m_chunk.empty();
  }
  Refill m_refill;
  std::string_view m_chunk;
  std::size_t m_at = 0;
  std::int64_t m_line = 1;
};

struct Event {
  std::string phase, category, name, start, duration, device, stream;
  void clear() {
    for (std::string* text : {&phase, &category, &name, &start, &duration, &device, &stream})
      text->clear();
  }
};

/// "1234.567" microseconds as nanoseconds, without the rounding of a double. False when it is no
/// number.
bool nanoseconds(std::string_view text, std::int64_t& out) {
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return false;
  std::int64_t value = 0;
  int decimals = -1;
  for (char c : text) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9') return false;
    if (decimals >= 3) continue;
    if (value > 900000000000000000) return false;
    value = value * 10 + (c - '0');
    if (decimals >= 0) ++decimals;
  }
  for (decimals = std::max(decimals, 0); decimals < 3; ++decimals) {
    if (value > 900000000000000000) return false;
    value *= 10;
  }
  out = negative ? -value : value;
  return true;
}

std::int32_t small_number(std::string_view text) {
  std::int32_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9' || value > 100000000) return 0;
    value = value * 10 + (c - '0');
  }
  return value;
}

class Parser {
public:
  Parser(Bytes& bytes, std::string where) : m_bytes(bytes), m_where(std::move(where)) {}

  Expected<Timeline> run() {
    if (!find_events())
      return fail(ErrorKind::invalid, "no torch-profiler trace",
                  {m_where, "no \"traceEvents\" array", "a Chrome trace with \"traceEvents\"",
                   "export it with profiler.export_chrome_trace"});
    std::int64_t whole = 0;
    while (true) {
      int c = space();
      if (c == ',') {
        m_bytes.get();
        continue;
      }
      if (c == ']') return std::move(m_timeline);
      if (c != '{') {
        note(c == k_end ? fmt::format("the trace is cut off after {} events", whole)
                        : "no event where one must stand: the rest is not read");
        return std::move(m_timeline);
      }
      m_event.clear();
      if (!object(true, 0)) {
        note(fmt::format("the trace is cut off or damaged after {} events", whole));
        return std::move(m_timeline);
      }
      ++whole;
      keep();
    }
  }

private:
  int space() {
    int c = m_bytes.peek();
    while (c == ' ' || c == '\n' || c == '\t' || c == '\r') m_bytes.get(), c = m_bytes.peek();
    return c;
  }

  void note(std::string reason) {
    m_timeline.skipped.push_back({m_bytes.line(), std::move(reason)});
  }

  /// The top level is an object with the array somewhere, or the array itself.
  bool find_events() {
    int c = space();
    if (c == '[') return m_bytes.get(), true;
    if (c != '{') return false;
    m_bytes.get();
    std::string key;
    while (true) {
      c = space();
      if (c == ',') m_bytes.get(), c = space();
      if (c != '"' || !text(&key) || space() != ':') return false;
      m_bytes.get();
      if (key == "traceEvents") return space() == '[' ? (m_bytes.get(), true) : false;
      if (key == "deviceProperties" ? !device_properties() : !skip()) return false;
    }
  }

  /// Keeps the first "name" inside.
  bool device_properties() {
    if (space() != '[') return skip();
    m_bytes.get();
    int depth = 1;
    std::string word;
    while (depth > 0) {
      int c = m_bytes.next_structural();
      if (c == k_end) return false;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (c != '"') continue;
      if (!rest_of_text(&word)) return false;
      if (word != "name" || space() != ':' || !m_timeline.device.empty()) continue;
      m_bytes.get();
      if (space() == '"' && !text(&m_timeline.device)) return false;
    }
    return true;
  }

  bool text(std::string* out) {
    if (m_bytes.get() != '"') return false;
    return rest_of_text(out);
  }

  bool rest_of_text(std::string* out) {
    if (out) out->clear();
    while (true) {
      int c = m_bytes.get();
      if (c == k_end) return false;
      if (c == '"') return true;
      if (c == '\\') {
        c = m_bytes.get();
        if (c == k_end) return false;
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'u') {
          for (int i = 0; i < 4; ++i)
            if (m_bytes.get() == k_end) return false;
          c = '?';
        }
      }
      if (out && out->size() < k_longest_text) *out += static_cast<char>(c);
    }
  }

  /// A value of any kind; scalars are stored when asked for.
  bool value(std::string* out) {
    int c = space();
    if (c == '"') return text(out);
    if (c == '{' || c == '[') return skip();
    if (out) out->clear();
    while (true) {
      c = m_bytes.peek();
      if (c == k_end) return false;
      if (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t')
        return true;
      if (out && out->size() < 64) *out += static_cast<char>(c);
      m_bytes.get();
    }
  }

  bool skip() {
    int c = space();
    if (c == '"') return text(nullptr);
    if (c != '{' && c != '[') return value(nullptr);
    m_bytes.get();
    int depth = 1;
    while (depth > 0) {
      c = m_bytes.next_structural();
      if (c == k_end) return false;
      if (c == '"') {
        if (!rest_of_text(nullptr)) return false;
      } else {
        depth += c == '{' || c == '[' ? 1 : -1;
      }
    }
    return true;
  }

  std::string* slot(bool top) {
    if (top) {
      if (m_key == "ph") return &m_event.phase;
      if (m_key == "cat") return &m_event.category;
      if (m_key == "name") return &m_event.name;
      if (m_key == "ts") return &m_event.start;
      if (m_key == "dur") return &m_event.duration;
      return nullptr;
    }
    if (m_key == "device") return &m_event.device;
    if (m_key == "stream") return &m_event.stream;
    return nullptr;
  }

  bool object(bool top, int depth) {
    if (depth > k_deepest || m_bytes.get() != '{') return false;
    while (true) {
      int c = space();
      if (c == '}') return m_bytes.get(), true;
      if (c == ',') {
        m_bytes.get();
        continue;
      }
      if (c != '"' || !text(&m_key) || space() != ':') return false;
      m_bytes.get();
      bool fine =
          top && m_key == "args" && space() == '{' ? object(false, depth + 1) : value(slot(top));
      if (!fine) return false;
    }
  }

  void keep() {
    if (m_event.phase != "X") return;
    Span span;
    if (m_event.category == "kernel" || m_event.category == "Kernel")
      span.activity = Activity::kernel;
    else if (m_event.category == "gpu_memcpy" || m_event.category == "Memcpy")
      span.activity = Activity::copy;
    else if (m_event.category == "gpu_memset" || m_event.category == "Memset")
      span.activity = Activity::set;
    else if (m_event.category == "cuda_runtime" || m_event.category == "cuda_driver" ||
             m_event.category == "Runtime")
      span.activity = Activity::api;
    else return;
    std::int64_t length = 0;
    if (!nanoseconds(m_event.start, span.start_ns) || !nanoseconds(m_event.duration, length) ||
        length < 0) {
      if (m_timeline.skipped.size() < 1000)
        note(fmt::format("event '{}' has no lawful time", m_event.name.substr(0, 60)));
      return;
    }
    if (span.start_ns > 4000000000000000000 || length > 4000000000000000000 ||
        !is_lawful(span.start_ns, span.start_ns + length)) {
      if (m_timeline.skipped.size() < 1000)
        note(fmt::format("event '{}' has no lawful time", m_event.name.substr(0, 60)));
      return;
    }
    span.end_ns = span.start_ns + length;
    span.device = small_number(m_event.device), span.stream = small_number(m_event.stream);
    span.name = m_timeline.intern(m_event.name);
    m_timeline.spans.push_back(span);
  }

  Bytes& m_bytes;
  std::string m_where, m_key;
  Event m_event;
  Timeline m_timeline;
};

} // namespace

Expected<Timeline> parse_torch_trace(std::string_view json, const std::string& where) {
  bool given = false;
  Bytes bytes(
      [&]() -> std::string_view { return std::exchange(given, true) ? std::string_view() : json; });
  return Parser(bytes, where).run();
}

Expected<Timeline> read_torch_trace(const std::filesystem::path& path) {
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return base::fail_errno("the trace cannot be read", path.string(), errno);
  gzbuffer(file.get(), 1 << 18);
  std::vector<char> buffer(1 << 20);
  bool damaged = false;
  Bytes bytes([&]() -> std::string_view {
    int got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    damaged |= got < 0;
    return got > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(got))
                   : std::string_view();
  });
  auto timeline = Parser(bytes, path.string()).run();
  if (timeline && damaged)
    timeline->skipped.push_back({0, "the compressed file is damaged or cut off"});
  return timeline;
}

} // namespace ako::profiles
