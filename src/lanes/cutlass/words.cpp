#include "lanes/cutlass/words.hpp"

#include "lanes/native/unit.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::lanes::cutlass {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t k_long_text = 200;
constexpr int k_kept_depth = 2;

/// Words of a static assertion of CUTLASS, and what they mean.
struct Known {
  const char* key;
  const char* message;
  const char* allowed;
  const char* next;
};

constexpr const char* k_alignment = "an operand's alignment is below the 16 bytes that TMA needs";
constexpr const char* k_aligned = "alignments of 16 bytes, in elements: 8 of bfloat16, 16 of fp8";
constexpr const char* k_align_next =
    "raise the alignment, or take a schedule without TMA (KernelCpAsyncWarpSpecialized...) and "
    "declare the axis with the multiple_of that it needs";
constexpr const char* k_no_builder =
    "CUTLASS has no collective for this combination of types, layouts, tile, cluster and schedule";
constexpr const char* k_builders = "a combination that one of the builders takes; both schedules "
                                   "Auto, or both named and of one kind";
constexpr const char* k_builder_next =
    "check in this order: the schedule exists for the architecture's tag and the operands' types; "
    "fp8 operands are K-major (A row-major, B column-major); main loop and epilogue are both "
    "cooperative or both ping-pong; alignments are in elements";
constexpr const char* k_stages = "the tile and the epilogue leave no room for two stages in shared "
                                 "memory";

constexpr Known k_known[] = {
    {"TMA alignment requirement", k_alignment, k_aligned, k_align_next},
    {"Cooperative kernel requires Tile Size to be greater than or equal to 128",
     "the cooperative schedule shares a tile of at least 128 rows among two warpgroups",
     "tiles of 128 rows or more, or the ping-pong schedule from 64 rows on",
     "make the tile's first extent 128 or 256, or use KernelTmaWarpSpecializedPingpong with its "
     "epilogue"},
    {"Specialization requires Stages set to value", k_stages,
     "at least two stages of tile A and tile B beside the epilogue, 227 KiB in all on sm_90",
     "use a smaller tile or a shorter K extent, ElementC = void where there is no C, fewer "
     "auxiliary tensors in the visitor tree, or a smaller epilogue tile"},
    {"SMEM usage exceeded capacity", "the kernel wants more shared memory than a block can have",
     "main loop and epilogue together within 227 KiB on sm_90 and sm_100, 99 KiB on sm_120",
     "carve the epilogue out of the stages (StageCountAutoCarveout<sizeof(typename "
     "CollectiveEpilogue::SharedStorage)>), or use fewer stages or a smaller tile"},
    {"Auto schedule doesn't support fusion",
     "the epilogue's automatic schedule takes no fused operation",
     "both schedules named, of one kind",
     "use cutlass::epilogue::TmaWarpSpecializedCooperative with "
     "cutlass::gemm::KernelTmaWarpSpecializedCooperative, or the ping-pong pair"},
    {"Could not build a collective epilogue", k_no_builder, k_builders, k_builder_next},
    {"Could not build a collective for given parameters", k_no_builder, k_builders, k_builder_next},
    {"Could not find a builder specialization", k_no_builder, k_builders, k_builder_next},
    {"Could not find a mainloop specialization", k_no_builder, k_builders, k_builder_next},
    {"Could not find an epilogue specialization", k_no_builder, k_builders, k_builder_next},
    {"Unsupported Toolkit for SM90 Collective Builder",
     "this nvcc is too old for sm_90 collectives", "nvcc of CUDA 12.0 or newer",
     "name a newer nvcc in kernel.compiler"},
    {"calling a constexpr __host__ function",
     "a constexpr function of the host is called on the device",
     "--expt-relaxed-constexpr, which this lane gives by itself",
     "declare the function __host__ __device__, or take flags that undo the option out of "
     "kernel.flags"},
};

std::string row_at(const std::string& text, std::size_t at) {
  const std::size_t before = text.rfind('\n', at);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
}

/// What follows from it only repeats it.
std::string first_error(const std::string& said) {
  for (std::size_t at = said.find("error"); at != std::string::npos;
       at = said.find("error", at + 1))
    if (said.compare(at, 6, "error:") == 0 || said.compare(at, 7, "error #") == 0)
      return row_at(said, at);
  return {};
}

std::string between(const std::string& row, std::string_view from, std::string_view to) {
  const std::size_t at = row.find(from);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + from.size(), end = row.find(to, begin);
  return end == std::string::npos ? std::string() : row.substr(begin, end - begin);
}

bool of_cutlass(const std::string& name) {
  return name.starts_with("cutlass") || name.starts_with("cute");
}

