// What the contract names on disk: it is there, it lies in the task, and no candidate is its own
// judge.
#include "model/contract_read.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ako::model {

using base::Status;
namespace fs = base::fs;

namespace {

enum class Wanted { file, folder };

/// A path of the contract, where it stands there and where it leads.
struct Named {
  const Section* section = nullptr;
  const TomlNode* node = nullptr;
  std::string key;   ///< "entry.file", "sources"
  std::string whose; ///< "reference", "baseline 'first'", "fill of 'x'"
  fs::path real;
};

class Files {
public:
  explicit Files(const fs::path& task) : m_task(task) {}

  Status entry(const Section& section, std::string whose, std::vector<Named>& into) {
    return one(section, *section.node("entry")->find("file"), "entry.file", std::move(whose),
               Wanted::file, into);
  }

  Status list(const Section& section, const char* key, std::string whose, Wanted wanted,
              std::vector<Named>& into) {
    if (const TomlNode* node = section.node(key))
      for (const TomlNode& item : node->items)
        AKO_TRY_STATUS(one(section, item, key, whose, wanted, into));
    return {};
  }

  Status one(const Section& section, const TomlNode& node, std::string key, std::string whose,
             Wanted wanted, std::vector<Named>& into) {
    const std::string& path = node.text;
    auto inside = base::resolve_inside(m_task, path);
    if (!inside) {
      base::Error error = inside.error();
      error.where = section.where(key, node.place);
      error.found = "'" + path + "'" + (error.found.empty() ? "" : ": " + error.found);
      if (error.allowed.empty()) error.allowed = "a path inside the task folder";
      if (error.next.empty()) error.next = "name a file that lies inside the task folder";
      return tl::unexpected(std::move(error));
    }
    std::error_code code;
    const auto status = fs::status(*inside, code);
    const bool right =
        wanted == Wanted::file ? fs::is_regular_file(status) : fs::is_directory(status);
    if (!right) {
      const bool missing = !fs::exists(status);
      return section.error_at(
          node, key,
          fmt::format("'{}' {}", path, missing ? "does not exist" : "is of the wrong kind"),
          wanted == Wanted::file ? "a file in the task folder" : "a folder in the task folder",
          missing ? "make it, or mend the path" : "mend the path");
    }
    into.push_back({&section, &node, std::move(key), std::move(whose), std::move(*inside)});
    return {};
  }

private:
  const fs::path& m_task;
};

bool lies_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

/// What a candidate may change must decide about none: an edit would move the judge, or the mark
/// that it is measured against. Links do not hide it.
Status apart(const fs::path& task, const std::vector<Named>& candidate,
             const std::vector<Named>& deciding) {
  std::error_code code;
  const fs::path solution = fs::weakly_canonical(task / "solution", code);
  for (const Named& each : deciding) {
    const auto same = std::find_if(candidate.begin(), candidate.end(), [&](const Named& other) {
      return fs::equivalent(each.real, other.real, code);
    });
    const bool below = lies_below(fs::weakly_canonical(each.real, code), solution);
    if (same == candidate.end() && !below) continue;
    return each.section->error_at(
        *each.node, each.key,
        fmt::format("the {} is the candidate's own file: whoever edits one edits the other",
                    each.whose),
        "a file that is no part of the candidate: not in solution/, nor named by kernel.entry or "
        "kernel.sources",
        below ? "copy it to input/ and name the copy here"
              : "let [kernel] name a copy in solution/");
  }
  return {};
}

Status fill_file(Files& files, const Section& tensor, const std::string& name,
                 std::vector<Named>& into) {
  const TomlNode* fill = tensor.node("fill");
  const TomlNode* file = fill && fill->kind == TomlNode::Kind::table ? fill->find("file") : nullptr;
  if (!file) return {};
  return files.one(tensor, *file, "fill.file", "fill of '" + name + "'", Wanted::file, into);
}

} // namespace

Status check_files(const Reading& reading, const fs::path& task) {
  Files files(task);
  std::vector<Named> candidate, folders, deciding;
  AKO_TRY(const Section kernel, table_section(reading, "kernel"));
  AKO_TRY_STATUS(files.entry(kernel, "kernel", candidate));
  AKO_TRY_STATUS(files.list(kernel, "sources", "kernel", Wanted::file, candidate));
  AKO_TRY_STATUS(files.list(kernel, "include_dirs", "kernel", Wanted::folder, folders));
  AKO_TRY(const Section reference, table_section(reading, "reference"));
  AKO_TRY_STATUS(files.entry(reference, "reference", deciding));
  AKO_TRY(const auto baselines, sections(reading.file, reading.root, "baseline"));
  for (std::size_t i = 0; i < baselines.size(); ++i) {
    const std::string whose = "baseline '" + reading.contract.baselines[i].name + "'";
    AKO_TRY_STATUS(files.entry(baselines[i], whose, deciding));
    AKO_TRY_STATUS(files.list(baselines[i], "sources", whose, Wanted::file, deciding));
  }
  AKO_TRY(const auto tensors, sections(reading.file, reading.root, "tensor"));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    AKO_TRY_STATUS(fill_file(files, tensors[i], reading.contract.tensors[i].name, deciding));
  return apart(task, candidate, deciding);
}

} // namespace ako::model
