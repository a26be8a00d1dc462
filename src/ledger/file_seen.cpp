#include "ledger/file_seen.hpp"

#include "ledger/fields.hpp"

namespace ako::ledger {

base::Json files_json(const std::vector<FileSeen>& files) {
  base::Json out = base::Json::array();
  for (const FileSeen& each : files)
    out.push_back({{"role", each.role}, {"path", each.path}, {"hash", each.hash}});
  return out;
}

base::Expected<FileSeen> file_from(const base::Json& json) {
  FileSeen f;
  return Fields(json, "files")
      .read("role", f.role)
      .read("path", f.path)
      .read("hash", f.hash)
      .finish(f);
}

} // namespace ako::ledger
