#include "profiles/sass.hpp"

#include "profiles/lines.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ako::profiles {

using base::ErrorKind;
using base::Expected;

namespace {

int width_of(const std::string_view opcode) {
  for (auto [mark, bits] :
       {std::pair{".128", 128}, {".64", 64}, {".U8", 8}, {".S8", 8}, {".U16", 16}, {".S16", 16}})
    if (std::size_t at = opcode.find(mark); at != std::string_view::npos) {
      std::size_t behind = at + std::string_view(mark).size();
      if (behind == opcode.size() || opcode[behind] == '.') return bits;
    }
  return 32;
}

void count(CodeFunction& f, std::string_view opcode) {
  ++f.instructions;
  std::string_view stem = opcode.substr(0, opcode.find('.'));
  ++f.opcodes[std::string(stem)];
  auto in = [&](std::initializer_list<std::string_view> all) {
    return std::find(all.begin(), all.end(), stem) != all.end();
  };
  if (stem == "LDG") ++f.load_bits[width_of(opcode)];
  if (stem == "STG") ++f.store_bits[width_of(opcode)];
  if (stem.ends_with("GMMA")) ++f.wgmma;
  if (stem.ends_with("MMA") || stem.ends_with("MMA2")) ++f.tensor;
  if (stem.starts_with("UTMA") || stem == "UBLKCP") ++f.tma;
  if (stem == "LDGSTS") ++f.async_copy;
  if (in({"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDUX"})) ++f.atomics;
  if (in({"BAR", "SYNCS"})) ++f.barriers;
  if (in({"BRA", "BRX", "JMP", "JMX", "BRXU", "CALL", "RET"})) ++f.branches;
  if (stem == "MUFU") ++f.special;
  if (stem == "LDL") ++f.local_loads;
  if (stem == "STL") ++f.local_stores;
  if (in({"LDS", "LDSM"})) ++f.shared_loads;
  if (in({"STS", "STSM"})) ++f.shared_stores;
}

/// Spills, and what a call saves, lie at fixed places of the stack, whose pointer is R1; an array
/// that is indexed is reached through another register, but for what it has at constant indices.
bool at_fixed_place(std::string_view line) {
  const std::size_t open = line.find('[');
  if (open == std::string_view::npos) return false;
  const std::string_view place = line.substr(open + 1);
  return place.starts_with("R1]") || place.starts_with("R1+");
}

/// nvdisasm -g: //## File "/a/k.cu", line 15 inlined at "/a/k.cu", line 40
std::string line_mark(std::string_view line) {
  constexpr std::string_view k_file = "//## File \"", k_line = "\", line ";
  const std::size_t at = line.find(k_file);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + k_file.size());
  const std::size_t end = line.find(k_line);
  if (end == std::string_view::npos) return {};
  const std::string_view number = line.substr(end + k_line.size());
  return fmt::format("{}:{}", line.substr(0, end),
                     number.substr(0, number.find_first_not_of("0123456789")));
}

/// "/*0010*/  @!P0 LDG.E.128 R4, ... ;  /* 0x... */": the opcode, and the address in `at`. Empty:
/// no instruction.
std::string_view opcode_of(std::string_view line, std::int64_t& at) {
  line = trim(line);
  if (!line.starts_with("/*")) return {};
  std::size_t close = line.find("*/");
  if (close == std::string_view::npos || close < 6 || line[2] == ' ') return {};
  auto [end, error] = std::from_chars(line.data() + 2, line.data() + close, at, 16);
  if (error != std::errc() || end != line.data() + close || at < 0) return {};
  line = trim(line.substr(close + 2));
  if (line.starts_with('{')) line = trim(line.substr(1));
  if (line.starts_with('@')) {
    std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return {};
    line = trim(line.substr(blank));
  }
  std::string_view opcode = line.substr(0, line.find_first_of(" ;"));
  if (opcode.empty() || opcode[0] < 'A' || opcode[0] > 'Z') return {};
  return opcode;
}

