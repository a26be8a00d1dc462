// From what nvcc and ptxas said to an artifact with its resource report, or to one clear message.
#include "lanes/native/read.hpp"
#include "base/fs.hpp"
#include "lanes/cuda/driver.hpp"
#include "lanes/cuda/plan.hpp"
#include "lanes/cuda/resources.hpp"
#include "lanes/native/machine_fault.hpp"
#include "lanes/native/messages.hpp"

#include <charconv>
#include <fmt/format.h>

namespace ako::lanes::cuda {

using base::Error;
using base::ErrorKind;
using namespace native;

namespace {

constexpr const char* k_compiler_remedy =
    "install the CUDA toolkit, or name its nvcc in kernel.compiler, NVCC or CUDA_HOME";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The row of `text` that holds `part`.
std::string row_with(const std::string& text, std::string_view part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return {};
  const std::size_t begin =
      text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
}

std::string between(const std::string& row, std::string_view from, std::string_view to) {
  const std::size_t at = row.find(from);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + from.size(), end = row.find(to, begin);
  return row.substr(begin, end == std::string::npos ? end : end - begin);
}

/// The toolkit's own header says it of the host compiler.
bool refuses_host_compiler(std::string_view row) {
  const std::size_t header = row.find("crt/host_config.h");
  const std::size_t words =
      std::min(row.find("unsupported GNU version"), row.find("unsupported clang version"));
  return words != std::string_view::npos && header < row.find(' ') && header < words;
}

/// "sh: 1: cicc: not found", "bash: line 1: /opt/cuda/bin/ptxas: No such file or directory"
const char* missing_part(std::string_view row) {
  const std::string_view shell = row.substr(0, row.find(':'));
  if (shell != "sh" && shell != "bash" && shell != "dash" && !shell.ends_with("/sh") &&
      !shell.ends_with("/bash"))
    return nullptr;
  for (const char* part : {"cicc", "cudafe++", "ptxas", "fatbinary", "nvlink"})
    for (const char* words : {"not found", "command not found", "No such file or directory"})
      if (row.ends_with(fmt::format(" {}: {}", part, words)) ||
          row.ends_with(fmt::format("/{}: {}", part, words)))
        return part;
  return nullptr;
}

bool lacks_runtime(std::string_view row) {
  const auto said = said_of_itself(row);
  return said && (said->starts_with("cannot find -lcudart_static") ||
                  said->starts_with("cannot find -lcudadevrt"));
}

/// By what the tools say of themselves: what they quote of a source, or say about a place in it, is
/// the source's.
std::optional<Error> explain_machine_row(const std::string& row) {
  if (refuses_host_compiler(row))
    return Error{ErrorKind::environment,
                 "this nvcc does not take this host compiler",
                 "host compiler",
                 row.substr(0, 300),
                 "a g++ that the toolkit supports",
                 "install an older g++ and name it in NVCC_CCBIN (or add -ccbin to kernel.flags), "
                 "or use a newer toolkit"};
  if (const char* part = missing_part(row))
    return Error{
        ErrorKind::environment, "the CUDA toolkit is not whole", part, row.substr(0, 300), {},
        k_compiler_remedy};
  if (lacks_runtime(row))
    return Error{ErrorKind::environment,
                 "the CUDA toolkit has no static runtime library",
                 "link",
                 row.substr(0, 300),
                 "libcudart_static.a beside the toolkit's other libraries",
                 "install the toolkit's runtime development package"};
  return std::nullopt;
}

std::optional<Error> explain_machine(const std::string& said) {
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    if (auto error = explain_machine_row(said.substr(at, end - at))) return error;
    at = end + 1;
  }
  return std::nullopt;
}

std::optional<Error> explain_architecture(const std::string& said, const BuildRequest& request) {
  if (contains(said, "Unsupported gpu architecture"))
    return Error{ErrorKind::invalid,
                 "this nvcc builds for no such architecture",
                 "kernel.architectures",
                 between(row_with(said, "Unsupported gpu architecture"), "architecture '", "'"),
                 "what `nvcc --list-gpu-code` shows",
                 "take the architecture out, or name another nvcc in kernel.compiler"};
  std::string row = row_with(said, "not supported on .target '");
  std::string instruction = between(row, "'", "'");
  if (row.empty()) {
    row = row_with(said, "' requires .target ");
    instruction = between(row, "Feature '", "'");
  }
  if (row.empty() || instruction.empty()) return std::nullopt;
  const auto architectures = architectures_of(request);
  if (!architectures) return architectures.error();
  Architecture built = architectures->front();
  if (const auto target = between(row, ".target '", "'"); !target.empty()) {
    if (auto named = parse_architecture(target)) built = *named;
  } else {
    for (const auto& each : *architectures)
      if (each.number < built.number) built = each;
  }
  return explain_feature(instruction, built, find_features(request.sources));
}

std::optional<Error> explain_shared(const std::string& said) {
  const std::string row = row_with(said, "uses too much shared data");
  if (row.empty()) return std::nullopt;
  const auto number = [&](std::string_view from, std::string_view to) {
    std::int64_t value = 0;
    const std::string text = between(row, from, to);
    std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return value;
  };
  return Error{ErrorKind::invalid,
               "a kernel declares more static shared memory than a block can have",
               between(row, "function '", "'"),
               fmt::format("{} bytes", number("(0x", " ")),
               fmt::format("at most {} bytes", number(", 0x", " ")),
               "declare less, keep part of it in registers, or split the block's tile"};
}

std::optional<Error> explain_link(const std::string& said) {
  for (const char* key : {"Unresolved extern function", "Undefined reference to"})
    if (const auto row = row_with(said, key); !row.empty())
      return Error{
          ErrorKind::invalid,
          "device code calls a function that no file of the unit defines",
          "device link",
          row.substr(0, 300),
          "device functions defined in the same unit",
          "define it there, or add its file to kernel.sources and -rdc=true to kernel.flags"};
  return std::nullopt;
}

/// ptxas knows no lines of the source; an instruction that it names may.
void place_messages(BuildResult& result, const BuildRequest& request) {
  const auto uses = find_features(request.sources);
  for (auto& message : result.messages) {
    if (!message.file.empty()) continue;
    for (const auto& use : uses)
      if (contains(message.text, "'" + use.feature)) {
        message.file = use.file;
        message.line = use.line;
      }
  }
}

/// Code of an instruction that the built architectures do not have, left out behind a test of the
/// architecture, ends in a kernel that does nothing: that must not pass in silence.
void warn_of_left_out(BuildResult& result, const BuildRequest& request) {
  const auto architectures = architectures_of(request);
  if (!architectures) return;
  for (const auto& use : find_features(request.sources)) {
    for (const auto& built : *architectures) {
      if (use.had_by(built)) continue;
      model::CompilerMessage message;
      message.file = use.file;
      message.line = use.line;
      message.severity = "warning";
      message.text = fmt::format("{} needs {}; the code built for {} does without it", use.feature,
                                 use.needs(), built.text());
      result.messages.push_back(std::move(message));
      break;
    }
  }
}

} // namespace

