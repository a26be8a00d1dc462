#include "fault_vfs.hpp"

#include <cstring>
#include <new>
#include <sqlite3.h>
#include <string>
#include <unistd.h>

namespace ako::ledger::testing {

namespace {

struct State {
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs ours{};
  Fault fault = Fault::none;
  long at = 0, seen = 0;
  long frames = 0; ///< writes to the log past its header since the last acknowledgement
  int end_fd = -1;
} g_state;

struct File {
  sqlite3_file base;
  bool log;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }

/// Counts one call; true when it must answer that the disk is full. `torn` runs before a torn end.
template <class Torn> bool full_now(Torn torn) {
  const long call = ++g_state.seen;
  if (g_state.fault == Fault::no_space) return call >= g_state.at;
  if (g_state.fault == Fault::none || call != g_state.at) return false;
  if (g_state.fault == Fault::die_torn) torn();
  const std::string end = "died " + std::to_string(g_state.frames) + "\n";
  if (g_state.end_fd >= 0 &&
      ::write(g_state.end_fd, end.data(), end.size()) != static_cast<ssize_t>(end.size()))
    ::_exit(98);
  ::_exit(k_died);
}
bool full_now() {
  return full_now([] {});
}

int close(sqlite3_file* f) {
  return real(f)->pMethods ? real(f)->pMethods->xClose(real(f)) : SQLITE_OK;
}
int read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return real(f)->pMethods->xRead(real(f), to, n, at);
}
int write(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  constexpr sqlite3_int64 k_log_header = 32;
  const bool frame = reinterpret_cast<File*>(f)->log && at >= k_log_header;
  const auto half = [&] {
    real(f)->pMethods->xWrite(real(f), from, n / 2, at);
    if (frame) ++g_state.frames;
  };
  if (full_now(half)) return SQLITE_FULL;
  if (frame) ++g_state.frames;
  return real(f)->pMethods->xWrite(real(f), from, n, at);
}
int truncate(sqlite3_file* f, sqlite3_int64 size) {
  full_now();
  return real(f)->pMethods->xTruncate(real(f), size);
}
int sync(sqlite3_file* f, int flags) {
  full_now();
  return real(f)->pMethods->xSync(real(f), flags);
}
int size(sqlite3_file* f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); }
int lock(sqlite3_file* f, int how) { return real(f)->pMethods->xLock(real(f), how); }
int unlock(sqlite3_file* f, int how) { return real(f)->pMethods->xUnlock(real(f), how); }
int reserved(sqlite3_file* f, int* out) {
  return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
int control(sqlite3_file* f, int op, void* arg) {
  return real(f)->pMethods->xFileControl(real(f), op, arg);
}
int sector(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
int traits(sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); }
int shm_map(sqlite3_file* f, int page, int bytes, int extend, void volatile** out) {
  if (extend && full_now()) return SQLITE_FULL;
  return real(f)->pMethods->xShmMap(real(f), page, bytes, extend, out);
}
int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}
void shm_barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
int shm_unmap(sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); }

const sqlite3_io_methods k_methods = {
    2,       close,  read,   write,   truncate, sync,        size,      lock,    unlock, reserved,
    control, sector, traits, shm_map, shm_lock, shm_barrier, shm_unmap, nullptr, nullptr};

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* ours = new (file) File{};
  ours->log = (flags & SQLITE_OPEN_WAL) != 0;
  const int code = g_state.real->xOpen(g_state.real, name, ours->real(), flags, out_flags);
  ours->base.pMethods = code == SQLITE_OK ? &k_methods : nullptr;
  return code;
}
int remove(sqlite3_vfs*, const char* name, int sync_folder) {
  full_now();
  return g_state.real->xDelete(g_state.real, name, sync_folder);
}

} // namespace

void install_faults(Fault fault, long at) {
  if (!g_state.real) {
    g_state.real = sqlite3_vfs_find(nullptr);
    g_state.ours = *g_state.real;
    g_state.ours.zName = "ako-fault";
    g_state.ours.szOsFile = static_cast<int>(sizeof(File)) + g_state.real->szOsFile;
    g_state.ours.xOpen = open;
    g_state.ours.xDelete = remove;
    g_state.ours.pNext = nullptr;
    sqlite3_vfs_register(&g_state.ours, 1);
  }
  g_state.fault = fault;
  g_state.at = at;
  g_state.seen = 0;
}

void say_end_to(int fd) { g_state.end_fd = fd; }
void acknowledged() { g_state.frames = 0; }
void mend() { g_state.fault = Fault::none; }

} // namespace ako::ledger::testing
