// A world of processes of its own for a turn: with its first one all others end, also when nobody
// is left to end them.
#pragma once

namespace ako::drive {

/// Whether this kernel and user can have one; found out by trying, once.
bool can_be_alone();

/// In a new process between fork and exec, async-signal-safe. Where it returns 0 it does so in a
/// process of a new pid namespace with a /proc of its own; the processes that were started on the
/// way wait for it and end as it does. With the process that called it, and so with a driver that
/// is killed, all of them end. Other values: nothing could be had, and the process is to end.
int enter_alone();

} // namespace ako::drive
