#include "ako_bug.hpp"

#include "base/bug.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace ako {
namespace {

TellBug g_tell = nullptr;
pid_t g_process = 0;
std::atomic<bool> g_told = false;
thread_local bool t_telling = false;

void tell(const base::Error& error) {
  if (getpid() != g_process || t_telling) return; // to abort
  if (g_told.exchange(true))
    for (;;) pause(); // another thread tells, and ends this one
  t_telling = true;
  _exit(g_tell(error));
}

[[noreturn]] void uncaught() {
  std::string what = "ended without an exception";
  if (std::current_exception()) {
    try {
      throw;
    } catch (const std::exception& problem) {
      what = problem.what();
    } catch (...) {
      what = "an exception of no known type";
    }
  }
  tell(bug_error(what, "std::terminate"));
  std::fprintf(stderr, "ako: bug: %s\n", what.c_str());
  std::abort();
}

} // namespace

base::Error bug_error(const std::string& what, const std::string& where) {
  return {base::ErrorKind::internal,
          "a bug in ako: " + what,
          where,
          {},
          "no such state",
          "please report it with the command line and this message"};
}

void end_by_bugs(TellBug told) {
  g_tell = told;
  g_process = getpid();
  base::set_bug_hook([](const base::FailedCheck& failed) {
    std::string_view file = failed.file;
    if (const auto at = file.rfind("/src/"); at != std::string_view::npos)
      file.remove_prefix(at + 1);
    tell(bug_error(std::string(failed.condition) + " does not hold: " + failed.note,
                   std::string(file) + ":" + std::to_string(failed.line)));
  });
  std::set_terminate(uncaught);
}

void break_on_purpose() {
  const char* wish = std::getenv("AKO_BREAK");
  const std::string_view how = wish ? wish : "";
  AKO_CHECK(how != "invariant", "AKO_BREAK asks for it");
  const auto fail = [] { throw std::runtime_error("AKO_BREAK asks for it"); };
  if (how == "exception") fail();
  if (how == "thread") std::thread(fail).join();
}

} // namespace ako
