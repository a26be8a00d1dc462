// Answers that fit: a large JSON value cut to a number of bytes, and the rest in pages.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ako::mcp {

inline constexpr std::size_t k_brief_bytes = 4096;      ///< of a whole tool result
inline constexpr std::size_t k_stamp_bytes = 192;       ///< of it, for what the protocol adds
inline constexpr std::size_t k_full_bytes = 256u << 10; ///< with detail = "full"

struct Cut {
  std::string path; ///< JSON pointer of what is not shown whole
  std::size_t kept = 0, of = 0;
};

struct Brief {
  base::Json value;
  std::vector<Cut> cuts;
};

/// `value` with long texts shortened, long lists cut (of "rows" and "lessons" the last are kept),
/// and last of all members left out, until it takes at most `bytes` as compact JSON. Types stay
/// what they are. The members named in `whole` of the top object are not touched while anything
/// else can be.
Brief brief(const base::Json& value, std::size_t bytes, const std::vector<std::string>& whole);

/// At most `bytes` of `text`, whole characters; ends in an ellipsis when something is missing.
std::string shorten(std::string_view text, std::size_t bytes);

/// A part of a value: of a text, list or object what fits from `cursor` on.
struct Page {
  base::Json value;
  std::int64_t next = 0;              ///< cursor of the next page; 0 = this was the last
  std::size_t of = 0;                 ///< bytes, items or members in all
  std::vector<std::string> too_large; ///< pointers of members that fill a page alone
};
/// Kind invalid when there is nothing at `pointer`, or the cursor lies behind its end.
base::Expected<Page> page(const base::Json& whole, const std::string& pointer, std::int64_t cursor,
                          std::size_t bytes);

/// The last answers that were cut, so that asking for more runs nothing again.
class Kept {
public:
  /// Its name: "r1", "r2", ...
  std::string add(base::Json value);
  const base::Json* find(const std::string& name) const;
  std::string names() const;

private:
  struct Entry {
    std::string name;
    base::Json value;
    std::size_t bytes;
  };
  std::deque<Entry> m_entries;
  std::size_t m_bytes = 0;
  std::int64_t m_count = 0;
};

} // namespace ako::mcp
