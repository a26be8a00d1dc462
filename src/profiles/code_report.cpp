#include "profiles/code_report.hpp"

#include "profiles/names.hpp"
#include "profiles/ptx.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::profiles {

using base::Expected;
using base::Json;

namespace {

template <class Read> std::optional<Expected<CodeText>> as_code(Read read) {
  if (!read) return Expected<CodeText>(tl::unexpected(read.error()));
  return Expected<CodeText>(CodeText(std::move(*read)));
}

Json widths(const std::map<int, std::int64_t>& counts) {
  Json all = Json::object();
  for (const auto& [bits, count] : counts) all[std::to_string(bits)] = count;
  return all;
}

std::string widths_text(const std::map<int, std::int64_t>& counts) {
  std::string out;
  for (const auto& [bits, count] : counts)
    out += fmt::format("{}{} x {} bit", out.empty() ? "" : ", ", count, bits);
  return out.empty() ? "none" : out;
}

std::string hottest_text(const CodeFunction& f) {
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [place, count] : f.lines) order.emplace_back(count, place);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(5, order.size()); ++i)
    out += fmt::format("{}{} {}", i ? ", " : "", order[i].second, order[i].first);
  return out.empty() ? out : "  lines with the most instructions: " + out + "\n";
}

std::string local_text(const CodeFunction& f) {
  const std::int64_t all = f.local_loads + f.local_stores;
  if (all == 0 && f.local_bytes == 0) return {};
  std::string out;
  if (f.local_bytes > 0) out += fmt::format(": {} bytes of arrays", f.local_bytes);
  if (f.local_fixed > 0)
    out += fmt::format(": {} at fixed places (spills, or constant indices)", f.local_fixed);
  if (f.bytes > 0 && all > f.local_fixed)
    out += fmt::format("{} {} at places that are computed: arrays that are indexed",
                       f.local_fixed > 0 ? "," : ":", all - f.local_fixed);
  return out;
}

std::string text_of(const CodeFunction& f) {
  std::string out = f.name + (f.target.empty() ? "" : ", " + f.target);
  out += f.bytes > 0 ? fmt::format("\n  {} instructions, {} bytes\n", f.instructions, f.bytes)
                     : fmt::format("\n  {} instructions of PTX\n", f.instructions);
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [opcode, count] : f.opcodes) order.emplace_back(count, opcode);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  out += "  most:";
  for (std::size_t i = 0; i < std::min<std::size_t>(8, order.size()); ++i)
    out += fmt::format(" {} {}", order[i].second, order[i].first);
  out += fmt::format("\n  global loads {}; stores {}\n", widths_text(f.load_bits),
                     widths_text(f.store_bits));
  out += fmt::format("  tensor {} (wgmma {}), TMA {}, async copies {}, atomics {}, barriers {}, "
                     "branches {}, special functions {}\n",
                     f.tensor, f.wgmma, f.tma, f.async_copy, f.atomics, f.barriers, f.branches,
                     f.special);
  out += fmt::format("  shared loads {}, stores {}; local loads {}, stores {}{}\n", f.shared_loads,
                     f.shared_stores, f.local_loads, f.local_stores, local_text(f));
  out += hottest_text(f);
  return out;
}

Json json_of(const CodeFunction& f) {
  return {{"name", f.name},
          {"instructions", f.instructions},
          {"bytes", f.bytes},
          {"opcodes", f.opcodes},
          {"global_loads_by_bits", widths(f.load_bits)},
          {"global_stores_by_bits", widths(f.store_bits)},
          {"tensor", f.tensor},
          {"wgmma", f.wgmma},
          {"tma", f.tma},
          {"async_copies", f.async_copy},
          {"atomics", f.atomics},
          {"barriers", f.barriers},
          {"branches", f.branches},
          {"special_functions", f.special},
          {"shared_loads", f.shared_loads},
          {"shared_stores", f.shared_stores},
          {"local_loads", f.local_loads},
          {"local_stores", f.local_stores},
          {"local_at_fixed_places", f.local_fixed},
          {"local_array_bytes", f.local_bytes},
          {"target", f.target},
          {"instructions_by_line", f.lines}};
}

std::string text_of(const ResourceUse& use) {
  return fmt::format(
      "{} {}: {} registers, {} B shared, {} B stack, {} B spilled by stores and {} B "
      "by loads\n",
      use.function, use.architecture, use.registers, use.shared_bytes, use.stack_bytes,
      use.spill_store_bytes, use.spill_load_bytes);
}

Json json_of(const ResourceUse& use) {
  return {{"function", use.function},
          {"architecture", use.architecture},
          {"registers", use.registers},
          {"barriers", use.barriers},
          {"stack_bytes", use.stack_bytes},
          {"spill_store_bytes", use.spill_store_bytes},
          {"spill_load_bytes", use.spill_load_bytes},
          {"shared_bytes", use.shared_bytes},
          {"constant_bytes", use.constant_bytes}};
}

