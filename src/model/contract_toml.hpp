// Reading task.toml. Every error names file:line:column, the key, what was found, what is allowed
// and the nearest key.
#pragma once

#include "base/error.hpp"
#include "model/contract.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace ako::model {

/// Parses and checks all that can be checked without looking at other files. `where` names the file
/// in errors.
base::Expected<Contract> parse_contract(std::string_view toml, std::string_view where);
/// Reads `task_dir`/task.toml, parses it and checks that the files it names exist inside the task
/// folder.
base::Expected<Contract> load_contract(const std::filesystem::path& task_dir);

/// The contract as ako understood it: every default spelled out, canonical order. parse(echo(c)) ==
/// c. Contract::hash is that of the echo without gates.
std::string echo_toml(const Contract& contract);
base::Json to_json(const Contract& contract);
/// `text` as a basic string, quotation marks included.
std::string toml_string(std::string_view text);

} // namespace ako::model
