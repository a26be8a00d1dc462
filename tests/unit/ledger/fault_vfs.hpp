// SQLite's own file layer with a fault at a chosen call: every write, sync, truncation, growth of
// the shared index and deletion is counted, and the n-th one is the last.
#pragma once

namespace ako::ledger::testing {

enum class Fault {
  none,
  die_before, ///< the process ends instead of the call
  die_torn,   ///< half of the bytes are written, then the process ends
  no_space    ///< from the n-th call on, every write and growth answers SQLITE_FULL
};

/// Makes the faulty layer the default of this process. `at` counts from 1.
void install_faults(Fault fault, long at);
/// At its end the process says "died N\n" there: N frames of the log were written, in part or
/// whole, since the last acknowledged().
void say_end_to(int fd);
void acknowledged();
/// The disk has space again.
void mend();

inline constexpr int k_died = 77; ///< exit code of a process that ended at its fault

} // namespace ako::ledger::testing
