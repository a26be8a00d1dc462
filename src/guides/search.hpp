// Full text over the guides and, where there is one, the CUDA toolkit's own headers and documents.
// Offline. The indices (SQLite FTS5, words only; passages are read from their files) lie in a cache
// and are made anew when what they were made from has changed.
#pragma once

#include "guides/library.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ako::guides {

/// What is indexed besides the guides. Empty: not here.
struct ToolkitPlace {
  base::fs::path root;                 ///< holds include/ and perhaps doc/
  std::vector<base::fs::path> folders; ///< further ones with documents: Nsight Compute's
  std::string ncu;                     ///< program that prints the names of metrics
  bool empty() const { return root.empty() && folders.empty() && ncu.empty(); }
};
/// $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, and Nsight Compute on PATH, below the root or in /opt.
ToolkitPlace find_toolkit();

struct Hit {
  enum class Source { guide, toolkit };
  Source source = Source::guide;
  std::string id;       ///< of the guide; empty in the toolkit
  std::string file;     ///< absolute
  std::string heading;  ///< "Numerics and tolerances > How > The types"; a header's name
  std::size_t line = 0; ///< from 1, of the line that answers best
  std::string excerpt;  ///< that line and what follows, at most 240 characters, on one line
  double score = 0;     ///< larger is better; comparable within one source
};

class Search {
public:
  /// `cache`: folder for the indices, made when missing.
  explicit Search(base::fs::path cache) : m_cache(std::move(cache)) {}

  /// Guides first, then the toolkit, each at most `limit` and best first. Passages with all words
  /// come before those with some; the toolkit's with some only where none has all. Kind usage when
  /// no word is left to search for.
  base::Expected<std::vector<Hit>> find(const Library& library,
                                        const std::optional<ToolkitPlace>& toolkit,
                                        const std::vector<std::string>& words, std::size_t limit);

private:
  base::fs::path m_cache;
};

/// A piece of a text that is found as one: consecutive lines below one heading.
struct Passage {
  std::string heading;
  std::size_t line = 1; ///< of its first line
  std::size_t offset = 0, bytes = 0;
};
enum class TextKind { markdown, code };
/// At headings (outside code fences) and, where a piece is longer than `most` lines, at the next
/// blank line or after half as many again.
std::vector<Passage> passages(std::string_view text, const std::string& title, TextKind kind,
                              std::size_t most = 30);

} // namespace ako::guides
