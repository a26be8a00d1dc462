#include "drive/agent.hpp"

#include "base/json.hpp"
#include "drive/alone.hpp"
#include "drive/confine.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <regex>
#include <sstream>
#include <unistd.h>

namespace ako::drive {
namespace {

namespace fs = base::fs;

constexpr std::size_t k_kept_output = 1u << 20;
constexpr std::uint64_t k_largest_file = 1u << 30;
constexpr int k_rules_fd = 3;
/// What the pattern sees of a line at once, for std::regex recurses; and how much of it before and
/// after a number it surely sees.
constexpr std::size_t k_window = 4096, k_margin = 256;
constexpr const char *k_out = "out", *k_err = "err";

/// The last part of a file.
std::string tail_of(const fs::path& path, std::size_t most) {
  base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return {};
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size <= 0) return {};
  const auto bytes = std::min(static_cast<std::size_t>(size), most);
  std::string out(bytes, '\0');
  const ssize_t got = ::pread(file.get(), out.data(), bytes, size - static_cast<off_t>(bytes));
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

std::vector<std::string> environment_of(const Turn& turn) {
  std::vector<std::string> out;
  const auto is_ours = [](const std::string& entry) {
    for (const char* name :
         {"TMPDIR=", "AKO_TURN=", "AKO_TASK=", "AKO_PROMPT_FILE=", "AKO_SCRATCH=",
          "AKO_UNATTENDED=", "XDG_CACHE_HOME=", "AKO_TURN_TOKEN="})
      if (entry.rfind(name, 0) == 0) return true;
    return false;
  };
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_ours(*entry)) out.emplace_back(*entry);
  const std::string scratch = turn.scratch.string();
  out.push_back("TMPDIR=" + scratch);
  out.push_back("XDG_CACHE_HOME=" + scratch + "/cache");
  out.push_back("AKO_SCRATCH=" + scratch);
  out.push_back("AKO_PROMPT_FILE=" + scratch + "/prompt.md");
  out.push_back("AKO_TASK=" + turn.task.string());
  out.push_back(fmt::format("AKO_TURN={}", turn.number));
  out.push_back("AKO_UNATTENDED=1");
  out.push_back("AKO_TURN_TOKEN=" + turn.token);
  return out;
}

base::UniqueFd output_file(const fs::path& path) {
  return base::UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

} // namespace

Adapter adapter_for(const std::string& command) {
  if (command == "claude")
    return {"claude",
            {"claude", "-p", "--output-format", "json", "--permission-mode", "acceptEdits"},
            {"~/.claude", "~/.claude.json"},
            R"("total_cost_usd":\s*([0-9.eE+-]+))"};
  if (command == "codex")
    return {
        "codex",
        {"codex", "exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "-"},
        {"~/.codex"},
        ""};
  return {"command", {"/bin/sh", "-c", command}, {}, ""};
}

Printed printed_in(const fs::path& folder) {
  return {tail_of(folder / k_out, k_kept_output), tail_of(folder / k_err, k_kept_output)};
}

base::Expected<Heard> run_agent(const Adapter& adapter, const Turn& turn) {
  AKO_TRY_STATUS(base::write_file_atomic(turn.scratch / "prompt.md", turn.prompt));
  AKO_TRY_STATUS(base::make_dirs(turn.printed));
  const fs::path out_path = turn.printed / k_out, err_path = turn.printed / k_err;
  const base::UniqueFd out = output_file(out_path), err = output_file(err_path);
  if (!out || !err) return base::fail_errno("no file for what the agent prints", out_path, errno);
  base::CommandOptions options;
  options.argv = adapter.argv;
  options.env = environment_of(turn);
  options.cwd = turn.task.string();
  options.stdin_text = turn.prompt;
  options.deadline = base::Deadline::after_seconds(turn.deadline_seconds);
  options.stop = turn.stop;
  options.limits.file_bytes = k_largest_file;
  options.limits.core_bytes = 0;
  options.fds = {{out.get(), 1}, {err.get(), 2}};
  base::UniqueFd rules;
  if (turn.landlock) {
    std::vector<fs::path> writable = turn.free;
    writable.push_back(turn.scratch);
    AKO_TRY(rules, write_rules(writable));
    options.fds.emplace_back(rules.get(), k_rules_fd);
  }
  // Alone first: under the rules nothing can be mounted any more.
  options.before_exec = [alone = turn.alone, confined = turn.landlock] {
    if (alone && enter_alone() != 0) return 1;
    return confined ? enter_rules(k_rules_fd) : 0;
  };
  AKO_TRY(const base::CommandResult result, base::run_command(options));
  Heard heard;
  heard.ending = result.ending;
  heard.timed_out = result.timed_out;
  heard.seconds = static_cast<double>(result.wall_ns) / 1e9;
  heard.printed = printed_in(turn.printed);
  return heard;
}

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Without blanks and the marks of Markdown around it.
std::string bare(const std::string& text) {
  static const char* k_marks = " \t\r*_`>#-";
  const std::size_t from = text.find_first_not_of(k_marks);
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r*_`") - from + 1);
}

/// Of an agent that prints an event a line, as `codex exec --json` does.
void each_event(const std::string& out, const std::function<void(const base::Json&)>& take) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("{\"type\"", 0) != 0) continue;
    if (const auto event = base::parse_json(line, "event"); event && event->is_object())
      take(*event);
  }
}

/// What it says in such events; empty where there are none.
std::string messages_of(const std::string& out) {
  std::string text;
  each_event(out, [&](const base::Json& event) {
    const auto item = base::get_or<base::Json>(event, "item", base::Json::object());
    if (base::get_or<std::string>(item, "type", "") == "agent_message")
      text += base::get_or<std::string>(item, "text", "") + "\n";
  });
  return text;
}

/// The text of an answer that comes as events or as one JSON object, or as it is.
std::string answer_text(const std::string& out) {
  if (std::string text = messages_of(out); !text.empty()) return text;
  const std::size_t begin = out.find('{');
  if (begin == std::string::npos) return out;
  auto json = base::parse_json(std::string_view(out).substr(begin), "answer");
  if (!json || !json->is_object()) return out;
  return base::get_or<std::string>(*json, "result", out);
}

/// "12,345" as a number is written.
std::string without_groups(const std::string& text) {
  static const std::regex k_grouped("[0-9]{1,3}(,[0-9]{3})+(\\.[0-9]*)?");
  std::string out = text;
  if (text.size() < 40 && std::regex_match(text, k_grouped))
    out.erase(std::remove(out.begin(), out.end(), ','), out.end());
  return out;
}

std::optional<double> leading_number(std::string text) {
  while (!text.empty() && (text.front() == '+' || text.front() == ' ')) text.erase(0, 1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end != text.data() ? std::optional<double>(value) : std::nullopt;
}

} // namespace

Said read_answer(const std::string& out) {
  Said said;
  std::istringstream lines(answer_text(out));
  std::string line;
  while (std::getline(lines, line)) {
    const std::string text = bare(line);
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || colon > 20) continue;
    const std::string key = lower(bare(text.substr(0, colon)));
    const std::string value = bare(text.substr(colon + 1)).substr(0, 600);
    if (value.empty()) continue;
    if (key == "hypothesis") said.hypothesis = value;
    else if (key == "prediction") said.prediction = value;
    else if (key == "cites") said.cites = value;
    else if (key == "direction") said.direction = value;
    else if (key == "done") said.done = value;
    else if (key == "predict-gain" || key == "predicted gain" || key == "predict gain") {
      if (const auto percent = leading_number(value)) said.predicted_gain = *percent / 100;
    }
  }
  return said;
}

namespace {

/// The numbers of one line, each once: a window takes those that begin between its margins.
void read_numbers(const std::regex& pattern, const std::string& line,
                  const std::function<void(double)>& take) {
  for (std::size_t begin = 0, from = 0;;) {
    const std::size_t end = std::min(begin + k_window, line.size());
    const bool last = end == line.size();
    const std::size_t limit = last ? end : end - k_margin;
    auto flags = std::regex_constants::match_default;
    if (begin > 0) flags |= std::regex_constants::match_prev_avail;
    if (!last) flags |= std::regex_constants::match_not_eol;
    const auto first = line.begin() + static_cast<std::ptrdiff_t>(begin);
    for (std::sregex_iterator
             match(first, line.begin() + static_cast<std::ptrdiff_t>(end), pattern, flags),
         none;
         match != none; ++match) {
      if (!(*match)[1].matched) continue;
      const auto at = static_cast<std::size_t>((*match)[1].first - line.begin());
      if (at < from || at >= limit) continue;
      if (const auto number = leading_number(without_groups((*match)[1].str()));
          number && *number >= 0)
        take(*number);
    }
    if (last) return;
    from = limit;
    begin = limit - k_margin;
  }
}

/// Each turn of its own ends with what it used; what was cached is part of the input.
std::optional<double> price_of_tokens(const TokenPrices& prices, const std::string& text) {
  std::optional<double> out;
  each_event(text, [&](const base::Json& event) {
    if (base::get_or<std::string>(event, "type", "") != "turn.completed") return;
    const auto usage = base::get_or<base::Json>(event, "usage", base::Json::object());
    const auto tokens = [&](const char* key) {
      return std::max(0.0, base::get_or<double>(usage, key, 0.0));
    };
    const double input = tokens("input_tokens"),
                 cached = std::min(input, tokens("cached_input_tokens"));
    out = out.value_or(0) + (input - cached) * prices.input + cached * prices.cached +
          tokens("output_tokens") * prices.output;
  });
  return out;
}

} // namespace

std::optional<double> read_money(const Money& money, const std::string& text) {
  if (money.tokens.any()) return price_of_tokens(money.tokens, text);
  if (money.pattern.empty()) return std::nullopt;
  std::optional<double> out;
  const auto take = [&](double number) {
    out = money.sum ? out.value_or(0) + number * money.per : number * money.per;
  };
  try {
    const std::regex pattern(money.pattern, std::regex::ECMAScript);
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) read_numbers(pattern, line, take);
  } catch (const std::regex_error&) { // too deep for this text: nothing is known
    return std::nullopt;
  }
  return out;
}

} // namespace ako::drive
