#include "workspace/snapshot.hpp"

#include "workspace/git.hpp"
#include "workspace/git_text.hpp"
#include "workspace/listing.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ako::workspace {

using base::ErrorKind;
using base::Expected;
using base::fail;

namespace {

struct TreeEntry {
  std::string mode, id, path;
};

/// "mode type id TAB path NUL" of ls-tree -z.
std::vector<TreeEntry> tree_entries(const std::string& text) {
  std::vector<TreeEntry> list;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    const std::string row = text.substr(at, end - at);
    at = end + 1;
    const auto first = row.find(' '), second = row.find(' ', first + 1), tab = row.find('\t');
    if (first == std::string::npos || second == std::string::npos || tab == std::string::npos)
      continue;
    list.push_back(
        {row.substr(0, first), row.substr(second + 1, tab - second - 1), row.substr(tab + 1)});
  }
  return list;
}

/// The objects of cat-file --batch: "id type size LF bytes LF" each.
Expected<std::vector<std::string>> batch_objects(const std::string& text, std::size_t count) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < text.size() && list.size() < count;) {
    const std::size_t end = text.find('\n', at);
    const std::size_t space = text.rfind(' ', end);
    std::size_t size = 0;
    if (end == std::string::npos || space == std::string::npos || space < at ||
        std::from_chars(text.data() + space + 1, text.data() + end, size).ec != std::errc() ||
        end + 1 + size > text.size())
      break;
    list.push_back(text.substr(end + 1, size));
    at = end + 1 + size + 1;
  }
  if (list.size() == count) return list;
  return fail(ErrorKind::io, "git did not give all objects of a kept candidate",
              {.where = "git cat-file --batch",
               .found = fmt::format("{} of {}", list.size(), count),
               .allowed = "all of them",
               .next = "run `git fsck` on the repository"});
}

} // namespace

model::Sources make_sources(std::vector<model::SourceText> texts) {
  std::sort(texts.begin(), texts.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  model::Sources sources;
  base::Hasher hasher;
  for (const auto& text : texts) {
    model::SourceFile file{text.path, base::sha256(text.content),
                           static_cast<std::int64_t>(text.content.size())};
    hasher.add_field(file.path).add_field(file.hash);
    sources.snapshot.files.push_back(std::move(file));
  }
  sources.snapshot.hash = hasher.finish();
  sources.texts = std::move(texts);
  return sources;
}

Expected<model::Sources> take_snapshot(const Workdir& workdir, const model::Contract& contract,
                                       const SnapshotLimits& limits) {
  AKO_TRY(const auto paths, candidate_paths(workdir, contract));
  return collect(workdir, paths, limits, Missing::refused);
}

Expected<model::Sources> take_sources(const Workdir& workdir, const std::vector<std::string>& paths,
                                      const SnapshotLimits& limits) {
  std::vector<std::string> plain;
  for (const auto& path : paths)
    plain.push_back(base::fs::path(path).lexically_normal().generic_string());
  std::sort(plain.begin(), plain.end());
  plain.erase(std::unique(plain.begin(), plain.end()), plain.end());
  return collect(workdir, plain, limits, Missing::refused);
}

bool same_sources(const model::Sources& a, const model::Sources& b) {
  if (a.snapshot.hash != b.snapshot.hash) return false;
  for (std::size_t i = 0; i < a.texts.size(); ++i) // equal hashes: equal paths in equal order
    if (a.texts[i].executable != b.texts[i].executable) return false;
  return true;
}

bool still_holds(const Workdir& workdir, const model::Contract& contract,
                 const model::Sources& sources) {
  const auto paths = candidate_paths(workdir, contract);
  if (!paths) return false;
  const auto now = collect(workdir, *paths, {}, Missing::allowed);
  return now && same_sources(*now, sources);
}

std::string kept_name(std::int64_t iteration) { return fmt::format("iter-{}", iteration); }

Expected<std::string> keep_snapshot(const Workdir& workdir, const model::Sources& sources,
                                    const std::string& name) {
  AKO_TRY(const GitPlace place, workdir.git());
  AKO_TRY(const std::string prefix, workdir.ref_prefix());
  const std::string ref = prefix + name;
  const std::string message = fmt::format("ako: sources {}", sources.snapshot.hash);
  // A fixed author and time: the same sources give the same object, whoever keeps them.
  std::string stream =
      fmt::format("commit {}\nmark :1\ncommitter ako <ako@localhost> 0 +0000\ndata {}\n{}\n", ref,
                  message.size(), message);
  for (const auto& text : sources.texts) {
    stream += fmt::format("M {} inline {}\ndata {}\n", text.executable ? "100755" : "100644",
                          quoted_path(text.path), text.content.size());
    stream += text.content;
    stream += '\n';
  }
  // An empty line ends the commit; its tree is told by the same process: "mode tree id TAB LF".
  stream += "\nls :1 \"\"\ndone\n";
  const Git git(place.top);
  Git::Call call;
  call.args = {"fast-import", "--quiet", "--force", "--done", "--date-format=raw"};
  call.stdin_text = std::move(stream);
  AKO_TRY(const std::string said, git.run(call));
  const auto rows = tree_entries(said + '\0');
  if (rows.size() == 1) return rows.front().id;
  return git.run({"rev-parse", "--verify", ref + "^{tree}"});
}

Expected<model::Sources> read_snapshot(const Workdir& workdir, const std::string& tree_or_name) {
  AKO_TRY(const GitPlace place, workdir.git());
  AKO_TRY(const std::string prefix, workdir.ref_prefix());
  const Git git(place.top);
  std::string tree;
  for (const std::string& candidate : {prefix + tree_or_name, tree_or_name}) {
    if (candidate.starts_with("-")) continue;
    Git::Call call;
    call.args = {"rev-parse", "--verify", "--quiet", candidate + "^{tree}"};
    AKO_TRY(const auto result, git.try_run(call));
    if (!result.ok()) continue;
    tree = result.out.substr(0, result.out.find('\n'));
    break;
  }
  if (tree.empty())
    return fail(ErrorKind::invalid, "no such candidate is kept in git",
                {.where = place.common_dir.string(),
                 .found = tree_or_name,
                 .allowed = "a tree, or a name such as iter-3",
                 .next = "`ako log` lists the iterations"});
  Git::Call list;
  list.args = {"ls-tree", "-r", "-z", "--full-tree", tree};
  AKO_TRY(const std::string rows, git.run(list));
  const auto entries = tree_entries(rows);
  Git::Call batch;
  batch.args = {"cat-file", "--batch"};
  for (const auto& entry : entries) batch.stdin_text += entry.id + "\n";
  std::vector<std::string> bytes;
  if (!entries.empty()) {
    AKO_TRY(const auto result, git.try_run(batch));
    AKO_TRY(bytes, batch_objects(result.out, entries.size()));
  }
  std::vector<model::SourceText> texts;
  for (std::size_t i = 0; i < entries.size(); ++i)
    texts.push_back({entries[i].path, std::move(bytes[i]), entries[i].mode == "100755"});
  model::Sources sources = make_sources(std::move(texts));
  sources.snapshot.git_tree = tree;
  return sources;
}

} // namespace ako::workspace
