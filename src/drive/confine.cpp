// By system call numbers: the C library of the oldest supported system has no wrappers.
#include "drive/confine.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ako::drive {
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

// Rights, bit by bit, as the kernel numbers them: write, remove two kinds, make seven kinds.
constexpr std::uint64_t k_write_file = 1u << 1, k_remove = (1u << 4) | (1u << 5),
                        k_make = 0x7fu << 6, k_refer = 1u << 13, k_truncate = 1u << 14;
constexpr std::uint64_t k_scope_signals = 2;

std::uint64_t handled_by(int version) {
  std::uint64_t rights = k_write_file | k_remove | k_make;
  if (version >= 2) rights |= k_refer;
  if (version >= 3) rights |= k_truncate;
  return rights;
}

void allow(int rules, const base::fs::path& path, std::uint64_t rights) {
  const base::UniqueFd at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!at) return;
  struct stat info {};
  const bool folder = ::fstat(at.get(), &info) == 0 && S_ISDIR(info.st_mode);
  if (!folder) rights &= k_write_file | k_truncate;
  const PathBeneathAttr rule{rights, at.get()};
  ::syscall(k_add_rule, rules, k_rule_path_beneath, &rule, 0);
}

} // namespace

int landlock_version() {
  const long version = ::syscall(k_create_ruleset, nullptr, 0, k_query_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

base::Expected<base::UniqueFd> write_rules(const std::vector<base::fs::path>& paths) {
  const int version = landlock_version();
  if (version == 0)
    return base::fail(base::ErrorKind::unsupported, "this kernel has no Landlock",
                      {.where = "landlock_create_ruleset",
                       .found = std::strerror(errno),
                       .allowed = "Linux 5.13 or newer with Landlock on",
                       .next = "go on with confine = \"comparison\""});
  RulesetAttr attr{handled_by(version), 0, version >= 6 ? k_scope_signals : 0};
  const std::size_t size = version >= 6 ? sizeof attr : version >= 4 ? 16 : 8;
  base::UniqueFd rules(static_cast<int>(::syscall(k_create_ruleset, &attr, size, 0)));
  if (!rules) return base::fail_errno("no rules for the agent could be made", "Landlock", errno);
  for (const base::fs::path& path : paths) allow(rules.get(), path, attr.handled_access_fs);
  for (const char* device :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"})
    allow(rules.get(), device, attr.handled_access_fs & (k_write_file | k_truncate));
  return rules;
}

int enter_rules(int rules) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  if (::syscall(k_restrict_self, rules, 0) != 0) return 1;
  ::close(rules);
  return 0;
}

} // namespace ako::drive
