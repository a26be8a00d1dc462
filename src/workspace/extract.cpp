#include "workspace/extract.hpp"

#include "workspace/extract_contract.hpp"
#include "workspace/extract_cuda.hpp"
#include "workspace/extract_python.hpp"
#include "workspace/git.hpp"

#include "base/hash.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

namespace {

constexpr std::uint64_t k_largest_source = 16u << 20;

base::Status check_cpp(const std::string& path) {
  static constexpr std::array k_endings = {".cpp", ".cc", ".cxx", ".c++", ".C",  ".hpp", ".hh",
                                           ".hxx", ".h",  ".ipp", ".inl", ".cu", ".cuh"};
  const std::string ending = fs::path(path).extension().string();
  if (std::find(k_endings.begin(), k_endings.end(), ending) != k_endings.end()) return {};
  return fail(ErrorKind::invalid, "this is no C++ file by its name",
              {.where = path,
               .found = ending.empty() ? "no ending" : ending,
               .allowed = ".cpp .cc .cxx .hpp .h .cu .cuh .py and the like",
               .next = "make the task with `ako new NAME` and copy the kernel by hand"});
}

std::string listed(const std::vector<base::Function>& functions) {
  if (functions.empty()) return "no function is defined in this file";
  std::string text;
  for (std::size_t i = 0; i < functions.size() && i < 12; ++i)
    text += fmt::format("{}{} (line {})", i == 0 ? "" : "; ", functions[i].signature(),
                        functions[i].line);
  if (functions.size() > 12) text += fmt::format("; and {} more", functions.size() - 12);
  return text;
}

/// The one function that `symbol` means.
Expected<base::Function> choose(const std::string& text, const ExtractRequest& request) {
  const auto all = base::find_functions(text);
  std::vector<base::Function> same;
  for (const auto& function : all)
    if (function.qualified == request.symbol || function.qualified.ends_with("::" + request.symbol))
      same.push_back(function);
  const auto refuse = [&](std::string message, const std::vector<base::Function>& found,
                          std::string next) {
    return fail(ErrorKind::invalid, std::move(message),
                {.where = fmt::format("{}::{}", request.path, request.symbol),
                 .found = listed(found),
                 .allowed = "one function that is defined in this file",
                 .next = std::move(next)});
  };
  if (same.empty())
    return refuse("the file defines no such function", all,
                  "name one of these, or the file that defines it");
  if (same.size() > 1)
    return refuse("the function is overloaded, or defined in several branches", same,
                  "rename the one that is meant, or qualify it with its namespace");
  if (same[0].is_template && !is_kernel(same[0]))
    return refuse("the function is a template", same,
                  "write a function that calls the instance that is meant, and name that one");
  if (same[0].is_member)
    return refuse("the function is a member of a class", same,
                  "write a free function that calls it, and name that one");
  return same[0];
}

/// Collects a file and what it includes, as far as it lies in the repository.
class Collector {
public:
  Collector(fs::path repository, std::vector<std::string> include_dirs, model::Lane lane)
      : m_repository(std::move(repository)), m_include_dirs(std::move(include_dirs)), m_lane(lane) {
  }

  base::Status add(const std::string& path) {
    if (!m_seen.insert(path).second) return {};
    AKO_TRY(std::string text, base::read_file(m_repository / path, k_largest_source));
    const auto includes = base::find_includes(text);
    m_files.push_back({path, std::move(text), false});
    for (const auto& include : includes) {
      const std::string found = find(include, fs::path(path).parent_path());
      if (!found.empty()) AKO_TRY_STATUS(add(found));
      else if (m_lane == model::Lane::cuda && !is_toolkit_header(include.name))
        m_foreign[path].push_back(include);
      else if (include.quoted && m_lane == model::Lane::cpu)
        m_unresolved.insert(fmt::format("{} ({}:{})", include.name, path, include.line));
    }
    return {};
  }

  std::vector<model::SourceText> files() { return std::move(m_files); }
  std::vector<std::string> unresolved() const { return {m_unresolved.begin(), m_unresolved.end()}; }
  /// Cuda lane: includes of neither the repository nor the toolkit, by file.
  const std::map<std::string, std::vector<base::Include>>& foreign() const { return m_foreign; }
  /// Include folders that something was found through.
  const std::set<std::string>& used_dirs() const { return m_used_dirs; }

private:
  std::string inside(const fs::path& path) const {
    const std::string plain = path.lexically_normal().generic_string();
    if (plain.starts_with("..") || plain.starts_with("/")) return {};
    const auto resolved = base::resolve_inside(m_repository, plain);
    std::error_code why;
    return resolved && fs::is_regular_file(*resolved, why) ? plain : std::string();
  }

