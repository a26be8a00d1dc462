// The private conversation between ako (parent) and its children (keeper, worker), version 1.
//
// Transport: one AF_UNIX stream socket. frame = u32 length | u16 kind | u16 flags | u64 id | JSON.
// The parent asks, the child answers; one request is in flight at a time. A request has flags 0 and
// a random id; its answer has the same kind and id and flags = 1 (answer) or 3 (answer that is an
// error). Anything else from a child is a protocol violation. Descriptors travel beside one byte
// (SCM_RIGHTS) right after the frame that says so ("+fd").
//
// Units: *_ns nanoseconds; seeds, ids of arenas, addresses and sums as "0x..." strings (JSON
// numbers end at 2^53). Sets, tensors: indices. Absent = default.
//
// Errors (flags 3): {"kind": "returned_error" | "threw" | "compile_failed" (what compiles while it
//   runs) | "load_failed" | "stale" | "invalid" | "environment" | "device_fault" (the context is
//   lost; the worker ends after this answer),
//   "message": text, "data": {...}}. `invalid`: the request makes no sense (a bug).
//
// Both roles
//   hello      {protocol: 1}                    -> {protocol, role: "keeper"|"worker", pid,
//                                                   capabilities: [text...]}
//   quit       {}                               -> {} and the child exits with 0
// Keeper
//   configure  {task_dir, cores: [int], evict_bytes: int (0 = twice the cache, -1 = none)}
//              -> {evict_bytes, cache_bytes} +fd (the eviction buffer, when evict_bytes > 0)
//              With device: {uuid} and cache_dir (compiled kernels are kept there) the buffers lie
//              on that device -> {evict_bytes, cache_bytes (its L2), image_bytes, device: {uuid,
//              name, architecture, sm_count, memory_bytes, free_bytes, l2_bytes, cuda, watched}} +2
//              fds (eviction buffer as the driver exports it; image of ako's kernels)
//   create     {arena, plan: ArenaPlan, tensors: [Tensor], tag} -> {} +fd (the arena's memory); on
//              a device +2 fds (the memory as the driver exports it; the host's view, a sparse file
//              of the arena's size)
//   read       {arena, tensor, set} -> {}    device to the host's view; nothing on the host
//   write      {arena, tensor, set} -> {}    the other way
//   destroy    {arena} -> {}
//   fill       {arena, seed, epoch, recipe, sets, tensors: "all"|"fresh", fills: [Fill]} -> {}
//   poison     {arena, sentinel: 0|1, sets} -> {}
//   check      {arena, sets} -> {bytes_checked, buffers: [{tensor, set, unwritten, doubtful, first,
//                                last, red_before, red_after, red_distance, gap_damage,
//                                input_changed}]}
//   sweep      {} -> {}    reads the eviction buffer on each of its cores; nothing on a device
//   sums       {arena} -> {sums: ["0x..."]}               one per place of the plan
//   copy       {from, to, steps: [[from_tensor, from_set, to_tensor, to_set]]} -> {}
//   machine    {cores} -> {adds_per_ns, cores, busy_ns: [int], steal_ns: [int], at_ns,
//                          busy_resolution_ns, temperature_c: number|null, device: {} or {sm_mhz,
//                          memory_mhz,
//              power_w, temperature_c, reasons, reason_words, hardware_limit, processes}}
// Worker, in this order: configure, [share], load, then any
//   configure  {scratch: path, cores: [int], sandbox: "full"|"none", disk_bytes, read_paths:
//   [path], [write_paths: [path]], [processes: bool (it compiles while it runs)]}
//              -> {landlock, seccomp, user_namespace, pid_namespace, network_namespace,
//                  ipc_namespace, mount_namespace, counters: bool, label, [device: {uuid,
//                  timestamps: "cupti"|"events", fallback}], [guest: an interpreter's facts]}; with
//                  device: {uuid} the driver is opened before the sandbox closes
//   share      {bytes} +fd (the eviction buffer, read only) -> {}; on a device {bytes,
//              image_bytes} +2 fds
//   load       {library, hash: sha256|"", prepare: bool, plan: bool, [images: bool]}
//              -> {hash, has_prepare, has_plan, libraries, threads_before, threads_after, load_ns,
//                  interposed: [text], changed: [text], measure: {...}}
//   map        {arena, address, bytes} +fd -> {}
//   unmap      {arena} -> {}
//   use        {integers: [int], scalars: [number], pointers: [["0x..."]] (per set, per tensor),
//               bytes: [int], [described: {tag, tensors: [{name, role, dtype, shape, strides}],
//               axes: [name], scalars: [{name, dtype}]} for an interpreter]} -> {}
//   Answers of call and sample carry [guest: {compiled: [...], tuned: [...], compile_ns,
//   first_call_ns}] when an interpreter compiled something meanwhile.
//   call       {set, function: "call"|"prepare"|"plan"} -> {ns, threads_before, threads_after,
//               changed: [text]}
//   sample     {sets, [repeat: the sets so many times in a row, none of them read before],
//               warmup_sets, warmup_ns, cache: "cold"|"warm", eviction: "every_call"|"once",
//               warm_tensors, timing: "each"|"pass"} -> {call_ns: [number], pass_ns, calls,
//               first_ns, last_ns, warmup_calls, warmup_spent_ns, evict_spent_ns,
//               timer_overhead_ns, threads_before, threads_after, children, cpu_ns, cycles,
//               instructions, cache_misses (-1 = not known), changed: [text], cache_state, [device:
//               {how: "cupti"|"events"|"graph"|"host", gate, gate_opened_early, label, stray,
//               left_behind (operations that came when an earlier call had been waited for),
//               memory_taken (bytes of the device, by the timed part), window_ns (between ako's own
//               kernels around the calls, in all), operations, busy_ns: [number]}]}
//              On a device "clock" says which decides ("device" | "graph" | "call" | "events") and
//              every call is timed alone.
//   capture    {sets} -> {nodes: [[Node]] of each set (device/replay.hpp), why: text when there are
//              none}; on a device, of the loaded artifact's calls
//   replay     {nodes: as above} -> {}: a worker that was loaded with {images: true} holds the
//              artifact's device code alone, and launches these where its calls are asked for
//   residency  {set} -> {cached_line_ns, evicted_line_ns, memory_line_ns, resident_share, evict_ns}
//
// Tensor = {name, role, dtype, shape, strides, elements, span_elements, bytes, align, fill_limit,
//           contiguous, lifetime: "fresh"|"static", workspace: "undefined"|"zeroed_once"}
// Fill   = {tensor, kind, low, high, mean, stddev, file, symbol, library} for every in and inout
//
// Beside the socket a worker holds a pipe for crash records (struct CrashRecord, crash.hpp).
// Kinds from 64 on are for devices.
#pragma once

#include <cstdint>

namespace ako::protocol {

inline constexpr int k_version = 1;

enum class Kind : std::uint16_t {
  hello = 1,
  quit = 2,
  configure = 3,
  create = 16,
  destroy = 17,
  fill = 18,
  poison = 20,
  check = 21,
  sums = 22,
  copy = 23,
  machine = 24,
  sweep = 25,
  share = 32,
  load = 33,
  map = 34,
  unmap = 35,
  use = 36,
  call = 37,
  sample = 38,
  residency = 39,
  read = 64,
  write = 65,
  capture = 66,
  replay = 67,
};
const char* to_string(Kind kind);

inline constexpr std::uint16_t k_answer = 1, k_error = 2; // bits of a frame's flags

} // namespace ako::protocol
