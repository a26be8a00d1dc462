// What a saved profile is, by its first bytes.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace ako::profiles {

constexpr std::uint64_t k_most_csv = std::uint64_t(1) << 31;
/// The message of read_ncu for a text that holds nothing of ncu's at all.
constexpr std::string_view k_no_ncu_table = "no table of ncu's found";

enum class FileKind {
  sqlite,
  trace,         ///< JSON, plain or gzipped
  text,          ///< CSV or a tool's output
  binary_report, ///< .ncu-rep, .nsys-rep: only the vendor's tools read them
};

/// io: unreadable.
base::Expected<FileKind> kind_of_file(const std::filesystem::path& path);
base::Error binary_report_error(const std::filesystem::path& path);

} // namespace ako::profiles
