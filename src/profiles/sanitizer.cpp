#include "profiles/sanitizer.hpp"

#include <algorithm>
#include <charconv>

namespace ako::profiles {
namespace {

using base::ErrorKind;

FaultKind kind_of_text(std::string_view text) {
  auto says = [&](std::string_view what) { return text.find(what) != std::string_view::npos; };
  if (says("Race reported") || says("hazard")) return FaultKind::race;
  if (says("Uninitialized")) return FaultKind::uninitialised;
  if (says("Misaligned") || says("misaligned")) return FaultKind::misaligned;
  if (says("Invalid __")) return FaultKind::out_of_bounds;
  if (says("Barrier error") || says("Divergent thread") || says("barrier"))
    return FaultKind::synchronisation;
  if (says("Leaked")) return FaultKind::leak;
  if (says("Program hit")) return FaultKind::api_error;
  return FaultKind::other;
}

bool begins_finding(std::string_view text) {
  for (std::string_view start :
       {"Invalid __", "Uninitialized", "Error: Race", "Warning: Race", "Race reported",
        "Barrier error", "Misaligned", "Leaked", "Program hit", "Divergent"})
    if (text.starts_with(start)) return true;
  return false;
}

/// "at kernel(float *)+0xc0 in faults.cu:15": function, file and line.
void take_place(std::string_view text, SanitizerFinding& finding) {
  std::size_t at = text.find("at ");
  if (at == std::string_view::npos) return;
  std::string_view place = text.substr(at + 3);
  std::size_t in = place.rfind(" in ");
  std::string_view function = place.substr(0, in);
  if (std::size_t offset = function.rfind("+0x"); offset != std::string_view::npos)
    function = function.substr(0, offset);
  finding.function = function;
  if (in == std::string_view::npos) return;
  std::string_view where = place.substr(in + 4);
  where = where.substr(0, where.find(" ["));
  std::size_t colon = where.rfind(':');
  finding.file = where.substr(0, colon);
  if (colon != std::string_view::npos)
    std::from_chars(where.data() + colon + 1, where.data() + where.size(), finding.line);
}

void take_detail(std::string_view text, SanitizerFinding& finding) {
  if (text.starts_with("at ") && finding.function.empty()) take_place(text, finding);
  if (text.starts_with("and ") && finding.kind == FaultKind::race)
    finding.text += "; " + std::string(text);
  if (text.starts_with("by thread ") && finding.thread.empty()) {
    std::size_t block = text.find(" in block ");
    finding.thread = text.substr(10, block == std::string_view::npos ? block : block - 10);
    if (block != std::string_view::npos) finding.block = text.substr(block + 10);
  }
  if (text.starts_with("Access to ") || text.starts_with("Address ") ||
      text.starts_with("and is ")) {
    if (!finding.address_text.empty()) finding.address_text += ' ';
    finding.address_text += text;
  }
}

bool same_place(const SanitizerFinding& a, const SanitizerFinding& b) {
  return a.kind == b.kind && a.function == b.function && a.file == b.file && a.line == b.line;
}

} // namespace

const char* to_string(FaultKind kind) {
  switch (kind) {
  case FaultKind::out_of_bounds: return "out of bounds";
  case FaultKind::misaligned: return "misaligned";
  case FaultKind::race: return "race";
  case FaultKind::uninitialised: return "uninitialised";
  case FaultKind::synchronisation: return "synchronisation";
  case FaultKind::leak: return "leak";
  case FaultKind::api_error: return "API error";
  case FaultKind::other: return "other";
  }
  return "?";
}

base::Expected<SanitizerReport> read_sanitizer(std::string_view text, const std::string& where) {
  constexpr std::string_view k_mark = "=========";
  SanitizerReport report;
  bool any = false, open = false;
  SanitizerFinding current;
  auto close = [&] {
    if (!std::exchange(open, false)) return;
    auto known = std::find_if(report.findings.begin(), report.findings.end(),
                              [&](const auto& f) { return same_place(f, current); });
    if (known != report.findings.end()) ++known->times;
    else report.findings.push_back(std::move(current));
  };
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.starts_with(k_mark)) continue;
    any = true;
    line.remove_prefix(k_mark.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find("Device not supported") != std::string_view::npos || line.find("Unable to") == 0)
      return base::fail(
          ErrorKind::environment, "compute-sanitizer cannot work on this machine",
          {where, std::string(line), "", "run it where the device is visible without a sandbox"});
    if (std::size_t at = line.find("SUMMARY: "); at != std::string_view::npos) {
      close();
      std::string_view number = line.substr(at + 9);
      std::int64_t value = 0;
      if (report.errors < 0 &&
          std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc())
        report.errors = value;
    } else if (begins_finding(line)) {
      close();
      open = true;
      current = {};
      current.text = line;
      current.kind = kind_of_text(line);
      if (current.kind == FaultKind::race) take_place(line, current);
    } else if (open && line.empty()) {
      close();
    } else if (open) {
      take_detail(line, current);
    }
  }
  close();
  if (!any)
    return base::fail(ErrorKind::invalid, "no output of compute-sanitizer",
                      {where, "no line beginning with =========", "its text output",
                       "run the tool again and keep what it prints"});
  return report;
}

} // namespace ako::profiles