std::int64_t count_before(std::string_view line, std::string_view word) {
  std::size_t at = line.find(word);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::int64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

std::int64_t count_after(std::string_view line, std::string_view word) {
  std::size_t at = line.find(word);
  if (at == std::string_view::npos) return 0;
  std::int64_t value = 0;
  std::from_chars(line.data() + at + word.size(), line.data() + line.size(), value);
  return value;
}

std::string quoted(std::string_view line) {
  std::size_t open = line.find('\''),
              close = open == std::string_view::npos ? open : line.find('\'', open + 1);
  return close == std::string_view::npos ? std::string()
                                         : std::string(line.substr(open + 1, close - open - 1));
}

} // namespace

Expected<std::vector<CodeFunction>> read_sass(std::string_view text, const std::string& where) {
  std::vector<CodeFunction> all;
  std::string mark, target;
  auto begin = [&](std::string_view name) {
    all.emplace_back().name = name;
    all.back().target = target;
    mark.clear();
  };
  each_line(text, [&](std::string_view line) {
    std::string_view bare = trim(line);
    if (bare.starts_with("Function :")) {
      begin(trim(bare.substr(10)));
    } else if (bare.starts_with(".text.") && bare.ends_with(":")) {
      begin(bare.substr(6, bare.size() - 7));
    } else if (bare.starts_with("arch = ") || bare.starts_with("code for sm_")) {
      target =
          bare.substr(bare.find("sm_") == std::string_view::npos ? bare.size() : bare.find("sm_"));
    } else if (bare.starts_with("//##")) {
      // Of several, inlined one into the other, the first is the innermost.
      if (std::string at = line_mark(bare); !at.empty()) mark = std::move(at);
    } else if (!all.empty()) {
      std::int64_t at = 0;
      std::string_view opcode = opcode_of(line, at);
      if (opcode.empty()) return;
      count(all.back(), opcode);
      if ((opcode.starts_with("LDL") || opcode.starts_with("STL")) && at_fixed_place(line))
        ++all.back().local_fixed;
      if (!mark.empty()) ++all.back().lines[mark];
      all.back().bytes = std::max(all.back().bytes, at + 16);
    }
  });
  if (all.empty())
    return base::fail(ErrorKind::invalid, "no disassembled function",
                      {where, "no line 'Function :'", "output of cuobjdump --dump-sass",
                       "disassemble the library that was loaded"});
  return all;
}

Expected<std::vector<ResourceUse>> read_resources(std::string_view text, const std::string& where) {
  std::vector<ResourceUse> all;
  std::string architecture;
  each_line(text, [&](std::string_view line) {
    if (line.find("Compiling entry function") != std::string_view::npos) {
      ResourceUse& use = all.emplace_back();
      use.function = quoted(line);
      std::size_t target = line.find("for '");
      if (target != std::string_view::npos) use.architecture = quoted(line.substr(target));
    } else if (line.starts_with("arch = ")) {
      architecture = trim(line.substr(7));
    } else if (std::string_view bare = trim(line);
               bare.starts_with("Function ") && bare.ends_with(':')) {
      all.push_back(
          {std::string(bare.substr(9, bare.size() - 10)), architecture, 0, 0, 0, 0, 0, 0, 0});
    } else if (!all.empty() && line.find("REG:") != std::string_view::npos) {
      ResourceUse& use = all.back();
      use.registers = static_cast<int>(count_after(line, "REG:")),
      use.stack_bytes = count_after(line, "STACK:");
      use.shared_bytes = count_after(line, "SHARED:"),
      use.constant_bytes = count_after(line, "CONSTANT[0]:");
    } else if (!all.empty() && line.find("bytes stack frame") != std::string_view::npos) {
      ResourceUse& use = all.back();
      use.stack_bytes = count_before(line, " bytes stack frame");
      use.spill_store_bytes = count_before(line, " bytes spill stores"),
      use.spill_load_bytes = count_before(line, " bytes spill loads");
    } else if (!all.empty() && line.find("Used ") != std::string_view::npos) {
      ResourceUse& use = all.back();
      use.registers = static_cast<int>(count_before(line, " registers")),
      use.barriers = static_cast<int>(count_before(line, " barriers"));
      use.shared_bytes = count_before(line, " bytes smem"),
      use.constant_bytes = count_before(line, " bytes cmem[0]");
    }
  });
  if (all.empty())
    return base::fail(ErrorKind::invalid, "no resource report",
                      {where, "no function in it", "output of ptxas -v or cuobjdump -res-usage",
                       "compile with -Xptxas -v"});
  return all;
}

} // namespace ako::profiles
