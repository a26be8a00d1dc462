#include "guides/reading.hpp"

#include "model/nearest.hpp"

#include <algorithm>
#include <charconv>

namespace ako::guides {
namespace {

struct Known {
  const Library* library;
  const std::vector<std::string>& findings;
  std::int64_t iterations;

  std::vector<std::string> words() const {
    std::vector<std::string> out = findings;
    if (library)
      for (const auto& id : library->ids()) out.push_back(id);
    return out;
  }
  bool holds(const std::string& id) const {
    if (library && library->find(id)) return true;
    if (std::find(findings.begin(), findings.end(), id) != findings.end()) return true;
    if (!id.starts_with("iter-")) return false;
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(id.data() + 5, id.data() + id.size(), number);
    return code == std::errc() && end == id.data() + id.size() && number >= 1 &&
           number <= iterations;
  }
};

/// Parts at commas and white space.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == ',' || c == ' ' || c == '\t' || c == '\n') out.emplace_back();
    else out.back() += c;
  std::erase(out, std::string());
  return out;
}

/// What stands between [ and ] in the text, where it could be an id.
std::vector<std::string> brackets_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = text.find('[', at)) != text.npos; ++at) {
    const auto end = text.find(']', at);
    if (end == text.npos) break;
    const std::string inside = text.substr(at + 1, end - at - 1);
    const bool word =
        inside.size() > 2 && std::all_of(inside.begin(), inside.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        });
    if (word) out.push_back(inside);
  }
  return out;
}

tl::unexpected<base::Error> no_such(const std::string& where, const std::string& id,
                                    const Known& known) {
  std::string next = model::did_you_mean(id, known.words());
  if (next.empty()) next = "ako refs search " + id;
  return base::fail(base::ErrorKind::usage, "there is neither a guide nor a finding of this id",
                    {.where = where,
                     .found = id,
                     .allowed = "an id of `ako refs --all`, a finding of `ako diagnose`, or iter-N "
                                "of an iteration on record",
                     .next = std::move(next)});
}

} // namespace

const char* to_string(ReadState state) {
  switch (state) {
  case ReadState::unread: return "not read";
  case ReadState::read: return "read";
  case ReadState::changed: return "changed since it was read";
  }
  return "";
}

std::vector<ReadItem> reading(const std::vector<Required>& required,
                              const std::vector<Receipt>& receipts) {
  std::vector<ReadItem> out;
  for (const Required& one : required) {
    ReadItem item{one.guide, one.why, ReadState::unread, 0};
    for (const Receipt& receipt : receipts) {
      if (receipt.id != one.guide->id) continue;
      item.state = receipt.hash == one.guide->hash ? ReadState::read : ReadState::changed;
      item.read_ns = receipt.ts_ns;
    }
    out.push_back(std::move(item));
  }
  return out;
}

std::vector<std::string> to_read(const std::vector<ReadItem>& items) {
  std::vector<std::string> out;
  for (const ReadItem& item : items)
    if (item.state != ReadState::read) out.push_back(item.guide->id);
  return out;
}

base::Expected<Cited> citations(const std::string& hypothesis, const std::string& cites,
                                const Library* library, const std::vector<std::string>& findings,
                                std::int64_t iterations) {
  const Known known{library, findings, iterations};
  Cited out;
  const auto add = [&](const std::string& id) {
    if (std::find(out.ids.begin(), out.ids.end(), id) == out.ids.end()) out.ids.push_back(id);
  };
  for (const auto& id : words_of(cites)) {
    if (library && !known.holds(id)) return no_such("--cites", id, known);
    add(id);
  }
  for (const auto& id : brackets_of(hypothesis)) {
    if (known.holds(id)) add(id);
    else if (library && !model::nearest(id, known.words()).empty())
      return no_such("--hypothesis", id, known);
  }
  return out;
}

} // namespace ako::guides
