#include "guides/search.hpp"

#include "base/process.hpp"
#include "guides/index.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

namespace ako::guides {

using base::Expected;
namespace fs = base::fs;

namespace {

constexpr std::array k_nothing = {"the", "a",    "an",  "of", "to",   "in",   "is",
                                  "how", "for",  "and", "or", "on",   "what", "why",
                                  "do",  "does", "i",   "my", "with", "be"};

std::vector<std::string> telling(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const auto& given : words) {
    std::istringstream parts(given);
    for (std::string word; parts >> word;) {
      const bool any = std::any_of(word.begin(), word.end(),
                                   [](unsigned char c) { return std::isalnum(c) || c >= 0x80; });
      const bool nothing = std::find(k_nothing.begin(), k_nothing.end(), word) != k_nothing.end();
      if (any && !nothing) out.push_back(word);
    }
  }
  return out;
}

bool is_document(const fs::path& file) {
  static const std::array k_kinds = {".h",   ".hpp", ".cuh",     ".md",
                                     ".txt", ".rst", ".section", ".html"};
  const std::string kind = file.extension().string();
  return std::find(k_kinds.begin(), k_kinds.end(), kind) != k_kinds.end();
}

TextKind kind_of(const fs::path& file) {
  const std::string kind = file.extension().string();
  return kind == ".md" || kind == ".rst" ? TextKind::markdown : TextKind::code;
}

void list_documents(const fs::path& folder, std::vector<IndexedFile>& out) {
  std::error_code why;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, why);
  for (; !why && at != fs::recursive_directory_iterator(); at.increment(why)) {
    std::error_code ignored;
    const fs::path& file = at->path();
    if (at->is_regular_file(ignored) && is_document(file))
      out.push_back({file.string(), "", file.filename().string(), kind_of(file)});
  }
}

/// Names and one line each of the counters that ncu knows for the chips people have, in a file of
/// the cache, so that a hit has a place.
void list_metrics(const std::string& ncu, const fs::path& cache, std::vector<IndexedFile>& out) {
  for (const char* chip : {"ga100", "ad102", "gh100", "gb100"}) {
    base::CommandOptions options;
    options.argv = {ncu, "--query-metrics", "--chips", chip};
    options.deadline = base::Deadline::after_seconds(60);
    options.capture_bytes = 8 << 20;
    const auto result = base::run_command(options);
    if (!result || !result->ok()) continue;
    const fs::path file = cache / fmt::format("ncu-metrics-{}.txt", chip);
    if (base::write_file_atomic(file, result->out))
      out.push_back({file.string(), "", fmt::format("ncu metrics of {}", chip), TextKind::code});
  }
}

/// Another toolkit at the same place has another time on its headers.
base::Hash key_of(const ToolkitPlace& place) {
  base::Hasher hasher;
  std::error_code why;
  const auto add = [&](const fs::path& path) {
    const auto when = fs::last_write_time(path, why).time_since_epoch().count();
    hasher.add_field(fs::weakly_canonical(path, why).string()).add_field(std::to_string(when));
  };
  add(place.root / "include" / "cuda.h");
  add(place.root / "include");
  for (const auto& folder : place.folders) add(folder);
  if (!place.ncu.empty()) add(place.ncu);
  return hasher.add_field("3").finish();
}

base::Hash key_of(const Library& library) {
  base::Hasher hasher;
  hasher.add_field(library.folder().string());
  for (const Guide& guide : library.guides()) hasher.add_field(guide.id).add_field(guide.hash);
  return hasher.add_field("3").finish();
}

Expected<std::vector<IndexedFile>> files_of(const Library& library) {
  std::vector<IndexedFile> out;
  for (const Guide& guide : library.guides())
    out.push_back({guide.file.string(), guide.id, guide.title, TextKind::markdown});
  return out;
}

} // namespace

ToolkitPlace find_toolkit() {
  ToolkitPlace out;
  std::error_code why;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", ""}) {
    const char* value = *variable ? std::getenv(variable) : "/usr/local/cuda";
    if (value == nullptr || *value == '\0') continue;
    const fs::path root = fs::weakly_canonical(value, why);
    if (!fs::is_regular_file(root / "include" / "cuda.h", why)) continue;
    out.root = root;
    break;
  }
  std::vector<fs::path> nsight;
  for (const fs::path& parent : {fs::path("/opt/nvidia/nsight-compute"), out.root})
    for (const auto& entry : fs::directory_iterator(parent, why))
      if (parent != out.root || entry.path().filename().string().starts_with("nsight-compute"))
        nsight.push_back(entry.path());
  std::sort(nsight.begin(), nsight.end());
  if (!nsight.empty()) {
    for (const char* below : {"docs", "sections", "extras"})
      if (fs::is_directory(nsight.back() / below, why))
        out.folders.push_back(nsight.back() / below);
    if (fs::is_regular_file(nsight.back() / "ncu", why)) out.ncu = (nsight.back() / "ncu").string();
  }
  for (const char* below : {"doc", "docs"})
    if (!out.root.empty() && fs::is_directory(out.root / below, why))
      out.folders.push_back(out.root / below);
  return out;
}

Expected<std::vector<Hit>> Search::find(const Library& library,
                                        const std::optional<ToolkitPlace>& toolkit,
                                        const std::vector<std::string>& words, std::size_t limit) {
  const auto wanted = telling(words);
  if (wanted.empty())
    return base::fail(base::ErrorKind::usage, "there is nothing to search for",
                      {.where = "ako refs search",
                       .found = words.empty() ? "no word" : "words that stand in every text",
                       .allowed = "words of a technique, an instruction, a metric, a message",
                       .next = "ako refs search bank conflicts"});
  AKO_TRY(base::Database guides,
          open_index(m_cache, "guides", key_of(library), [&] { return files_of(library); }));
  AKO_TRY(std::vector<Hit> out, query_index(guides, Hit::Source::guide, wanted, limit));
  if (!toolkit || toolkit->empty()) return out;
  AKO_TRY(base::Database headers, open_index(m_cache, "toolkit", key_of(*toolkit), [&] {
            std::vector<IndexedFile> files;
            if (!toolkit->root.empty()) list_documents(toolkit->root / "include", files);
            for (const auto& folder : toolkit->folders) list_documents(folder, files);
            if (!toolkit->ncu.empty()) list_metrics(toolkit->ncu, m_cache, files);
            return Expected<std::vector<IndexedFile>>(std::move(files));
          }));
  AKO_TRY(std::vector<Hit> more, query_index(headers, Hit::Source::toolkit, wanted, limit));
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return out;
}

} // namespace ako::guides
