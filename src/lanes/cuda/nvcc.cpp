#include "lanes/cuda/nvcc.hpp"

#include "lanes/native/tools.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ako::lanes::cuda {

using base::ErrorKind;
using base::Expected;
using base::fail;
using namespace native;
namespace fs = base::fs;

namespace {

constexpr const char* k_remedy =
    "install the CUDA toolkit (or, in a Python environment, nvidia-cuda-nvcc, -runtime, -crt and "
    "nvidia-nvvm of one version), or name its nvcc in kernel.compiler, NVCC or CUDA_HOME";

/// nvcc below the site-packages folders of a virtual environment.
std::vector<std::string> python_places(const Surroundings& around) {
  std::vector<std::string> places;
  const std::string root = variable(around, "VIRTUAL_ENV");
  if (root.empty()) return places;
  std::error_code why;
  for (fs::directory_iterator python(fs::path(root) / "lib", why), end; !why && python != end;
       python.increment(why)) {
    const fs::path nvidia = python->path() / "site-packages" / "nvidia";
    std::error_code none;
    for (fs::directory_iterator each(nvidia, none), last; !none && each != last;
         each.increment(none))
      places.push_back((each->path() / "bin" / "nvcc").string());
  }
  std::sort(places.rbegin(), places.rend());
  return places;
}

/// Places besides PATH, with how each is called in messages.
std::vector<std::pair<std::string, std::string>> other_places(const Surroundings& around) {
  std::vector<std::pair<std::string, std::string>> places;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto root = variable(around, name); !root.empty())
      places.emplace_back(name, root + "/bin/nvcc");
  places.emplace_back("usual place", "/usr/local/cuda/bin/nvcc");
  for (auto& place : python_places(around)) places.emplace_back("VIRTUAL_ENV", std::move(place));
  return places;
}

/// The host compiler that nvcc will call: NVCC_CCBIN, else g++ in PATH. Empty when there is none.
std::string host_compiler(const Surroundings& around) {
  std::string name = variable(around, "NVCC_CCBIN");
  std::error_code why;
  if (!name.empty() && fs::is_directory(name, why)) name = (fs::path(name) / "g++").string();
  return locate(name.empty() ? "g++" : name, around);
}

fs::path toolkit_of(const std::string& nvcc) {
  std::error_code why;
  const fs::path real = fs::canonical(nvcc, why);
  return (why ? fs::path(nvcc) : real).parent_path().parent_path();
}

tl::unexpected<base::Error> no_answer(const std::string& path, const base::CommandResult& result) {
  std::string found = result.timed_out ? fmt::format("no answer within {} s", k_ask_seconds)
                                       : fmt::format("{}: {}", result.ending.text(),
                                                     (result.err + result.out).substr(0, 200));
  return fail(ErrorKind::environment, "nvcc does not tell its version",
              {.where = path + " --version",
               .found = std::move(found),
               .allowed = "nvcc of a CUDA toolkit, 12.0 or newer",
               .next = k_remedy});
}

/// The line of --version that names the release.
std::string version_line(const std::string& text) {
  const std::size_t at = text.find("Cuda compilation tools");
  return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
}

/// Version and hash of nvcc, the hashes of what it calls, and the host compiler's version and hash.
Expected<Tool> ask_all(const std::string& path, const std::string& host,
                       const Surroundings& around) {
  Tool tool;
  AKO_TRY(const auto answer, ask({path}, {"--version"}, around));
  if (!answer.ok() || version_line(answer.out).empty()) return no_answer(path, answer);
  tool.version = version_line(answer.out);
  tool.family = "nvcc";
  AKO_TRY(const auto hash, base::sha256_file(path));
  tool.identity = fmt::format("{} | {}", tool.version, hash);
  const fs::path root = toolkit_of(path);
  tool.system_dirs.push_back(root.string());
  for (const char* part : {"bin/ptxas", "bin/cudafe++", "nvvm/bin/cicc"}) {
    auto part_hash = base::sha256_file(root / part);
    tool.identity += fmt::format(" | {} {}", part, part_hash ? *part_hash : "absent");
  }
  AKO_TRY(const auto host_answer, ask({host}, {"--version"}, around));
  AKO_TRY(const auto host_hash, base::sha256_file(host));
  tool.identity += fmt::format(" | host {} | {}",
                               host_answer.out.substr(0, host_answer.out.find('\n')), host_hash);
  AKO_TRY(const auto verbose, ask({host}, {"-E", "-v", "-x", "c++", "/dev/null"}, around));
  for (auto& dir : search_dirs(verbose.err)) tool.system_dirs.push_back(std::move(dir));
  return tool;
}

Expected<Tool> identify(const std::string& path, const Surroundings& around) {
  const std::string host = host_compiler(around);
  if (host.empty())
    return fail(ErrorKind::environment, "nvcc needs a host compiler, and none was found",
                {.where = variable(around, "NVCC_CCBIN").empty() ? "PATH" : "NVCC_CCBIN",
                 .found = variable(around, "NVCC_CCBIN"),
                 .allowed = "g++ in PATH, or another one named in NVCC_CCBIN",
                 .next = "install one (Debian, Ubuntu: apt install g++)"});
  const std::string stamp =
      stamp_of({path, (toolkit_of(path) / "bin/ptxas").string(), host}, around);
  const fs::path memo = around.memo_dir / fmt::format("nvcc-{}.json", stamp.substr(0, 16));
  std::optional<Tool> tool;
  if (!around.memo_dir.empty()) tool = recall(memo, stamp);
  if (!tool) {
    AKO_TRY(Tool asked, ask_all(path, host, around));
    tool = std::move(asked);
    if (!around.memo_dir.empty()) remember(memo, stamp, *tool);
  }
  tool->path = path;
  tool->command = {path};
  return std::move(*tool);
}

