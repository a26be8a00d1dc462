#include "guides/index.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <unistd.h>

namespace ako::guides {

using base::Database;
using base::Expected;
using base::Statement;
namespace fs = base::fs;

namespace {

constexpr const char* k_schema = R"sql(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE file(number INTEGER PRIMARY KEY, path TEXT NOT NULL, id TEXT NOT NULL);
CREATE TABLE passage(number INTEGER PRIMARY KEY, file INTEGER NOT NULL, line INTEGER NOT NULL,
                     start INTEGER NOT NULL, bytes INTEGER NOT NULL, heading TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(heading, body, content = '', tokenize = 'porter unicode61');
)sql";

constexpr std::uint64_t k_largest_file = 4u << 20;

/// A heading with nothing below it but the next one.
bool only_heading(std::string_view body) {
  if (!body.starts_with('#')) return false;
  const auto end = body.find('\n');
  return end == body.npos || body.find_first_not_of(" \t\r\n", end) == body.npos;
}

class Builder {
public:
  explicit Builder(Database& db) : m_db(db) {}

  base::Status prepare() {
    AKO_TRY_STATUS(m_db.exec(k_schema));
    AKO_TRY_STATUS(m_db.exec("BEGIN"));
    AKO_TRY(Statement file, m_db.prepare("INSERT INTO file VALUES(?, ?, ?)"));
    AKO_TRY(Statement passage, m_db.prepare("INSERT INTO passage VALUES(?, ?, ?, ?, ?, ?)"));
    AKO_TRY(Statement words,
            m_db.prepare("INSERT INTO words(rowid, heading, body) VALUES(?, ?, ?)"));
    m_file.emplace(std::move(file));
    m_passage.emplace(std::move(passage));
    m_words.emplace(std::move(words));
    return {};
  }

  base::Status add(const IndexedFile& from) {
    const auto text = base::read_file(from.path, k_largest_file);
    if (!text || text->find('\0') != std::string::npos) return {}; // gone, too large, or no text
    m_file->bind(1, ++m_files)
        .bind(2, std::string_view(from.path))
        .bind(3, std::string_view(from.id));
    AKO_TRY_STATUS(m_file->run());
    for (const Passage& one : passages(*text, from.title, from.kind)) {
      const std::string_view body = std::string_view(*text).substr(one.offset, one.bytes);
      if (one.line == 1 && body.starts_with("---\n")) continue; // a guide's head
      if (only_heading(body)) continue;
      m_words->bind(1, ++m_passages).bind(2, std::string_view(one.heading)).bind(3, body);
      AKO_TRY_STATUS(m_words->run());
      m_passage->bind(1, m_passages).bind(2, m_files).bind(3, static_cast<std::int64_t>(one.line));
      m_passage->bind(4, static_cast<std::int64_t>(one.offset));
      m_passage->bind(5, static_cast<std::int64_t>(one.bytes));
      m_passage->bind(6, std::string_view(one.heading));
      AKO_TRY_STATUS(m_passage->run());
    }
    return {};
  }

