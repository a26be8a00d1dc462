#include "model/contract_toml.hpp"

#include "base/fs.hpp"
#include "model/contract_read.hpp"

#include <fmt/format.h>

namespace ako::model {

using base::ErrorKind;
using base::Expected;
using base::fail;
using base::Status;

namespace {

Status read_format(const Section& top, Contract& contract) {
  AKO_TRY_STATUS(top.require("format"));
  const TomlNode& node = *top.node("format");
  if (node.kind != TomlNode::Kind::integer || node.integer != 1)
    return top.error("format", "this format is not known to this ako", "1");
  contract.format = 1;
  return {};
}

Status read_all(const Reading& reading) {
  AKO_TRY_STATUS(read_kernel(reading));
  AKO_TRY_STATUS(read_axes(reading));
  AKO_TRY_STATUS(check_axes(reading));
  AKO_TRY_STATUS(read_tensors(reading));
  AKO_TRY_STATUS(read_scalars(reading));
  AKO_TRY_STATUS(read_shapes(reading));
  AKO_TRY_STATUS(read_reference(reading));
  AKO_TRY_STATUS(read_baselines(reading));
  AKO_TRY_STATUS(read_judging(reading));
  AKO_TRY_STATUS(read_extras(reading));
  AKO_TRY_STATUS(check_port(reading));
  AKO_TRY_STATUS(check_contract(reading));
  return check_shapes(reading);
}

enum class Wanted { file, folder };

/// A path that the contract names, seen from the task folder. The key stands for its place: the
/// contract was parsed before.
Status check_there(const base::fs::path& task_dir, const std::string& key, const std::string& path,
                   Wanted wanted) {
  const std::string where = (task_dir / "task.toml").string() + ": " + key;
  auto inside = base::resolve_inside(task_dir, path);
  if (!inside) {
    base::Error error = inside.error();
    error.where = where;
    error.found = "'" + path + "'" + (error.found.empty() ? "" : ": " + error.found);
    if (error.next.empty()) error.next = "name a file that lies inside the task folder";
    return tl::unexpected(std::move(error));
  }
  std::error_code code;
  const auto status = base::fs::status(*inside, code);
  const bool right =
      wanted == Wanted::file ? base::fs::is_regular_file(status) : base::fs::is_directory(status);
  if (right) return {};
  const bool missing = !base::fs::exists(status);
  return fail(ErrorKind::invalid,
              fmt::format("'{}' {}", path, missing ? "does not exist" : "is of the wrong kind"),
              {.where = where,
               .found = missing ? "nothing" : "something else",
               .allowed = wanted == Wanted::file ? "a file in the task folder"
                                                 : "a folder in the task folder",
               .next = missing ? "make it, or mend the path" : "mend the path"});
}

Status check_files(const base::fs::path& dir, const Contract& contract) {
  const Kernel& kernel = contract.kernel;
  AKO_TRY_STATUS(check_there(dir, "kernel.entry.file", kernel.entry.file, Wanted::file));
  for (const std::string& each : kernel.sources)
    AKO_TRY_STATUS(check_there(dir, "kernel.sources", each, Wanted::file));
  for (const std::string& each : kernel.include_dirs)
    AKO_TRY_STATUS(check_there(dir, "kernel.include_dirs", each, Wanted::folder));
  AKO_TRY_STATUS(
      check_there(dir, "reference.entry.file", contract.reference.entry.file, Wanted::file));
  for (const BaselineSpec& each : contract.baselines) {
    const std::string key = "baseline '" + each.name + "' ";
    AKO_TRY_STATUS(check_there(dir, key + "entry.file", each.entry.file, Wanted::file));
    for (const std::string& source : each.sources)
      AKO_TRY_STATUS(check_there(dir, key + "sources", source, Wanted::file));
  }
  for (const Tensor& each : contract.tensors)
    if (!each.fill.file.empty())
      AKO_TRY_STATUS(
          check_there(dir, "tensor '" + each.name + "' fill.file", each.fill.file, Wanted::file));
  return {};
}

/// What was judged and measured depends on all of it but the gates: they decide over a port, and
/// may be added when everything is measured. Their terms go on record where they are run.
base::Hash identity_of(const Contract& contract) {
  Contract measured = contract;
  measured.gates.clear();
  return base::sha256(echo_toml(measured));
}

} // namespace

Expected<Contract> parse_contract(std::string_view toml, std::string_view where) {
  if (toml.find_first_not_of(" \t\r\n\xEF\xBB\xBF") == std::string_view::npos)
    return fail(ErrorKind::invalid, "the contract is empty",
                {.where = std::string(where),
                 .found = fmt::format("{} bytes", toml.size()),
                 .allowed = "a task.toml of format 1",
                 .next = "ako new writes one; docs/task-toml.md describes it"});
  AKO_TRY(const TomlNode root, read_toml(toml, where));
  Contract contract;
  const Section top(where, "", root, {}, "");
  AKO_TRY_STATUS(read_format(top, contract));
  AKO_TRY_STATUS(top.known_keys_only());
  for (const char* key : {"kernel", "tensor", "shape", "reference"})
    AKO_TRY_STATUS(top.require(key));
  AKO_TRY_STATUS(read_all({where, root, contract}));
  contract.hash = identity_of(contract);
  return contract;
}

Expected<Contract> load_contract(const std::filesystem::path& task_dir) {
  const base::fs::path path = task_dir / "task.toml";
  std::error_code code;
  if (!base::fs::exists(path, code))
    return fail(ErrorKind::invalid, "there is no contract here",
                {.where = path.string(),
                 .found = "nothing",
                 .allowed = "a task folder",
                 .next = "go to a task folder, name one with -C, or make one with ako new"});
  AKO_TRY(const std::string text, base::read_file(path, k_most_toml_bytes));
  AKO_TRY(Contract contract, parse_contract(text, path.string()));
  AKO_TRY_STATUS(check_files(task_dir, contract));
  return contract;
}

} // namespace ako::model