std::string text_of(const SanitizerReport& report) {
  std::string out;
  for (const SanitizerFinding& each : report.findings) {
    out += fmt::format("{}{}: {}\n",
                       each.file.empty() ? "" : fmt::format("{}:{}: ", each.file, each.line),
                       to_string(each.kind), each.text);
    if (!each.function.empty()) out += "  in " + each.function;
    if (!each.function.empty() && !each.thread.empty())
      out += fmt::format(", thread {} of block {}", each.thread, each.block);
    if (each.times > 1) out += fmt::format(", {} times", each.times);
    if (!each.function.empty() || each.times > 1) out += "\n";
  }
  return out + (report.errors < 0 ? std::string("the run was cut off: no summary\n")
                                  : fmt::format("{} errors\n", report.errors));
}

Json json_of(const SanitizerReport& report) {
  Json findings = Json::array();
  for (const SanitizerFinding& each : report.findings)
    findings.push_back({{"kind", to_string(each.kind)},
                        {"text", each.text},
                        {"function", each.function},
                        {"file", each.file},
                        {"line", each.line},
                        {"thread", each.thread},
                        {"block", each.block},
                        {"times", each.times}});
  return {{"findings", std::move(findings)},
          {"errors", report.errors < 0 ? Json() : Json(report.errors)}};
}

std::string text_of(const Backtrace& trace) {
  if (trace.signal.empty())
    return fmt::format("the program ended by itself, exit {}\n", trace.exit_code);
  std::string out = trace.signal + (trace.text.empty() ? "" : ": " + trace.text);
  if (!trace.address.empty()) out += ", at address " + trace.address;
  out += "\n";
  if (!trace.trigger_file.empty())
    out += fmt::format("  raised at {}:{}\n", trace.trigger_file, trace.trigger_line);
  if (!trace.thread.empty())
    out += fmt::format("  thread {} of block {}\n", trace.thread, trace.block);
  for (std::size_t i = 0; i < trace.frames.size(); ++i) {
    const Frame& frame = trace.frames[i];
    out += fmt::format("  #{} {}{}\n", i, frame.function,
                       frame.file.empty() ? "" : fmt::format(" at {}:{}", frame.file, frame.line));
  }
  return out;
}

Json json_of(const Backtrace& trace) {
  Json frames = Json::array();
  for (const Frame& frame : trace.frames)
    frames.push_back({{"function", frame.function}, {"file", frame.file}, {"line", frame.line}});
  return {{"signal", trace.signal},
          {"text", trace.text},
          {"on_device", trace.on_device},
          {"thread", trace.thread},
          {"block", trace.block},
          {"address", trace.address},
          {"raised_in", trace.trigger_file},
          {"raised_at_line", trace.trigger_line},
          {"exit_code", trace.exit_code},
          {"frames", std::move(frames)}};
}

std::vector<std::string> changes(const CodeFunction& before, const CodeFunction& after) {
  return diff_code(before, after);
}

std::vector<std::string> changes(const ResourceUse& before, const ResourceUse& after) {
  std::vector<std::string> out;
  auto compare = [&](const char* what, std::int64_t a, std::int64_t b) {
    if (a != b) out.push_back(fmt::format("{} {} -> {}", what, a, b));
  };
  compare("registers", before.registers, after.registers);
  compare("spilled bytes, stores", before.spill_store_bytes, after.spill_store_bytes);
  compare("spilled bytes, loads", before.spill_load_bytes, after.spill_load_bytes);
  compare("shared bytes", before.shared_bytes, after.shared_bytes);
  compare("stack bytes", before.stack_bytes, after.stack_bytes);
  compare("barriers", before.barriers, after.barriers);
  return out;
}

const std::string& name_of(const CodeFunction& f) { return f.name; }
const std::string& name_of(const ResourceUse& use) { return use.function; }

template <class T>
CodeDelta lists_delta(const std::vector<T>& before, const std::vector<T>& after) {
  CodeDelta delta;
  if (before.size() == 1 && after.size() == 1) {
    delta.functions.push_back({name_of(after[0]), changes(before[0], after[0])});
    return delta;
  }
  auto find = [](const std::vector<T>& in, const std::string& name) {
    return std::find_if(in.begin(), in.end(), [&](const T& one) { return name_of(one) == name; });
  };
  for (const T& one : after) {
    auto old = find(before, name_of(one));
    if (old == before.end()) delta.only_after.push_back(name_of(one));
    else delta.functions.push_back({name_of(one), changes(*old, one)});
  }
  for (const T& one : before)
    if (find(after, name_of(one)) == after.end()) delta.only_before.push_back(name_of(one));
  return delta;
}

} // namespace

