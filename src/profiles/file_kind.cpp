#include "profiles/file_kind.hpp"

#include <cctype>
#include <cerrno>
#include <fstream>

namespace ako::profiles {

base::Expected<FileKind> kind_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::fail_errno("the profile cannot be read", path.string(), errno);
  char bytes[64] = {};
  file.read(bytes, sizeof bytes);
  const std::string_view head(bytes, static_cast<std::size_t>(file.gcount()));
  if (head.starts_with("SQLite format 3")) return FileKind::sqlite;
  if (head.starts_with("\x1f\x8b")) return FileKind::trace;
  const auto extension = path.extension();
  if (head.starts_with("NVR") || extension == ".ncu-rep" || extension == ".ncu-repz" ||
      extension == ".nsys-rep" || extension == ".qdrep")
    return FileKind::binary_report;
  const std::size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return FileKind::text;
  // "[Thread debugging using ...": a debugger's words; in a list JSON begins, no letter.
  const auto begins = head.find_first_not_of(" \t\r\n", first + 1);
  const bool words = begins != std::string_view::npos &&
                     std::isalpha(static_cast<unsigned char>(head[begins])) != 0;
  if (head[first] == '{' || (head[first] == '[' && !words)) return FileKind::trace;
  return FileKind::text;
}

base::Error binary_report_error(const std::filesystem::path& path) {
  return {base::ErrorKind::unsupported,
          "a binary report of the profiler is not read",
          path.string(),
          path.extension().string(),
          "CSV or sqlite",
          "export it: ncu --import FILE --csv --page raw, or nsys export --type sqlite FILE"};
}

} // namespace ako::profiles
