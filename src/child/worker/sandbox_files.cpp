// Landlock by system call numbers: the C library of the oldest supported system has no wrappers,
// its headers lack the newer rights.
#include "worker/sandbox.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ako::worker {
namespace {

constexpr long k_create_ruleset = 444, k_add_rule = 445, k_restrict_self = 446;
constexpr unsigned k_query_version = 1, k_rule_path_beneath = 1;

struct RulesetAttr {
  std::uint64_t handled_access_fs, handled_access_net, scoped;
};
struct [[gnu::packed]] PathBeneathAttr {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};

// Rights, bit by bit, as the kernel numbers them.
constexpr std::uint64_t k_execute = 1u << 0, k_write_file = 1u << 1, k_read_file = 1u << 2,
                        k_read_dir = 1u << 3, k_all_v1 = (1u << 13) - 1, k_refer = 1u << 13,
                        k_truncate = 1u << 14, k_ioctl_dev = 1u << 15;
constexpr std::uint64_t k_read = k_execute | k_read_file | k_read_dir;
constexpr std::uint64_t k_file_rights =
    k_execute | k_write_file | k_read_file | k_truncate | k_ioctl_dev;

struct Rules {
  int fd;
  std::uint64_t handled;

  void allow(const char* path, std::uint64_t rights) const {
    const int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0) return; // a system without this folder
    struct stat info {};
    if (fstat(at, &info) == 0 && !S_ISDIR(info.st_mode)) rights &= k_file_rights;
    const PathBeneathAttr rule{rights & handled, at};
    syscall(k_add_rule, fd, k_rule_path_beneath, &rule, 0);
    close(at);
  }
};

RulesetAttr ruleset_for(long version) {
  RulesetAttr attr{k_all_v1, 0, 0};
  if (version >= 2) attr.handled_access_fs |= k_refer;
  if (version >= 3) attr.handled_access_fs |= k_truncate;
  if (version >= 5) attr.handled_access_fs |= k_ioctl_dev;
  if (version >= 4) attr.handled_access_net = 3; // bind and connect
  if (version >= 6) attr.scoped = 3;             // abstract sockets and signals to the outside
  return attr;
}

void allow_system(const Rules& rules, bool own_proc) {
  for (const char* path :
       {"/usr", "/lib", "/lib64", "/lib32", "/bin", "/opt", "/etc/ld.so.cache", "/etc/ld.so.conf",
        "/etc/ld.so.conf.d", "/sys/devices/system", "/proc/cpuinfo", "/proc/meminfo", "/proc/self",
        "/proc/sys/vm", "/dev/urandom", "/dev/random", "/dev/zero"})
    rules.allow(path, k_read);
  if (own_proc) rules.allow("/proc", k_read);
  rules.allow("/dev/null", k_read_file | k_write_file);
}

} // namespace

bool restrict_files(const SandboxPlan& plan) {
  const long version = syscall(k_create_ruleset, nullptr, 0, k_query_version);
  if (version < 1) return false;
  const auto attr = ruleset_for(version);
  const std::size_t size = version >= 6 ? sizeof attr : version >= 4 ? 16 : 8;
  const auto fd = static_cast<int>(syscall(k_create_ruleset, &attr, size, 0));
  if (fd < 0) return false;
  const Rules rules{fd, attr.handled_access_fs};
  allow_system(rules, plan.own_proc);
  for (const auto& path : plan.read_paths) rules.allow(path.c_str(), k_read);
  for (const auto& path : plan.device_paths)
    rules.allow(path.c_str(), k_read | k_write_file | k_ioctl_dev);
  rules.allow(plan.scratch.c_str(), attr.handled_access_fs);
  for (const auto& path : plan.write_paths) rules.allow(path.c_str(), attr.handled_access_fs);
  const bool done = syscall(k_restrict_self, fd, 0) == 0;
  close(fd);
  return done;
}

} // namespace ako::worker
