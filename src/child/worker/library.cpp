#include "worker/library.hpp"

#include "device/abi.hpp"
#include "worker/refused.hpp"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <set>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::worker {
namespace {

constexpr std::size_t k_most_bytes = std::size_t{1} << 31;

protocol::Outcome<SealedFile> seal(int source, std::size_t bytes, const std::string& path) {
  SealedFile sealed;
  sealed.fd = base::UniqueFd(memfd_create("artifact", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!sealed.fd || ftruncate(sealed.fd.get(), static_cast<off_t>(bytes)) != 0)
    return refused("environment", fmt::format("no memory to load {}", path));
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, sealed.fd.get(), 0);
  if (data == MAP_FAILED) return refused("environment", fmt::format("no memory to load {}", path));
  const std::span<std::byte> view(static_cast<std::byte*>(data), bytes);
  const auto whole = base::read_all(source, view, base::Deadline::never());
  if (whole) sealed.hash = base::sha256(view);
  munmap(data, bytes);
  if (!whole) return refused("environment", whole.error().text());
  fcntl(sealed.fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return sealed;
}

std::set<std::string> mapped_libraries() {
  std::set<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* user) {
        if (info->dlpi_name && *info->dlpi_name)
          static_cast<std::set<std::string>*>(user)->insert(info->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

/// How many were ever mapped: grows also when one is mapped and unmapped again.
unsigned long long ever_mapped() {
  unsigned long long added = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* user) {
        *static_cast<unsigned long long*>(user) = info->dlpi_adds;
        return 1;
      },
      &added);
  return added;
}

/// Symbol of the library itself, not of one that it depends on.
void* own_symbol(void* handle, const char* name) {
  void* symbol = dlsym(handle, name);
  link_map* map = nullptr;
  Dl_info info{};
  if (!symbol || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || dladdr(symbol, &info) == 0)
    return nullptr;
  return info.dli_fbase == reinterpret_cast<void*>(map->l_addr) ? symbol : nullptr;
}

constexpr const char* k_watched[] = {"clock_gettime",
                                     "clock_getres",
                                     "gettimeofday",
                                     "time",
                                     "clock",
                                     "timespec_get",
                                     "nanosleep",
                                     "clock_nanosleep",
                                     "read",
                                     "write",
                                     "send",
                                     "recv",
                                     "sendmsg",
                                     "recvmsg",
                                     "poll",
                                     "mprotect",
                                     "ako_measure_open",
                                     "ako_measure_run",
                                     "ako_measure_abi",
#define AKO_X(member, symbol, parameters) symbol,
                                     AKO_CUDA_CALLS(AKO_X) AKO_CUPTI_CALLS(AKO_X)
#undef AKO_X
};

} // namespace

protocol::Outcome<SealedFile> seal_file(const std::string& path) {
  const base::UniqueFd source(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!source || fstat(source.get(), &info) != 0)
    return refused("load_failed", fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode) || info.st_size <= 0 ||
      static_cast<std::size_t>(info.st_size) > k_most_bytes)
    return refused("load_failed", fmt::format("{} is not a library of 1 byte to 2 GiB ({} bytes)",
                                              path, static_cast<std::int64_t>(info.st_size)));
  return seal(source.get(), static_cast<std::size_t>(info.st_size), path);
}

protocol::Outcome<Library> load_library(const SealedFile& file) {
  const auto before = mapped_libraries();
  const auto path = fmt::format("/proc/self/fd/{}", file.fd.get());
  void* handle = nullptr;
  try {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (const std::exception& error) {
    return refused("threw", fmt::format("an exception left a constructor: {}", error.what()));
  } catch (...) {
    return refused("threw", "an exception left a constructor");
  }
  if (!handle) {
    std::string words = dlerror();
    if (words.starts_with(path)) words = "artifact" + words.substr(path.size());
    return refused("load_failed", words);
  }
  Library library;
  const auto function = [handle](const char* name) {
    return reinterpret_cast<ako_call_fn>(own_symbol(handle, name));
  };
  library.call = function("ako_call");
  library.prepare = function("ako_prepare");
  library.plan = function("ako_plan");
  if (!library.call) return refused("load_failed", "the artifact defines no function ako_call");
  for (const auto& name : mapped_libraries())
    if (!before.contains(name) && name != path) library.libraries.push_back(name);
  for (const char* name : k_watched)
    if (own_symbol(handle, name)) library.interposed.emplace_back(name);
  library.own = path;
  library.mapped = mapped_libraries();
  library.added = ever_mapped();
  return library;
}

Library Library::of_process() {
  Library library;
  library.mapped = mapped_libraries();
  library.added = ever_mapped();
  return library;
}

std::vector<std::string> came_along(Library& library) {
  std::vector<std::string> names;
  const auto added = ever_mapped();
  if (added == library.added) return names;
  const auto now = mapped_libraries();
  for (const auto& name : now)
    if (!library.mapped.contains(name) && name != library.own) names.push_back(name);
  // One that has gone again has no name left to give.
  if (names.empty()) names.emplace_back("a library that was unmapped again");
  library.mapped = now;
  library.added = added;
  return names;
}

} // namespace ako::worker