tl::unexpected<base::Error> missing(const std::string& where, const std::string& found,
                                    const std::vector<std::string>& looked) {
  std::string list;
  for (const auto& line : looked) list += (list.empty() ? "" : "; ") + line;
  return fail(ErrorKind::environment, "no nvcc was found",
              {.where = where,
               .found = found.empty() ? list : found,
               .allowed = "nvcc of a CUDA toolkit, in PATH or by its path",
               .next = k_remedy});
}

} // namespace

std::vector<std::string> nvcc_environment(const Surroundings& around) {
  auto list = compiler_environment(around);
  // Flags from there would be missing in the compile line on record.
  std::erase_if(list, [](const std::string& entry) {
    return entry.starts_with("NVCC_PREPEND_FLAGS=") || entry.starts_with("NVCC_APPEND_FLAGS=");
  });
  return list;
}

Release release_of(const std::string& version) {
  Release release;
  const std::size_t at = version.find("release ");
  if (at == std::string::npos) return release;
  const char* end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data() + at + 8, end, release.major);
  if (error == std::errc() && dot != end && *dot == '.')
    std::from_chars(dot + 1, end, release.minor);
  return release;
}

Expected<Tool> find_nvcc(const std::string& wanted, const Surroundings& around,
                         std::vector<std::string>* looked) {
  std::vector<std::string> notes;
  std::vector<std::string>& said = looked != nullptr ? *looked : notes;
  const auto look = [&](const std::string& name, const std::string& where) {
    const std::string path = locate(name, around);
    said.push_back(fmt::format("{} '{}': {}", where, name, path.empty() ? "not found" : path));
    return path;
  };
  const auto take = [&](const std::string& path, const std::string& by) -> Expected<Tool> {
    AKO_TRY(Tool tool, identify(path, around));
    tool.chosen_by = by;
    return tool;
  };
  for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"})
    if (!variable(around, name).empty())
      said.push_back(fmt::format("{}: set, ignored: write flags into kernel.flags", name));
  const std::string named = wanted.empty() ? variable(around, "NVCC") : wanted;
  const char* by = wanted.empty() ? "NVCC" : "kernel.compiler";
  if (!named.empty()) {
    const std::string path = look(named, by);
    return path.empty() ? missing(by, named, said) : take(path, by);
  }
  if (const auto path = look("nvcc", "PATH"); !path.empty()) return take(path, "PATH");
  for (const auto& [where, place] : other_places(around))
    if (const auto path = look(place, where); !path.empty()) return take(path, where);
  return missing("PATH", {}, said);
}

Probe probe_nvcc(const std::string& wanted, const Surroundings& around, const fs::path& scratch,
                 const ProbeMore& more) {
  Probe probe;
  auto tool = find_nvcc(wanted, around, &probe.looked);
  if (!tool) {
    probe.summary = tool.error().message + ": " + tool.error().found;
    probe.next = tool.error().next;
    return probe;
  }
  probe.tool = *tool;
  probe.next = k_remedy;
  const fs::path source = scratch / "probe.cu", library = scratch / "probe.so";
  const std::string text = more.first_lines +
                           "__global__ void kernel(int* x) { *x = 1; }\n"
                           "extern \"C\" int ako_probe(int* x, cudaStream_t stream) {\n"
                           "  kernel<<<1, 1, 0, stream>>>(x);\n"
                           "  return static_cast<int>(cudaGetLastError());\n}\n";
  if (auto wrote = base::write_file_atomic(source, text); !wrote) {
    probe.summary = wrote.error().text();
    probe.next = "make the temporary folder writable";
    return probe;
  }
  base::CommandOptions options;
  options.argv = {tool->path,      "-shared",  "-Xcompiler",
                  "-fPIC",         "-gencode", "arch=compute_90,code=sm_90",
                  source.string(), "-o",       library.string()};
  options.argv.insert(options.argv.end(), more.words.begin(), more.words.end());
  options.env = nvcc_environment(around);
  options.deadline = base::Deadline::after_seconds(60);
  auto result = around.runner(options);
  if (!result) {
    probe.summary = result.error().text();
    return probe;
  }
  probe.output = (result->err + result->out).substr(0, 4000);
  std::error_code why;
  if (result->timed_out) probe.summary = tool->path + " did not finish five lines in 60 s";
  else if (!result->ok())
    probe.summary = fmt::format("{} ({}) cannot compile five lines of CUDA: {}", tool->path,
                                tool->version, result->ending.text());
  else if (!fs::is_regular_file(library, why))
    probe.summary =
        fmt::format("{} ({}) ended well but wrote no library", tool->path, tool->version);
  else {
    probe.works = true;
    probe.next.clear();
    probe.summary =
        fmt::format("{} ({}), chosen by {}", tool->path, tool->version, tool->chosen_by);
  }
  return probe;
}

} // namespace ako::lanes::cuda
