#include "profiles/torch_trace.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
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
  std::string phase, category, name, start, duration, device, stream, process, thread, correlation,
      external_id, grid, block, dims, types;
  void clear() {
    for (std::string* text :
         {&phase, &category, &name, &start, &duration, &device, &stream, &process, &thread,
          &correlation, &external_id, &grid, &block, &dims, &types})
      text->clear();
  }
};

constexpr std::size_t k_most_shapes = 1 << 16, k_most_ranges = 1 << 20;

/// "[2,64,1]" is "2x64x1".
std::string crossed(std::string_view array) {
  std::string out;
  for (char c : array) {
    if (c >= '0' && c <= '9') out += c;
    if (c == ',') out += 'x';
  }
  return out;
}

/// The elements of an array's text, one level deep.
std::vector<std::string_view> elements(std::string_view text) {
  std::vector<std::string_view> all;
  if (text.size() < 2 || text.front() != '[') return all;
  text = text.substr(1, text.size() - (text.back() == ']' ? 2 : 1));
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) depth += (text[i] == '[') - (text[i] == ']');
    if (i == text.size() || (text[i] == ',' && depth == 0))
      all.push_back(text.substr(from, i - from)), from = i + 1;
  }
  return all;
}

/// Shapes and types of an operator's inputs: "BFloat16[512,1024] BFloat16[4096,1024]".
std::string inputs_text(std::string_view dims, std::string_view types) {
  const auto shapes = elements(dims), kinds = elements(types);
  std::string out;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() <= 2) continue; // scalars and absent inputs
    std::string_view kind = i < kinds.size() ? kinds[i] : std::string_view();
    if (kind.starts_with('"')) kind.remove_prefix(1);
    if (kind.ends_with('"')) kind.remove_suffix(1);
    if (kind.starts_with("c10::")) kind.remove_prefix(5);
    out += (out.empty() ? "" : " ") + std::string(kind) + std::string(shapes[i]);
  }
  return out;
}

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
      if (c == ']') return finish();
      if (c != '{') {
        note(c == k_end ? fmt::format("the trace is cut off after {} events", whole)
                        : "no event where one must stand: the rest is not read");
        return finish();
      }
      m_event.clear();
      if (!object(true, 0)) {
        note(fmt::format("the trace is cut off or damaged after {} events", whole));
        return finish();
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

  /// An array as it stands, without blanks; cut where it is longer than anybody reads.
  bool array(std::string* out) {
    if (space() != '[') return value(out);
    out->clear();
    int depth = 0;
    std::string word;
    do {
      const int c = m_bytes.peek();
      if (c == k_end) return false;
      const bool room = out->size() < 240;
      if (c == '"') {
        if (!text(&word)) return false;
        if (room) *out += '"' + word.substr(0, 60) + '"';
        continue;
      }
      m_bytes.get();
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (room && c > ' ') *out += static_cast<char>(c);
    } while (depth > 0);
    return true;
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
      if (m_key == "pid") return &m_event.process;
      if (m_key == "tid") return &m_event.thread;
      return nullptr;
    }
    if (m_key == "device") return &m_event.device;
    if (m_key == "stream") return &m_event.stream;
    if (m_key == "correlation") return &m_event.correlation;
    if (m_key == "External id") return &m_event.external_id;
    return nullptr;
  }

  std::string* array_slot() {
    if (m_key == "grid") return &m_event.grid;
    if (m_key == "block") return &m_event.block;
    if (m_key == "Input Dims") return &m_event.dims;
    if (m_key == "Input type") return &m_event.types;
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
      bool fine;
      if (top && m_key == "args" && space() == '{') fine = object(false, depth + 1);
      else if (std::string* into = top ? nullptr : array_slot()) fine = array(into);
      else fine = value(slot(top));
      if (!fine) return false;
    }
  }

  std::optional<Activity> activity() const {
    const std::string& category = m_event.category;
    if (category == "kernel" || category == "Kernel") return Activity::kernel;
    if (category == "gpu_memcpy" || category == "Memcpy") return Activity::copy;
    if (category == "gpu_memset" || category == "Memset") return Activity::set;
    if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime")
      return Activity::api;
    return std::nullopt;
  }

  void keep() {
    if (m_event.phase != "X") return;
    if (m_event.category == "cpu_op") return keep_operator();
    if (m_event.category == "user_annotation") return keep_range(Track::host);
    if (m_event.category == "gpu_user_annotation") return keep_range(Track::device);
    if (auto kind = activity()) keep_span(*kind);
  }

  bool times(std::int64_t& start, std::int64_t& end) {
    std::int64_t length = 0;
    if (nanoseconds(m_event.start, start) && nanoseconds(m_event.duration, length) && length >= 0 &&
        start <= 4000000000000000000 && length <= 4000000000000000000 &&
        is_lawful(start, start + length)) {
      end = start + length;
      return true;
    }
    if (m_timeline.skipped.size() < 1000)
      note(fmt::format("event '{}' has no lawful time", m_event.name.substr(0, 60)));
    return false;
  }

  /// Shapes vary without end in some traces: those past the limit are not told apart.
  std::uint32_t intern_shape(const std::string& text) {
    if (text.empty()) return k_no_name;
    auto known = m_shapes.find(text);
    if (known != m_shapes.end()) return known->second;
    if (m_shapes.size() >= k_most_shapes) return k_no_name;
    return m_shapes.emplace(text, m_timeline.intern(text)).first->second;
  }

  std::int32_t thread_number() {
    return m_threads.try_emplace(m_event.thread, static_cast<std::int32_t>(m_threads.size()))
        .first->second;
  }

  void keep_span(Activity kind) {
    Span span;
    span.activity = kind;
    if (!times(span.start_ns, span.end_ns)) return;
    span.device = small_number(m_event.device), span.stream = small_number(m_event.stream);
    if (kind == Activity::api) span.stream = thread_number();
    span.correlation = static_cast<std::uint32_t>(small_number(m_event.correlation));
    // Until the end of the trace this is the operator's number.
    span.operation = static_cast<std::uint32_t>(small_number(m_event.external_id));
    if (kind == Activity::kernel && !m_event.grid.empty())
      span.launch_size = intern_shape(
          fmt::format("grid {} block {}", crossed(m_event.grid), crossed(m_event.block)));
    span.name = m_timeline.intern(m_event.name);
    m_timeline.spans.push_back(span);
  }

  void keep_operator() {
    const auto id = static_cast<std::uint32_t>(small_number(m_event.external_id));
    if (id)
      m_operators.push_back({id, m_timeline.intern(m_event.name),
                             intern_shape(inputs_text(m_event.dims, m_event.types))});
  }

  void keep_range(Track track) {
    Range range;
    if (!times(range.start_ns, range.end_ns)) return;
    if (m_timeline.ranges.size() >= k_most_ranges) return;
    range.name = m_timeline.intern(m_event.name), range.track = track;
    if (track == Track::host) range.line = thread_number();
    else range.device = small_number(m_event.process), range.line = small_number(m_event.thread);
    m_timeline.ranges.push_back(range);
  }

  Timeline finish() {
    std::stable_sort(m_operators.begin(), m_operators.end(),
                     [](const auto& a, const auto& b) { return a.id < b.id; });
    for (Span& span : m_timeline.spans) {
      const std::uint32_t id = std::exchange(span.operation, k_no_name);
      auto at =
          std::lower_bound(m_operators.begin(), m_operators.end(), id,
                           [](const auto& op, std::uint32_t wanted) { return op.id < wanted; });
      if (id && at != m_operators.end() && at->id == id)
        span.operation = at->name, span.inputs = at->inputs;
    }
    return std::move(m_timeline);
  }

  struct Operator {
    std::uint32_t id, name, inputs;
  };
  std::vector<Operator> m_operators;
  std::unordered_map<std::string, std::uint32_t> m_shapes;
  std::unordered_map<std::string, std::int32_t> m_threads;
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