  base::Status finish() {
    m_file.reset();
    m_passage.reset();
    m_words.reset();
    return m_db.exec("COMMIT");
  }

private:
  Database& m_db;
  std::optional<Statement> m_file, m_passage, m_words;
  std::int64_t m_files = 0, m_passages = 0;
};

base::Status make_index(const fs::path& path, const std::vector<IndexedFile>& files) {
  AKO_TRY(Database db, Database::open(path, Database::Mode::create));
  Builder builder(db);
  AKO_TRY_STATUS(builder.prepare());
  for (const IndexedFile& file : files) AKO_TRY_STATUS(builder.add(file));
  return builder.finish();
}

void remove_earlier(const fs::path& cache, const std::string& name, const fs::path& keep) {
  std::error_code why;
  for (const auto& entry : fs::directory_iterator(cache, why)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name + "-") && file.ends_with(".sqlite") && entry.path() != keep)
      fs::remove(entry.path(), why);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Some bytes of a file; none when it is gone or has become shorter.
std::string read_part(const std::string& path, std::int64_t start, std::int64_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string out(static_cast<std::size_t>(bytes), ' ');
  file.seekg(start);
  if (!file.read(out.data(), bytes)) return {};
  return out;
}

/// An FTS5 string: what is inside is words and nothing else.
std::string quoted(const std::string& word) {
  std::string out = "\"";
  for (const char c : word) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : between) + quoted(word);
  return out;
}

/// A word without the end that its forms differ in: enough to find its line.
std::string stem(const std::string& word) {
  return word.size() > 5 ? word.substr(0, word.size() - 2) : word;
}

/// The line of the passage with the most of the words, and what follows it, on one line.
void show_best(std::string_view body, const std::vector<std::string>& words, Hit& hit) {
  std::size_t best = 0, best_line = 0, best_at = 0, number = 0;
  for (std::size_t at = 0; at < body.size(); ++number) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    const std::string line = lower(body.substr(at, end - at));
    std::size_t count = 0;
    for (const auto& word : words) count += line.find(stem(lower(word))) != std::string::npos;
    if (count > best) best = count, best_line = number, best_at = at;
    at = end + 1;
  }
  hit.line += best_line;
  constexpr std::size_t k_most = 240;
  bool space = true;
  for (const char c : body.substr(best_at)) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!(blank && space)) hit.excerpt += blank ? ' ' : c;
    space = blank;
    if (hit.excerpt.size() >= k_most) break;
  }
  // Cut inside a character of several bytes: what is there of it goes.
  if (hit.excerpt.size() >= k_most)
    while (!hit.excerpt.empty() && (hit.excerpt.back() & 0x80) != 0) hit.excerpt.pop_back();
}

} // namespace

Expected<Database> open_index(const fs::path& cache, const std::string& name, const base::Hash& key,
                              const std::function<Expected<std::vector<IndexedFile>>()>& files) {
  const fs::path path = cache / fmt::format("{}-{}.sqlite", name, key.substr(0, 16));
  std::error_code why;
  if (!fs::is_regular_file(path, why)) {
    AKO_TRY_STATUS(base::make_dirs(cache));
    AKO_TRY(const std::vector<IndexedFile> list, files());
    const fs::path fresh = path.string() + fmt::format(".{}", ::getpid());
    fs::remove(fresh, why);
    if (auto made = make_index(fresh, list); !made) {
      fs::remove(fresh, why);
      return tl::unexpected(std::move(made).error());
    }
    fs::rename(fresh, path, why);
    if (why)
      return base::fail_errno("the index could not be put in place", path.string(), why.value());
    remove_earlier(cache, name, path);
  }
  return Database::open(path, Database::Mode::read_only);
}

Expected<std::vector<Hit>> query_index(Database& db, Hit::Source source,
                                       const std::vector<std::string>& words, std::size_t limit) {
  std::vector<Hit> out;
  std::set<std::string> seen; // files: the best passage of each
  for (const char* between : {" AND ", " OR "}) {
    const bool any = between[1] == 'O';
    if (out.size() >= limit || (words.size() == 1 && any)) break;
    // Headers that have some of the words are many and tell little; they are for when none has all.
    if (any && source == Hit::Source::toolkit && !out.empty()) break;
    AKO_TRY(Statement select,
            db.prepare("SELECT p.number, f.id, f.path, p.heading, p.line, p.start, p.bytes, "
                       "hits.score FROM (SELECT rowid AS number, -bm25(words, 2.0, 1.0) AS score "
                       "FROM words WHERE words MATCH ? ORDER BY bm25(words, 2.0, 1.0) LIMIT ?) AS "
                       "hits JOIN passage AS p ON p.number = hits.number JOIN file AS f ON "
                       "f.number = p.file ORDER BY hits.score DESC"));
    const std::string match = joined(words, between);
    select.bind(1, std::string_view(match)).bind(2, static_cast<std::int64_t>(8 * limit));
    while (out.size() < limit) {
      AKO_TRY(const bool more, select.step());
      if (!more) break;
      if (!seen.insert(select.text(2)).second) continue;
      Hit hit;
      hit.source = source;
      hit.id = select.text(1);
      hit.file = select.text(2);
      hit.heading = select.text(3);
      hit.line = static_cast<std::size_t>(select.integer(4));
      hit.score = select.real(7);
      const std::string body = read_part(hit.file, select.integer(5), select.integer(6));
      if (body.empty()) continue; // removed since
      show_best(body, words, hit);
      out.push_back(std::move(hit));
    }
  }
  return out;
}

} // namespace ako::guides