  std::string find(const base::Include& include, const fs::path& folder) {
    if (include.quoted)
      if (auto path = inside(folder / include.name); !path.empty()) return path;
    for (const auto& dir : m_include_dirs)
      if (auto path = inside(fs::path(dir) / include.name); !path.empty()) {
        m_used_dirs.insert(dir);
        return path;
      }
    return {};
  }

  fs::path m_repository;
  std::vector<std::string> m_include_dirs;
  model::Lane m_lane;
  std::vector<model::SourceText> m_files;
  std::map<std::string, std::vector<base::Include>> m_foreign;
  std::set<std::string> m_seen, m_unresolved, m_used_dirs;
};

/// A remote's address without what could be a password.
std::string without_credentials(std::string url) {
  const std::size_t scheme = url.find("://"), at = url.find('@');
  if (scheme != std::string::npos && at != std::string::npos && at > scheme)
    url.erase(scheme + 3, at - scheme - 2);
  return url;
}

} // namespace

void record_origin(const fs::path& repository, Extracted& extracted) {
  const Git git(repository);
  if (auto head = git.run({"rev-parse", "--verify", "--quiet", "HEAD"})) extracted.commit = *head;
  if (auto url = git.run({"remote", "get-url", "origin"}); url && !extracted.commit.empty())
    extracted.origin = without_credentials(*url);
  if (extracted.origin.empty()) extracted.origin = repository.filename().string();
}

namespace {

model::SourceText origin_text(const ExtractRequest& request, const Extracted& extracted,
                              const std::vector<model::SourceText>& sources) {
  std::string text =
      fmt::format("# Where this kernel comes from\n\n- repository: {}\n- commit: {}\n"
                  "- function: {} in {}:{}\n\n| file | sha256 |\n|---|---|\n",
                  extracted.origin, extracted.commit.empty() ? "not under git" : extracted.commit,
                  extracted.function.signature(), request.path, extracted.function.line);
  for (const auto& source : sources)
    text += fmt::format("| {} | {} |\n", source.path, base::sha256(source.content));
  return {"context/origin.md", std::move(text), false};
}

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "kernel_" + out;
  return out;
}

std::vector<std::string> folders_to_search(const fs::path& repository,
                                           const ExtractRequest& request) {
  std::vector<std::string> dirs = request.include_dirs;
  std::error_code why;
  const auto add = [&](const fs::path& dir) {
    const std::string name = dir.lexically_normal().generic_string();
    if (fs::is_directory(repository / dir, why) &&
        std::find(dirs.begin(), dirs.end(), name) == dirs.end())
      dirs.push_back(name);
  };
  // Beside the file and above it: kernels often stand in a project of their own below the top.
  for (fs::path at = fs::path(request.path).parent_path(); !at.empty(); at = at.parent_path()) {
    add(at / "include");
    if (is_cuda_file(request.path)) add(at);
  }
  for (const char* usual : {"include", "src", "."}) add(usual);
  return dirs;
}

/// Include folders as they lie below solution/ and input/.
std::vector<std::string> below_both(const std::set<std::string>& used_dirs) {
  std::vector<std::string> dirs;
  for (const char* root : {"solution", "input"})
    for (const auto& dir : used_dirs)
      dirs.push_back((fs::path(root) / dir).lexically_normal().generic_string());
  return dirs;
}

