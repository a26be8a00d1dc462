#include "base/archive.hpp"

#include "base/fs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <unistd.h>
#include <zlib.h>

namespace ako::base {

namespace {

constexpr std::size_t k_block = 512, k_name = 100;

/// Fields of a ustar header that are used here: offset and size.
struct Field {
  std::size_t at, size;
};
constexpr Field k_mode{100, 8}, k_owner{108, 8}, k_group{116, 8}, k_size{124, 12}, k_time{136, 12},
    k_sum{148, 8}, k_magic{257, 8};
constexpr std::size_t k_type = 156;

using Block = std::array<char, k_block>;

bool lawful(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.size() > 4096) return false;
  if (path.find('\0') != std::string::npos || path.back() == '/') return false;
  for (const auto& part : fs::path(path))
    if (part == ".." || part == ".") return false;
  return true;
}

void put(Block& block, Field field, std::uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, field.size - 1);
  std::memcpy(block.data() + field.at, digits.data(), std::min(digits.size(), field.size - 1));
}

unsigned sum_of(Block block) {
  std::memset(block.data() + k_sum.at, ' ', k_sum.size);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  return sum;
}

Block header(const std::string& name, std::uint64_t size, char type) {
  Block block{};
  std::memcpy(block.data(), name.data(), std::min(name.size(), k_name));
  put(block, k_mode, 0644);
  put(block, k_owner, 0);
  put(block, k_group, 0);
  put(block, k_size, size);
  put(block, k_time, 0);
  std::memcpy(block.data() + k_magic.at, "ustar\00000", k_magic.size);
  block[k_type] = type;
  const std::string sum = fmt::format("{:06o}", sum_of(block));
  std::memcpy(block.data() + k_sum.at, sum.data(), 6);
  block[k_sum.at + 6] = '\0';
  block[k_sum.at + 7] = ' ';
  return block;
}

void add(std::string& out, const std::string& name, const std::string& content, char type) {
  const Block block = header(name, content.size(), type);
  out.append(block.data(), block.size());
  out += content;
  out.append((k_block - content.size() % k_block) % k_block, '\0');
}

std::uint64_t number_in(const Block& block, Field field) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < field.size; ++i) {
    const char c = block[field.at + i];
    if (c >= '0' && c <= '7') value = value * 8 + static_cast<std::uint64_t>(c - '0');
    else if (value > 0 || c == '\0') break;
  }
  return value;
}

class Reader {
public:
  Reader(const std::filesystem::path& path, std::uint64_t most)
      : m_path(path), m_most(most), m_file(::gzopen(path.c_str(), "rb"), ::gzclose) {}

  Expected<std::vector<ArchiveFile>> run() {
    if (!m_file) return fail_errno("the archive could not be opened", m_path.string(), errno);
    std::vector<ArchiveFile> out;
    std::set<std::string> names;
    while (true) {
      AKO_TRY(const std::string head, take(k_block));
      Block block;
      std::copy(head.begin(), head.end(), block.begin());
      if (std::all_of(block.begin(), block.end(), [](char c) { return c == 0; })) break;
      if (number_in(block, k_sum) != sum_of(block)) return bad("a header's sum is wrong");
      AKO_TRY(std::string content, take_padded(number_in(block, k_size)));
      if (block[k_type] == 'L') {
        m_long_name = content.c_str(); // ends at its first NUL
        continue;
      }
      if (block[k_type] != '0' && block[k_type] != '\0')
        return bad(fmt::format("an entry of type '{}': only files may stand there", block[k_type]));
      std::string name = m_long_name.empty()
                             ? std::string(block.data(), ::strnlen(block.data(), k_name))
                             : std::move(m_long_name);
      m_long_name.clear();
      if (!lawful(name)) return bad("a name that leads elsewhere: " + name);
      if (!names.insert(name).second) return bad("a file that stands there twice: " + name);
      out.push_back({std::move(name), std::move(content)});
    }
    // To its end: only then has zlib seen the checksum.
    while (true) {
      char rest[4096];
      const int got = ::gzread(m_file.get(), rest, sizeof rest);
      if (got < 0) return bad("damaged: " + gz_error());
      if (got == 0) break;
    }
    // A stream that ends before its checksum is no error to gzread, which returns 0.
    int code = Z_OK;
    (void)::gzerror(m_file.get(), &code);
    if (code != Z_OK && code != Z_STREAM_END) return bad("cut off or damaged");
    return out;
  }

private:
  std::string gz_error() {
    int code = 0;
    return ::gzerror(m_file.get(), &code);
  }
  tl::unexpected<Error> bad(std::string found) {
    return fail(ErrorKind::invalid, "this is no whole archive of ako",
                {.where = m_path.string(),
                 .found = std::move(found),
                 .allowed = "what `ako report --archive` wrote",
                 .next = "fetch it again from where it came"});
  }

  Expected<std::string> take(std::uint64_t count) {
    m_taken += count;
    if (m_taken > m_most) return bad(fmt::format("more than {} bytes", m_most));
    std::string out(count, '\0');
    for (std::uint64_t at = 0; at < count;) {
      const auto want = static_cast<unsigned>(std::min<std::uint64_t>(count - at, 1u << 30));
      const int got = ::gzread(m_file.get(), out.data() + at, want);
      if (got < 0) return bad("damaged: " + gz_error());
      if (got == 0) return bad("cut off");
      at += static_cast<std::uint64_t>(got);
    }
    return out;
  }

  Expected<std::string> take_padded(std::uint64_t size) {
    if (size > m_most) return bad(fmt::format("more than {} bytes", m_most));
    AKO_TRY(std::string out, take((size + k_block - 1) / k_block * k_block));
    out.resize(size);
    return out;
  }

  std::filesystem::path m_path;
  std::uint64_t m_most, m_taken = 0;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> m_file;
  std::string m_long_name;
};

} // namespace

Status write_archive(const std::filesystem::path& path, const std::vector<ArchiveFile>& files) {
  std::string text;
  std::set<std::string> names;
  for (const auto& file : files) {
    if (!lawful(file.path) || !names.insert(file.path).second)
      return fail(ErrorKind::invalid, "no archive may hold this path",
                  {.where = path.string(),
                   .found = file.path,
                   .allowed = "relative paths, each once",
                   .next = "rename the file"});
    if (file.path.size() > k_name) add(text, "././@LongLink", file.path + '\0', 'L');
    add(text, file.path, file.content, '0');
  }
  text.append(2 * k_block, '\0');
  AKO_TRY(const TemporaryDir scratch, TemporaryDir::make("ako-archive-"));
  const std::filesystem::path packed = scratch.path() / "a.tar.gz";
  gzFile file = ::gzopen(packed.c_str(), "wb6");
  if (file == nullptr)
    return fail_errno("the archive could not be written", packed.string(), errno);
  bool good = true;
  for (std::size_t at = 0; at < text.size() && good; at += 1u << 28) {
    const auto count = static_cast<unsigned>(std::min<std::size_t>(text.size() - at, 1u << 28));
    good = ::gzwrite(file, text.data() + at, count) == static_cast<int>(count);
  }
  good = ::gzclose(file) == Z_OK && good;
  if (!good)
    return fail(
        ErrorKind::io, "the archive could not be written",
        {.where = packed.string(), .found = "zlib", .allowed = {}, .next = "free some space"});
  AKO_TRY(const std::string bytes, read_file(packed, UINT64_MAX));
  return write_file_atomic(path, bytes);
}

Expected<std::vector<ArchiveFile>> read_archive(const std::filesystem::path& path,
                                                std::uint64_t most) {
  return Reader(path, most).run();
}

} // namespace ako::base