/// A header or a name that these headers do not have: mistyped, or of another version.
std::optional<Error> explain_absent(const std::string& row, const std::string& version) {
  std::string what = between(row, "cannot open source file \"", "\"");
  if (const std::size_t fatal = row.find(": No such file");
      fatal != std::string::npos && fatal > 0) {
    const std::size_t name = row.rfind(' ', fatal - 1);
    if (name != std::string::npos) what = row.substr(name + 1, fatal - name - 1);
  }
  if (!what.empty() && what.find('/') != std::string::npos && of_cutlass(what))
    return Error{ErrorKind::invalid,
                 fmt::format("CUTLASS {} has no header {}", version, what),
                 what,
                 "CUTLASS " + version,
                 "headers of this version",
                 "correct the name; where it belongs to another version, set CUTLASS_PATH to that, "
                 "and say so in the source: // cutlass >= X.Y"};
  const std::string space = between(row, "namespace \"", "\"");
  const std::string member = between(row, "has no member \"", "\"");
  if (!of_cutlass(space) || member.empty()) return std::nullopt;
  return Error{ErrorKind::invalid,
               fmt::format("CUTLASS {} has no {}::{}", version, space, member),
               row.substr(0, row.find("): ") == std::string::npos ? 0 : row.find("): ") + 1),
               row.substr(0, 300),
               "names of this version",
               "correct the name or include its header; where it belongs to another version, set "
               "CUTLASS_PATH to that, and say so in the source: // cutlass >= X.Y"};
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The first line of a source where `word` stands whole, outside of // comments; 0 = nowhere.
int line_with(const std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool whole = (at == 0 || !is_word(text[at - 1])) &&
                       (at + word.size() == text.size() || !is_word(text[at + word.size()]));
    const std::size_t before = text.rfind('\n', at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    if (!whole || text.substr(begin, at - begin).find("//") != std::string::npos) continue;
    return static_cast<int>(
               std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
           1;
  }
  return 0;
}

model::CompilerMessage warning(const std::string& file, int line, std::string text) {
  model::CompilerMessage message;
  message.file = file;
  message.line = line;
  message.severity = "warning";
  message.text = std::move(text);
  return message;
}

} // namespace

std::optional<Error> explain(const std::string& said, const std::string& version) {
  const std::string row = first_error(said);
  for (const auto& known : k_known) {
    if (row.find(known.key) == std::string::npos) continue;
    const std::size_t place = row.find("): "); // the header's own place comes first
    return Error{ErrorKind::invalid,
                 known.message,
                 place == std::string::npos ? "template" : row.substr(0, place + 1),
                 shortened(row.substr(place == std::string::npos ? 0 : place + 3)).substr(0, 400),
                 known.allowed,
                 known.next};
  }
  return explain_absent(row, version);
}

std::vector<model::CompilerMessage> notices(const model::Sources& sources,
                                            const std::vector<std::string>& flags) {
  std::vector<model::CompilerMessage> list;
  for (const auto& source : sources.texts) {
    const std::string& text = source.content;
    const int stages = line_with(text, "StageCountAuto");
    if (stages > 0 && line_with(text, "StageCountAutoCarveout") == 0 &&
        text.find("epilogue::collective::CollectiveBuilder") != std::string::npos)
      list.push_back(warning(source.path, stages,
                             "StageCountAuto leaves no shared memory to the epilogue, and the "
                             "launch may fail: StageCountAutoCarveout<static_cast<int>(sizeof("
                             "typename CollectiveEpilogue::SharedStorage))>"));
    const int waits = std::max(line_with(text, "wait_on_dependent_grids"),
                               line_with(text, "launch_dependent_grids"));
    if (waits > 0 && !native::any_starts(flags, "-DCUTLASS_ENABLE_GDC") &&
        text.find("#define CUTLASS_ENABLE_GDC") == std::string::npos)
      list.push_back(warning(source.path, waits,
                             "without -DCUTLASS_ENABLE_GDC_FOR_SM90=1 (or _SM100) in kernel.flags "
                             "this does nothing: the kernel neither waits for the one before it "
                             "nor lets the next one start early"));
  }
  return list;
}

std::string shortened(const std::string& text) {
  if (text.size() <= k_long_text) return text;
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool arrow = c == '>' && i > 0 && text[i - 1] == '-';
    const bool comparison = (c == '<' || c == '>') && i + 1 < text.size() && text[i + 1] == '=';
    if (c == '>' && !arrow && !comparison && depth > 0) {
      if (depth == k_kept_depth + 1) out += "...";
      --depth;
    }
    if (depth <= k_kept_depth) out += c;
    if (c == '<' && !comparison) ++depth;
  }
  return out;
}

} // namespace ako::lanes::cutlass
