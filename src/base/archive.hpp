// A tar archive, gzipped: files alone, nothing of who made it or when, so that the same files give
// the same bytes.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ako::base {

struct ArchiveFile {
  std::string path; ///< relative, '/' between parts, without ".."
  std::string content;
};

/// Whole or not at all. Kind invalid: a path that no archive may hold, or the same one twice.
Status write_archive(const std::filesystem::path& path, const std::vector<ArchiveFile>& files);

/// Kind invalid, naming the place, for what is no such archive, is cut off or damaged, holds links
/// or devices, leads out of its folder, or unpacks to more than `most` bytes.
Expected<std::vector<ArchiveFile>> read_archive(const std::filesystem::path& path,
                                                std::uint64_t most = 1u << 30);

} // namespace ako::base
