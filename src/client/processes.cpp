#include "client/processes.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace ako::client {
namespace {

/// A small file of /proc, whole; empty when it is not there.
std::string slurp(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char buffer[4096];
  std::string text;
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(fd);
  return text;
}

std::vector<pid_t> tasks_of(pid_t pid) {
  std::vector<pid_t> tasks;
  DIR* folder = opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (!folder) return tasks;
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.') tasks.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
  closedir(folder);
  return tasks;
}

/// Processor time of a whole process, threads that have ended included.
std::int64_t cpu_of(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// schedstat: ran_ns waited_ns slices
std::int64_t wait_of(pid_t pid, pid_t task) {
  const auto text = slurp(fmt::format("/proc/{}/task/{}/schedstat", pid, task));
  long long ran = 0, waited = 0;
  return std::sscanf(text.c_str(), "%lld %lld", &ran, &waited) == 2 ? waited : 0;
}

char state_of(pid_t pid, pid_t task) {
  const auto text = slurp(fmt::format("/proc/{}/task/{}/stat", pid, task));
  const auto at = text.rfind(')');
  return at != std::string::npos && at + 2 < text.size() ? text[at + 2] : 'X';
}

void add_children_of(pid_t pid, pid_t task, std::vector<pid_t>& tree) {
  const auto text = slurp(fmt::format("/proc/{}/task/{}/children", pid, task));
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    pid_t child = 0;
    const auto [next, error] = std::from_chars(at, end, child);
    if (error != std::errc()) break;
    tree.push_back(child);
    at = next + 1;
  }
}

void add_children(pid_t pid, std::vector<pid_t>& tree) {
  for (const pid_t task : tasks_of(pid)) add_children_of(pid, task, tree);
}

} // namespace

std::vector<pid_t> process_tree(pid_t root) {
  std::vector<pid_t> tree{root};
  for (std::size_t i = 0; i < tree.size() && tree.size() < 4096; ++i) add_children(tree[i], tree);
  return tree;
}

Activity activity_of(pid_t root) {
  Activity activity;
  for (const pid_t pid : process_tree(root)) {
    const auto tasks = tasks_of(pid);
    if (tasks.empty()) continue;
    ++activity.processes;
    activity.threads += static_cast<int>(tasks.size());
    activity.cpu_ns += cpu_of(pid);
    for (const pid_t task : tasks) activity.wait_ns += wait_of(pid, task);
  }
  return activity;
}

int threads_below(pid_t root) {
  std::vector<pid_t> tree{root};
  int threads = 0;
  for (std::size_t i = 0; i < tree.size() && tree.size() < 4096; ++i) {
    add_children_of(tree[i], tree[i], tree);
    struct stat info {};
    // Each thread is a folder there, and "." and ".." are linked besides.
    if (stat(fmt::format("/proc/{}/task", tree[i]).c_str(), &info) == 0)
      threads += static_cast<int>(info.st_nlink) - 2;
  }
  return threads;
}

bool all_stopped(pid_t root) {
  for (const pid_t pid : process_tree(root))
    for (const pid_t task : tasks_of(pid)) {
      const char state = state_of(pid, task);
      if (state != 'T' && state != 't' && state != 'Z' && state != 'X') return false;
    }
  return true;
}

} // namespace ako::client
