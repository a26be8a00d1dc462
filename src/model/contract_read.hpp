// The readers of task.toml's sections, and the checks across them. Internal to this room.
#pragma once

#include "base/fs.hpp"
#include "model/contract.hpp"
#include "model/toml_section.hpp"

namespace ako::model {

/// One reading in progress: the tree gives the places of errors.
struct Reading {
  std::string_view file;
  const TomlNode& root;
  Contract& contract;
};

base::Status read_kernel(const Reading& reading);
base::Status read_axes(const Reading& reading);
base::Status read_tensors(const Reading& reading);
base::Status read_scalars(const Reading& reading);
base::Status read_shapes(const Reading& reading);
base::Status read_reference(const Reading& reading);
base::Status read_baselines(const Reading& reading);
base::Status read_judging(const Reading& reading); ///< tolerance, cost, accept
base::Status read_extras(const Reading& reading);  ///< tunables, gates, limits
base::Status check_port(const Reading& reading);   ///< [port] is lawful, where it stands
/// Expressions of expr axes name axes that are there, and no axis rests on itself.
base::Status check_axes(const Reading& reading);
/// Names, roles, properties and arguments across sections.
base::Status check_contract(const Reading& reading);
/// Every shape resolves: sizes, strides, limits, scalars and costs.
base::Status check_shapes(const Reading& reading);
/// Files and folders that the contract names are there, below `task`; none that judges, is measured
/// against or fills inputs is the candidate's.
base::Status check_files(const Reading& reading, const base::fs::path& task);

/// Kind invalid when a list is longer than a contract can need; bounds the work of all checks.
base::Status check_count(const Section& section, std::size_t count, std::size_t most,
                         std::string_view what);

/// The table [key]; an empty one where it is absent. Kind invalid when it is no table.
base::Expected<Section> table_section(const Reading& reading, std::string_view key);

bool is_identifier(std::string_view text);
base::Status check_identifier(const Section& section, std::string_view key);
/// entry = { file, symbol } of `lane`.
base::Status read_entry(const Section& section, Lane lane, EntryRef& into);
/// The lane of a reference or baseline that names none: by its file's ending, else `usual`.
Lane lane_of_entry(const Section& section, Lane usual);
base::Status read_paths(const Section& section, std::string_view key, Lane lane,
                        std::vector<std::string>& into);
base::Status check_symbol(const Section& section, std::string_view key, const std::string& symbol,
                          Lane lane);
/// Relative, inside the task, of plain characters.
base::Status check_path(const Section& section, const TomlNode& node, std::string_view key,
                        const std::string& path);
/// Every name of the expression is a declared axis that is a number.
base::Status check_names(const Reading& reading, const Section& section, const TomlNode& node,
                         std::string_view key, const Expression& expression);

} // namespace ako::model
