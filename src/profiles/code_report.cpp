#include "profiles/code_report.hpp"

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

std::string text_of(const SassFunction& f) {
  std::string out =
      fmt::format("{}\n  {} instructions, {} bytes\n", f.name, f.instructions, f.bytes);
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
  out +=
      fmt::format("  shared loads {}, stores {}; local loads {}, stores {}{}\n", f.shared_loads,
                  f.shared_stores, f.local_loads, f.local_stores,
                  f.local_loads + f.local_stores > 0 ? ": spills, or arrays that are indexed" : "");
  return out;
}

Json json_of(const SassFunction& f) {
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
          {"local_stores", f.local_stores}};
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

std::vector<std::string> changes(const SassFunction& before, const SassFunction& after) {
  return diff_sass(before, after);
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

const std::string& name_of(const SassFunction& f) { return f.name; }
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
  if (says("ptxas info") || says("REG:")) return as_code(read_resources(text, where));
  return std::nullopt;
}

std::string to_text(const CodeText& code) {
  std::string out;
  if (const auto* functions = std::get_if<Disassembly>(&code))
    for (const SassFunction& one : *functions) out += text_of(one);
  if (const auto* resources = std::get_if<Resources>(&code))
    for (const ResourceUse& one : *resources) out += text_of(one);
  if (const auto* report = std::get_if<SanitizerReport>(&code)) out = text_of(*report);
  return out;
}

base::Json to_json(const CodeText& code) {
  if (const auto* report = std::get_if<SanitizerReport>(&code))
    return {{"sanitizer", json_of(*report)}};
  Json all = Json::array();
  if (const auto* functions = std::get_if<Disassembly>(&code)) {
    for (const SassFunction& one : *functions) all.push_back(json_of(one));
    return {{"functions", std::move(all)}};
  }
  for (const ResourceUse& one : std::get<Resources>(code)) all.push_back(json_of(one));
  return {{"resources", std::move(all)}};
}

Expected<CodeDelta> code_delta(const CodeText& before, const CodeText& after) {
  if (const auto* old = std::get_if<Disassembly>(&before))
    if (const auto* fresh = std::get_if<Disassembly>(&after)) return lists_delta(*old, *fresh);
  if (const auto* old = std::get_if<Resources>(&before))
    if (const auto* fresh = std::get_if<Resources>(&after)) return lists_delta(*old, *fresh);
  return base::fail(base::ErrorKind::invalid, "these two cannot be compared",
                    {.where = "--against",
                     .found = {},
                     .allowed = "two disassemblies, or two resource reports",
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

base::Json to_json(const CodeDelta& delta) {
  Json functions = Json::array();
  for (const auto& function : delta.functions)
    functions.push_back({{"name", function.name}, {"changes", function.changes}});
  return {{"functions", std::move(functions)},
          {"only_before", delta.only_before},
          {"only_after", delta.only_after}};
}

} // namespace ako::profiles
