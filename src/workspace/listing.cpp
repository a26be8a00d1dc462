#include "workspace/listing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;
namespace fs = base::fs;

bool is_left_behind(const fs::path& path) {
  static constexpr std::array k_endings = {".o",    ".so",   ".a",     ".d",    ".obj", ".pyc",
                                           ".gch",  ".pch",  ".swp",   ".orig", ".rej", ".cubin",
                                           ".gcda", ".gcno", ".dylib", "~"};
  const std::string name = path.filename().string();
  if (name.starts_with(".") || name == "__pycache__") return true;
  return std::any_of(k_endings.begin(), k_endings.end(), [&](std::string_view ending) {
    return name.size() > ending.size() && name.ends_with(ending);
  });
}

namespace {

base::Status walk(const fs::path& task, const fs::path& relative, std::vector<std::string>& list) {
  std::error_code why;
  for (fs::directory_iterator at(task / relative, why), end; !why && at != end; at.increment(why)) {
    const fs::path name = relative / at->path().filename();
    if (is_left_behind(name)) continue;
    std::error_code gone;
    const auto status = at->symlink_status(gone);
    if (status.type() != fs::file_type::directory) list.push_back(name.generic_string());
    else if (!fs::exists(at->path() / ".git", gone)) AKO_TRY_STATUS(walk(task, name, list));
  }
  if (!why) return {};
  return fail(ErrorKind::io, "a folder of the task could not be read",
              {.where = relative.generic_string(),
               .found = why.message(),
               .allowed = "folders that this user may list",
               .next = "make it readable"});
}

tl::unexpected<base::Error> not_lawful(const std::string& path, std::string message,
                                       std::string found, std::string next) {
  return fail(ErrorKind::invalid, std::move(message),
              {.where = path,
               .found = std::move(found),
               .allowed = "a readable regular file inside the task",
               .next = std::move(next)});
}

const char* kind_of(fs::file_type type) {
  switch (type) {
  case fs::file_type::directory: return "a folder";
  case fs::file_type::character:
  case fs::file_type::block: return "a device";
  case fs::file_type::fifo: return "a pipe";
  case fs::file_type::socket: return "a socket";
  default: return "a special file";
  }
}

/// One source file; `left` is what the total still allows.
Expected<model::SourceText> read_source(const fs::path& task, const std::string& path,
                                        std::int64_t most) {
  auto resolved = base::resolve_inside(task, path);
  if (!resolved)
    return not_lawful(path, "a source leads out of the task", resolved.error().found,
                      "copy the file into the task instead of linking to it");
  struct stat info {};
  if (stat(resolved->c_str(), &info) != 0)
    return not_lawful(path, "a source is not there", std::strerror(errno),
                      "write the file, or correct its name in task.toml");
  if (!S_ISREG(info.st_mode)) {
    std::error_code why;
    return not_lawful(path, "a source is no regular file",
                      kind_of(fs::status(*resolved, why).type()), "remove it from the sources");
  }
  if (info.st_size > most)
    return fail(ErrorKind::invalid, "a source is too large",
                {.where = path,
                 .found = fmt::format("{} bytes", info.st_size),
                 .allowed = fmt::format("at most {} bytes", most),
                 .next = "move data out of the sources: recorded inputs belong in input/"});
  auto content = base::read_file(*resolved, static_cast<std::uint64_t>(most));
  if (!content)
    return not_lawful(path, "a source could not be read", content.error().found,
                      "make the file readable (chmod u+r)");
  return model::SourceText{path, std::move(*content), (info.st_mode & S_IXUSR) != 0};
}

} // namespace

Expected<std::vector<std::string>> list_below(const fs::path& task, const std::string& relative) {
  std::vector<std::string> list;
  std::error_code why;
  if (!fs::is_directory(fs::symlink_status(task / relative, why))) return list;
  AKO_TRY_STATUS(walk(task, relative, list));
  std::sort(list.begin(), list.end());
  return list;
}

Expected<std::vector<std::string>> candidate_paths(const Workdir& workdir,
                                                   const model::Contract& contract) {
  AKO_TRY(auto paths, list_below(workdir.task(), "solution"));
  const auto add = [&](const std::string& path) {
    std::string plain = fs::path(path).lexically_normal().generic_string();
    if (std::find(paths.begin(), paths.end(), plain) == paths.end())
      paths.push_back(std::move(plain));
  };
  if (!contract.kernel.entry.file.empty()) add(contract.kernel.entry.file);
  for (const auto& source : contract.kernel.sources) add(source);
  std::sort(paths.begin(), paths.end());
  return paths;
}

Expected<model::Sources> collect(const Workdir& workdir, const std::vector<std::string>& declared,
                                 const SnapshotLimits& limits, Missing missing) {
  if (static_cast<int>(declared.size()) > limits.files)
    return fail(ErrorKind::invalid, "the candidate has too many files",
                {.where = workdir.solution().string(),
                 .found = fmt::format("{} files", declared.size()),
                 .allowed = fmt::format("at most {}", limits.files),
                 .next = "keep only sources in solution/"});
  std::vector<model::SourceText> texts;
  std::int64_t total = 0;
  for (const auto& path : declared) {
    std::error_code why;
    if (missing == Missing::allowed &&
        fs::symlink_status(workdir.task() / path, why).type() == fs::file_type::not_found)
      continue;
    AKO_TRY(auto text, read_source(workdir.task(), path, limits.file_bytes));
    total += static_cast<std::int64_t>(text.content.size());
    if (total > limits.total_bytes)
      return fail(ErrorKind::invalid, "the sources are too large together",
                  {.where = path,
                   .found = fmt::format("more than {} bytes up to this file", limits.total_bytes),
                   .allowed = fmt::format("at most {} bytes", limits.total_bytes),
                   .next = "keep only sources in solution/"});
    texts.push_back(std::move(text));
  }
  if (texts.empty() && missing == Missing::refused)
    return fail(ErrorKind::invalid, "there is no candidate",
                {.where = workdir.solution().string(),
                 .found = "no source file",
                 .allowed = "at least one file in solution/",
                 .next = "write the kernel into solution/"});
  return make_sources(std::move(texts));
}

} // namespace ako::workspace
