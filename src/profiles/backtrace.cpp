#include "profiles/backtrace.hpp"

#include "profiles/lines.hpp"

#include <algorithm>
#include <charconv>

namespace ako::profiles {
namespace {

using base::ErrorKind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "faults.cu:15": the file's name, and the number in `line`; empty when it is no place.
std::string place_of(std::string_view text, int& line) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const auto [end, error] =
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), line);
  if (error != std::errc() || end == text.data() + colon + 1) return line = 0, std::string();
  return std::string(text.substr(0, colon));
}

/// "k<float>(float*)<<<(5,1,1),(256,1,1)>>> (x=0x7f, n=3)": the function as it is written.
std::string function_of(std::string_view text) {
  text = text.substr(0, text.find("<<<"));
  // Arguments with their values stand behind a blank; those of a signature do not.
  if (const std::size_t values = text.rfind(" ("); values != std::string_view::npos)
    text = text.substr(0, values);
  return std::string(trim(text));
}

/// "#0  0x00007f in k<<<...>>> (...) at k.cu:15".
Frame frame_of(std::string_view text) {
  Frame frame;
  text = trim(text);
  if (text.starts_with("0x"))
    if (const std::size_t in = text.find(" in "); in != std::string_view::npos)
      text = text.substr(in + 4);
  const std::size_t at = text.rfind(" at ");
  if (at != std::string_view::npos) frame.file = place_of(trim(text.substr(at + 4)), frame.line);
  std::string_view head = text.substr(0, at);
  if (const std::size_t from = head.rfind(" from "); from != std::string_view::npos)
    head = head.substr(0, from);
  frame.function = function_of(head);
  return frame;
}

/// The "(...)" behind a word such as "thread ".
std::string behind(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + word.size());
  const std::size_t close = rest.find(')');
  return close == std::string_view::npos ? std::string() : std::string(rest.substr(0, close + 1));
}

constexpr std::string_view k_refusals[] = {
    "ptrace: Operation not permitted",       "Could not trace the inferior process",
    "The CUDA driver failed initialization", "failed to initialize the debugger back",
    "cannot be used while debugging",        "CUDA Debugger API is not available",
    "Another debugger is already attached",  "No CUDA capable device was found",
    "debugger cannot be attached",
};

class TraceReader {
public:
  void take(std::string_view line) {
    if (line.starts_with('#') && line.size() > 1 && is_digit(line[1])) begin_frame(line);
    else if (m_open && line.starts_with("    ")) m_frame += " " + std::string(trim(line));
    else take_other(line);
  }

  base::Expected<Backtrace> finish(const std::string& where) {
    close_frame();
    if (!m_refused.empty() && m_out.signal.empty())
      return base::fail(ErrorKind::environment, "the debugger cannot work on this machine",
                        {.where = where,
                         .found = m_refused,
                         .allowed = {},
                         .next = "let it trace and use the device: CAP_SYS_PTRACE, a device that "
                                 "no other debugger holds"});
    if (m_ran) return std::move(m_out);
    return base::fail(ErrorKind::invalid, "no output of a debugger that ran a program",
                      {.where = where,
                       .found = "neither a signal, nor a frame, nor an end",
                       .allowed = "what cuda-gdb --batch -ex run -ex bt prints",
                       .next = "run it again and keep what it prints"});
  }

private:
  void begin_frame(std::string_view line) {
    close_frame();
    m_open = m_ran = true;
    std::size_t at = 1;
    while (at < line.size() && is_digit(line[at])) ++at;
    m_frame = std::string(trim(line.substr(at)));
  }

  void close_frame() {
    constexpr std::size_t k_most = 256;
    if (std::exchange(m_open, false) && m_out.frames.size() < k_most)
      m_out.frames.push_back(frame_of(m_frame));
    m_frame.clear();
  }

  void take_other(std::string_view line) {
    close_frame();
    for (const std::string_view refusal : k_refusals)
      if (m_refused.empty() && line.find(refusal) != std::string_view::npos)
        m_refused = std::string(line.substr(0, 300));
    if (line.find("received signal ") != std::string_view::npos ||
        line.starts_with("Program terminated with signal "))
      take_signal(line);
    else if (line.find("Switching focus to CUDA kernel") != std::string_view::npos)
      take_focus(line);
    else if (line.starts_with("The exception was triggered at PC ")) take_trigger(line);
    else if (line.starts_with("Illegal access to address ")) take_address(line);
    else if (line.starts_with("[Inferior ")) take_end(line);
  }

  void take_signal(std::string_view line) {
    m_ran = true;
    if (!m_out.signal.empty()) return; // the first is the cause
    line = line.substr(line.find("signal ") + 7);
    const std::size_t comma = line.find(", ");
    m_out.signal = std::string(line.substr(0, comma));
    if (comma != std::string_view::npos) m_out.text = std::string(line.substr(comma + 2));
    for (std::string* text : {&m_out.signal, &m_out.text})
      if (text->ends_with('.')) text->pop_back();
    m_out.on_device = m_out.signal.starts_with("CUDA_EXCEPTION");
  }

  void take_focus(std::string_view line) {
    if (!m_out.thread.empty()) return;
    m_out.block = behind(line, "block "), m_out.thread = behind(line, "thread ");
  }

  void take_trigger(std::string_view line) {
    const std::size_t open = line.rfind('('), close = line.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
    m_out.trigger_file = place_of(line.substr(open + 1, close - open - 1), m_out.trigger_line);
  }

  void take_address(std::string_view line) {
    line.remove_prefix(std::string_view("Illegal access to address ").size());
    m_out.address = std::string(line.substr(0, line.find(' ')));
  }

  void take_end(std::string_view line) {
    if (line.find("exited") == std::string_view::npos) return;
    m_ran = true;
    const std::size_t code = line.find("exited with code ");
    if (code == std::string_view::npos) return;
    line.remove_prefix(code + 17);
    std::from_chars(line.data(), line.data() + line.size(), m_out.exit_code, 8); // gdb says octal
  }

  Backtrace m_out;
  std::string m_frame, m_refused;
  bool m_open = false, m_ran = false;
};

} // namespace

base::Expected<Backtrace> read_backtrace(std::string_view text, const std::string& where) {
  TraceReader reader;
  each_line(text, [&](std::string_view line) { reader.take(line); });
  return reader.finish(where);
}

} // namespace ako::profiles
