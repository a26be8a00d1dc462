// Files and folders.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ako::base {

namespace fs = std::filesystem;

/// The file's content; kind invalid when it is larger than `most` bytes (it is not read then), io
/// otherwise.
Expected<std::string> read_file(const fs::path& path, std::uint64_t most = 64u << 20);
/// Whole or not at all: temporary file beside it, fsync, rename. Parent folders are made.
Status write_file_atomic(const fs::path& path, std::string_view content);
Status make_dirs(const fs::path& path);
/// Removes a tree that ako made. Refuses "/" , the home folder and anything not below `inside`.
Status remove_tree(const fs::path& path, const fs::path& inside);
/// Regular files below `root`, relative, sorted; symbolic links are not followed and not listed.
Expected<std::vector<fs::path>> list_files(const fs::path& root);
/// Resolves `relative` below `root`; kind invalid when it is absolute, has "..", or a symbolic link
/// leads outside.
Expected<fs::path> resolve_inside(const fs::path& root, const fs::path& relative);
std::uint64_t free_bytes(const fs::path& path);
/// True on NFS, SMB, 9p, FUSE and the like.
bool on_network_file_system(const fs::path& path);
/// The same of a file system's number (f_type of statfs).
bool is_network_type(std::uint64_t type);

/// A private folder below $TMPDIR, removed with its content by the destructor.
class TemporaryDir {
public:
  static Expected<TemporaryDir> make(std::string_view prefix);
  TemporaryDir(TemporaryDir&&) noexcept;
  TemporaryDir& operator=(TemporaryDir&&) noexcept;
  ~TemporaryDir();
  const fs::path& path() const { return m_path; }

private:
  TemporaryDir() = default;
  fs::path m_path;
};

/// An advisory lock on a file, held until destruction.
class FileLock {
public:
  enum class Wait { no, yes };
  /// With Wait::no a lock held elsewhere is kind refused, found = the holder's pid where it can be
  /// known.
  static Expected<FileLock> take(const fs::path& path, Wait wait);
  FileLock(FileLock&&) noexcept;
  FileLock& operator=(FileLock&&) noexcept;
  ~FileLock();

private:
  FileLock() = default;
  int m_fd = -1;
};

} // namespace ako::base
