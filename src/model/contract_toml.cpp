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

/// What was judged and measured depends on all of it but the gates: they decide over a port, and
/// may be added when everything is measured. Their terms go on record where they are run.
base::Hash identity_of(const Contract& contract) {
  Contract measured = contract;
  measured.gates.clear();
  return base::sha256(echo_toml(measured));
}

/// The values of `root`; every error names its place in it.
Expected<Contract> read_contract(const TomlNode& root, std::string_view where) {
  Contract contract;
  const Section top(where, "", root, {}, "");
  AKO_TRY_STATUS(read_format(top, contract));
  AKO_TRY_STATUS(top.known_keys_only());
  for (const char* key : {"kernel", "tensor", "shape", "reference"})
    AKO_TRY_STATUS(top.require(key));
  if (Status read = read_all({where, root, contract}); !read) {
    base::Error error = std::move(read).error();
    if (error.next.empty()) error.next = k_look_up;
    return tl::unexpected(std::move(error));
  }
  contract.hash = identity_of(contract);
  return contract;
}

Expected<TomlNode> read_tree(std::string_view toml, std::string_view where) {
  if (toml.find_first_not_of(" \t\r\n\xEF\xBB\xBF") != std::string_view::npos)
    return read_toml(toml, where);
  return fail(ErrorKind::invalid, "the contract is empty",
              {.where = std::string(where),
               .found = fmt::format("{} bytes", toml.size()),
               .allowed = "a task.toml of format 1",
               .next = "ako new writes one; docs/task-toml.md describes it"});
}

} // namespace

Expected<Contract> parse_contract(std::string_view toml, std::string_view where) {
  AKO_TRY(const TomlNode root, read_tree(toml, where));
  return read_contract(root, where);
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
  if (auto inside = base::resolve_inside(task_dir, "task.toml");
      !inside && inside.error().kind == ErrorKind::invalid) {
    base::Error error = std::move(inside).error();
    error.message = "the contract lies outside the task";
    error.where = path.string();
    error.allowed = "a file of the task, or a link to one";
    error.next = "copy it into the task, in the link's place";
    return tl::unexpected(std::move(error));
  }
  AKO_TRY(const std::string text, base::read_file(path, k_most_toml_bytes));
  const std::string where = path.string();
  AKO_TRY(const TomlNode root, read_tree(text, where));
  AKO_TRY(Contract contract, read_contract(root, where));
  AKO_TRY_STATUS(check_files({where, root, contract}, task_dir));
  return contract;
}

} // namespace ako::model
