// The guides as they lie in references/: found beside the program, read whole, named by content.
#pragma once

#include "base/error.hpp"
#include "base/fs.hpp"
#include "base/hash.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ako::guides {

struct Guide {
  std::string id, title;
  std::vector<std::string> lanes, architectures, families, findings; ///< "any" holds for all
  base::fs::path file;
  std::string text;     ///< the whole file
  std::size_t body = 0; ///< where the text behind the front matter begins
  base::Hash hash;      ///< of the whole file: another hash is another guide
  std::size_t lines = 0;

  std::string_view shown() const { return std::string_view(text).substr(body); }
};

class Library {
public:
  /// $AKO_REFERENCES, share/ako/references beside the program, or references/ of the source tree
  /// above it. Kind environment when there is none.
  static base::Expected<base::fs::path> find_folder();
  /// Every guide of the folder, by id. Files whose names begin with a capital are no guides. What a
  /// process has read it reads again only when a file has changed since.
  static base::Expected<Library> load(const base::fs::path& folder);

  const std::vector<Guide>& guides() const { return m_guides; }
  const base::fs::path& folder() const { return m_folder; }
  const Guide* find(std::string_view id) const;
  /// The same; kind usage with the nearest id when there is no such guide.
  base::Expected<const Guide*> get(const std::string& id) const;
  std::vector<std::string> ids() const;
  /// Guides that answer a finding of `ako diagnose`.
  std::vector<const Guide*> answering(std::string_view finding) const;

private:
  base::fs::path m_folder;
  std::vector<Guide> m_guides;
};

/// Where a folder that comes with the program may lie: $variable alone where it is set, else
/// share/ako/<name> beside bin/, then <name> in each folder above the program.
std::vector<base::fs::path> places_of(const char* variable, const std::string& name);

} // namespace ako::guides