BuildResult read_in(model::Lane lane,
                    const std::function<std::optional<Error>(const std::string&)>& explain,
                    const BuildRequest& request, const model::BuildPlan& plan,
                    const model::BuildRun& run) {
  Words words{lane, k_compiler_remedy, [&](const std::string& said) {
                if (explain)
                  if (auto error = explain(said)) return error;
                if (auto error = explain_machine(said)) return error;
                if (auto error = explain_architecture(said, request)) return error;
                if (auto error = explain_shared(said)) return error;
                return explain_link(said);
              }};
  BuildResult result = read_run(request, plan, run, words);
  place_messages(result, request);
  if (!result.artifact) return result;
  warn_of_left_out(result, request);
  result.artifact->messages = result.messages;
  std::string said;
  for (const auto& step : run.steps) said += said_by(step);
  auto library = base::read_file(result.artifact->library_path, 1u << 30);
  result.artifact->resources =
      resource_report(said, library ? std::string_view(*library) : std::string_view());
  return result;
}

BuildResult Driver::read(const BuildRequest& request, const model::BuildPlan& plan,
                         const model::BuildRun& run) const {
  return read_in(model::Lane::cuda, {}, request, plan, run);
}

model::LaunchSpec Driver::launch_spec(const BuildRequest& request,
                                      const model::Artifact& artifact) const {
  return launch_spec_of(request, artifact, model::Lane::cuda);
}

} // namespace ako::lanes::cuda
