#include "model/port_spec.hpp"

#include "base/fs.hpp"
#include "model/contract_read.hpp"

namespace ako::model {

using base::Expected;
using base::Status;

namespace {

constexpr std::uint64_t k_most_bytes = 1u << 20;
constexpr NumberRule k_port_seconds{[](double v) { return v > 0 && v <= 604800; },
                                    "seconds, above 0 and at most 604800"};

/// A path inside the target repository.
Status read_inside(const Section& section, std::string_view key, std::string& into) {
  AKO_TRY_STATUS(section.read(key, into));
  if (const TomlNode* node = section.node(key))
    AKO_TRY_STATUS(check_path(section, *node, key, into));
  if (into == "." || into.starts_with(".git/") || into == ".git")
    return section.error(key, "the path is no place of its own",
                         "a relative path below the repository's root");
  return {};
}

Status read_list(const Section& section, std::string_view key, std::vector<std::string>& into) {
  AKO_TRY_STATUS(section.read(key, into));
  if (const TomlNode* list = section.node(key))
    for (const TomlNode& item : list->items)
      AKO_TRY_STATUS(check_path(section, item, key, item.text));
  return {};
}

Status read_switch(const Section& section, PortSpec& port) {
  AKO_TRY_STATUS(section.require("switch"));
  AKO_TRY_STATUS(section.read("switch", port.switch_name));
  if (!is_identifier(port.switch_name))
    return section.error("switch", "this cannot be the name of a switch",
                         "letters, digits and _, not beginning with a digit");
  std::string kind = "environment", otherwise = "new";
  AKO_TRY_STATUS(section.read("switch_kind", kind));
  if (kind != "environment" && kind != "macro")
    return section.error("switch_kind", "unknown kind of switch '" + kind + "'",
                         "environment, macro");
  AKO_TRY_STATUS(section.read("otherwise", otherwise));
  if (otherwise != "new" && otherwise != "old")
    return section.error("otherwise", "unknown path '" + otherwise + "'", "new, old");
  port.switch_kind = kind == "macro" ? PortSpec::Switch::macro : PortSpec::Switch::environment;
  port.otherwise = otherwise == "old" ? PortSpec::Path::old_path : PortSpec::Path::new_path;
  return {};
}

/// Either the call is rewritten, or patches say how.
Status check_integration(const Section& section, const PortSpec& port) {
  if (!port.call_site.empty() && port.call.empty())
    return section.error("call", "it is not said which call is to be led to the new kernel",
                         "the callee as it is written in call_site, such as engine::rmsnorm");
  if (port.call_site.empty() && port.patches.empty())
    return section.error("call_site", "it is not said how the kernel is reached",
                         "call_site and call, or patches with paths");
  if (!port.library.empty() && port.measure.empty())
    return section.error("measure", "it is not said which function of the library is measured",
                         "a C symbol that takes the contract's arguments");
  if (!port.library.empty() && port.build.empty())
    return section.error("build", "it is not said how the library is built", "a command");
  return {};
}

Expected<PortSpec> read_port(std::string_view where, const TomlNode& root) {
  PortSpec port;
  if (!root.member("port")) return port;
  Contract unused;
  const Reading reading{where, root, unused};
  AKO_TRY(const Section section, table_section(reading, "port"));
  AKO_TRY_STATUS(section.known_keys_only());
  port.declared = true;
  AKO_TRY_STATUS(section.require("repository"));
  AKO_TRY_STATUS(section.read("repository", port.repository));
  AKO_TRY_STATUS(section.read("branch", port.branch));
  AKO_TRY_STATUS(section.require("folder"));
  AKO_TRY_STATUS(read_inside(section, "folder", port.folder));
  AKO_TRY_STATUS(read_inside(section, "call_site", port.call_site));
  AKO_TRY_STATUS(section.read("call", port.call));
  AKO_TRY_STATUS(read_list(section, "patches", port.patches));
  AKO_TRY_STATUS(read_list(section, "paths", port.paths));
  AKO_TRY_STATUS(read_switch(section, port));
  AKO_TRY_STATUS(section.read("build", port.build));
  AKO_TRY_STATUS(section.read("build_seconds", port.build_seconds, k_port_seconds));
  AKO_TRY_STATUS(read_inside(section, "library", port.library));
  AKO_TRY_STATUS(section.read("measure", port.measure));
  AKO_TRY_STATUS(read_inside(section, "compile_commands", port.compile_commands));
  AKO_TRY_STATUS(check_integration(section, port));
  return port;
}

} // namespace

Expected<PortSpec> parse_port(std::string_view toml, std::string_view where) {
  AKO_TRY(const TomlNode root, read_toml(toml, where));
  return read_port(where, root);
}

Expected<PortSpec> load_port(const std::filesystem::path& task_dir) {
  const std::filesystem::path path = task_dir / "task.toml";
  AKO_TRY(const std::string text, base::read_file(path, k_most_bytes));
  return parse_port(text, path.string());
}

Status check_port(const Reading& reading) {
  return read_port(reading.file, reading.root).map([](const PortSpec&) {});
}

} // namespace ako::model
