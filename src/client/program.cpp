// Where the child program is.
#include "client/keeper.hpp"

#include <cstdlib>
#include <unistd.h>

namespace ako::client {

base::Expected<std::filesystem::path> find_child_program() {
  namespace fs = std::filesystem;
  if (const char* given = std::getenv("AKO_CHILD"); given && *given) {
    if (access(given, X_OK) == 0) return fs::path(given);
    return base::fail(base::ErrorKind::environment, "AKO_CHILD names no program",
                      {.found = given, .allowed = "the path of ako-child"});
  }
  std::error_code ignored;
  const auto folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& candidate :
       {folder / "ako-child", folder / "../bin/ako-child", folder / "../libexec/ako/ako-child"})
    if (access(candidate.c_str(), X_OK) == 0) return fs::weakly_canonical(candidate, ignored);
  return base::fail(base::ErrorKind::environment, "ako-child is missing",
                    {.where = folder.string(),
                     .allowed = "beside ako, or in ../libexec/ako",
                     .next = "install ako again, or set AKO_CHILD"});
}

base::Expected<std::filesystem::path> find_worker_library(const std::filesystem::path& program) {
  namespace fs = std::filesystem;
  constexpr const char* k_name = "libako_worker.so.1";
  std::error_code ignored;
  const auto folder = fs::weakly_canonical(program, ignored).parent_path();
  for (const auto& candidate :
       {folder / "../lib" / k_name, folder / k_name, folder / "../../lib" / k_name})
    if (fs::is_regular_file(candidate, ignored)) return fs::weakly_canonical(candidate, ignored);
  return base::fail(base::ErrorKind::environment, "the worker's library is missing",
                    {.where = folder.string(),
                     .found = std::string("no ") + k_name,
                     .allowed = "in ../lib beside the programs",
                     .next = "install ako again"});
}

} // namespace ako::client