std::optional<Expected<CodeText>> read_code_text(std::string_view text, const std::string& where) {
  auto says = [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; };
  if (text.starts_with("========= ") || says("\n========= "))
    return as_code(read_sanitizer(text, where));
  if (says("Function : ") || (says("\n.text.") && says("/*0000*/")))
    return as_code(read_sass(text, where));
  if (says(".version") && says(".target sm_")) {
    auto functions = read_ptx(text, where);
    if (!functions) return Expected<CodeText>(tl::unexpected(functions.error()));
    return Expected<CodeText>(CodeText(Ptx{std::move(*functions)}));
  }
  if (says(" received signal ") || says("[Inferior 1 ("))
    return as_code(read_backtrace(text, where));
  if (says("ptxas info") || says("REG:")) return as_code(read_resources(text, where));
  return std::nullopt;
}

std::string to_text(const CodeText& code) {
  std::string out;
  if (const auto* functions = std::get_if<Disassembly>(&code))
    for (const CodeFunction& one : *functions) out += text_of(one);
  if (const auto* ptx = std::get_if<Ptx>(&code))
    for (const CodeFunction& one : ptx->functions) out += text_of(one);
  if (const auto* trace = std::get_if<Backtrace>(&code)) out = text_of(*trace);
  if (const auto* resources = std::get_if<Resources>(&code))
    for (const ResourceUse& one : *resources) out += text_of(one);
  if (const auto* report = std::get_if<SanitizerReport>(&code)) out = text_of(*report);
  return out;
}

base::Json to_json(const CodeText& code) {
  if (const auto* report = std::get_if<SanitizerReport>(&code))
    return {{"sanitizer", json_of(*report)}};
  if (const auto* trace = std::get_if<Backtrace>(&code)) return {{"backtrace", json_of(*trace)}};
  Json all = Json::array();
  if (const auto* ptx = std::get_if<Ptx>(&code)) {
    for (const CodeFunction& one : ptx->functions) all.push_back(json_of(one));
    return {{"ptx", std::move(all)}};
  }
  if (const auto* functions = std::get_if<Disassembly>(&code)) {
    for (const CodeFunction& one : *functions) all.push_back(json_of(one));
    return {{"functions", std::move(all)}};
  }
  for (const ResourceUse& one : std::get<Resources>(code)) all.push_back(json_of(one));
  return {{"resources", std::move(all)}};
}

Expected<CodeDelta> code_delta(const CodeText& before, const CodeText& after) {
  if (const auto* old = std::get_if<Disassembly>(&before))
    if (const auto* fresh = std::get_if<Disassembly>(&after)) return lists_delta(*old, *fresh);
  if (const auto* old = std::get_if<Ptx>(&before))
    if (const auto* fresh = std::get_if<Ptx>(&after))
      return lists_delta(old->functions, fresh->functions);
  if (const auto* old = std::get_if<Resources>(&before))
    if (const auto* fresh = std::get_if<Resources>(&after)) return lists_delta(*old, *fresh);
  return base::fail(base::ErrorKind::invalid, "these two cannot be compared",
                    {.where = "--against",
                     .found = {},
                     .allowed = "two disassemblies, two PTX texts, or two resource reports",
                     .next = "make both with the same tool"});
}

std::string to_text(const CodeDelta& delta) {
  std::string out;
  for (const auto& function : delta.functions) {
    out += function.name + (function.changes.empty() ? ": nothing changed\n" : "\n");
    for (const std::string& change : function.changes) out += "  " + change + "\n";
  }
  for (const std::string& name : delta.only_before) out += "only before: " + name + "\n";
  for (const std::string& name : delta.only_after) out += "only after: " + name + "\n";
  return out;
}

std::string summary(const CodeDelta& delta, std::size_t most) {
  std::string out;
  for (const auto& function : delta.functions) {
    if (function.changes.empty()) continue;
    std::string line;
    for (std::size_t i = 0; i < std::min(most, function.changes.size()); ++i)
      line += (i ? ", " : "") + function.changes[i];
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", short_name(function.name), line);
  }
  for (const std::string& name : delta.only_before)
    out += fmt::format("{}{} is gone", out.empty() ? "" : "; ", short_name(name));
  for (const std::string& name : delta.only_after)
    out += fmt::format("{}{} is new", out.empty() ? "" : "; ", short_name(name));
  return out;
}

base::Json to_json(const CodeDelta& delta) {
  Json functions = Json::array();
  for (const auto& function : delta.functions)
    functions.push_back({{"name", function.name}, {"changes", function.changes}});
  return {{"functions", std::move(functions)},
          {"only_before", delta.only_before},
          {"only_after", delta.only_after}};
}

} // namespace ako::profiles