/// Takes foreign things out of the files and finds or drafts the launcher of a kernel; the entry's
/// file comes back.
std::string shape_for_cuda(const std::string& path, const std::string& text,
                           const std::map<std::string, std::vector<base::Include>>& foreign,
                           Extracted& extracted, std::vector<model::SourceText>& sources) {
  for (auto& source : sources) {
    const auto includes = foreign.find(source.path);
    auto trimmed =
        trim_foreign(source.path, source.content,
                     includes == foreign.end() ? std::vector<base::Include>() : includes->second);
    source.content = std::move(trimmed.text);
    extracted.left_out.insert(extracted.left_out.end(), trimmed.left_out.begin(),
                              trimmed.left_out.end());
  }
  if (!is_kernel(extracted.function)) return path;
  const base::Function kernel = extracted.function;
  const std::string name = kernel.name.substr(
      kernel.name.rfind(':') == std::string::npos ? 0 : kernel.name.rfind(':') + 1);
  const auto sites = launch_sites(text, name);
  const auto functions = base::find_functions(text);
  if (const auto* launcher = plain_launcher(functions, sites)) {
    extracted.function = *launcher;
    return path;
  }
  DraftedLauncher drafted = draft_launcher(path, text, kernel, sites);
  extracted.function = drafted.function;
  extracted.questions = std::move(drafted.questions);
  const std::string file = drafted.file.path;
  sources.push_back(std::move(drafted.file));
  return file;
}

} // namespace

Expected<ExtractRequest> parse_from(std::string_view text) {
  const std::size_t scope = text.find("::");
  const std::string_view left = text.substr(0, std::min(scope, text.size()));
  const std::size_t colon = left.rfind(':');
  ExtractRequest request;
  request.repository = colon == std::string_view::npos || colon == 0
                           ? fs::path(".")
                           : fs::path(left.substr(0, colon));
  request.path = colon == std::string_view::npos ? left : left.substr(colon + 1);
  if (scope != std::string_view::npos) request.symbol = text.substr(scope + 2);
  if (!request.path.empty() && !request.symbol.empty() && request.symbol[0] != ':') return request;
  return fail(ErrorKind::usage, "this does not name a function in a repository",
              {.where = "--from",
               .found = std::string(text),
               .allowed = "REPO:path::symbol",
               .next = "for example --from ../engine:src/norm.cpp::rms_norm"});
}

Expected<Extracted> extract_kernel(const ExtractRequest& request) {
  std::error_code why;
  const fs::path repository = fs::canonical(request.repository, why);
  if (why)
    return fail(ErrorKind::invalid, "there is no such repository",
                {.where = request.repository.string(),
                 .found = why.message(),
                 .allowed = "a folder with the kernel's sources",
                 .next = "name a folder that exists: --from REPO:path::symbol"});
  if (is_python_file(request.path)) return extract_python(repository, request);
  AKO_TRY_STATUS(check_cpp(request.path));
  AKO_TRY_STATUS(base::resolve_inside(repository, request.path));
  const std::string path = fs::path(request.path).lexically_normal().generic_string();
  auto text = base::read_file(repository / path, k_largest_source);
  if (!text)
    return fail(ErrorKind::invalid, "the file cannot be read",
                {.where = (repository / path).string(),
                 .found = text.error().found,
                 .allowed = fmt::format("a readable source of at most {} bytes", k_largest_source),
                 .next = "name a file of the repository"});
  Extracted extracted;
  AKO_TRY(extracted.function, choose(*text, request));
  const std::string last = request.symbol.substr(
      request.symbol.rfind(':') == std::string::npos ? 0 : request.symbol.rfind(':') + 1);
  extracted.kernel = identifier(request.kernel.empty() ? last : request.kernel);

  extracted.lane = is_cuda_file(path) ? model::Lane::cuda : model::Lane::cpu;
  Collector collector(repository, folders_to_search(repository, request), extracted.lane);
  AKO_TRY_STATUS(collector.add(path));
  extracted.unresolved = collector.unresolved();
  const auto foreign = collector.foreign();
  const auto used_dirs = collector.used_dirs();
  auto sources = collector.files();
  record_origin(repository, extracted);
  extracted.files.push_back(origin_text(request, extracted, sources));
  std::string entry = path;
  if (extracted.lane == model::Lane::cuda)
    entry = shape_for_cuda(path, *text, foreign, extracted, sources);

  std::vector<std::string> dirs = below_both(used_dirs);
  for (const char* root : {"solution/", "input/"})
    for (const auto& source : sources)
      extracted.files.push_back({root + source.path, source.content, false});
  ContractDraft draft = draft_contract(
      {extracted.lane, extracted.kernel, entry, extracted.origin, extracted.commit, dirs},
      extracted.function);
  extracted.files.push_back({"task.toml", std::move(draft.toml), false});
  extracted.questions.insert(extracted.questions.end(), draft.questions.begin(),
                             draft.questions.end());
  return extracted;
}

} // namespace ako::workspace
