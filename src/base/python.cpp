#include "base/python.hpp"

#include <cstdlib>
#include <unistd.h>

namespace ako::base {

std::vector<PythonChoice>
python_choices(const std::function<std::string(const char*)>& variable,
               const std::function<bool(const std::string&)>& is_program) {
  if (std::string own = variable("AKO_PYTHON"); !own.empty())
    return {{std::move(own), "AKO_PYTHON"}};
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string folder = variable(name); !folder.empty())
      if (std::string path = folder + "/bin/python"; is_program(path))
        return {{std::move(path), name}};
  return {{"python3", "PATH"}, {"python", "PATH"}};
}

PythonChoice own_python() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  return python_choices(variable,
                        [](const std::string& path) { return access(path.c_str(), X_OK) == 0; })
      .front();
}

} // namespace ako::base
